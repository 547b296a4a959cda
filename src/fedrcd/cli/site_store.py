"""`fedrcd site`: what is in a site's store, read and decided on by the people there."""

from __future__ import annotations

import json as json_form
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.site import WAIT, FederationFile, Json, Name, State, Trim, app
from fedrcd.errors import ConfigError

__all__ = ["app"]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedrcd.federation.site.store import Store


@app.command()
def log(
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
    json: Json = False,
) -> None:
    """Show every question this site was asked: what left, when, how large."""
    from fedrcd.federation.site.log import ANSWERED
    from fedrcd.federation.site.trimming import tagged_limit

    with opened_store(state) as store:
        entries, lines = store.entries(), store.lines()
    if json:
        print("".join(f"{line}\n" for line in lines), end="")
        return
    for entry in entries:
        what = f"{entry.numbers:,} numbers left" if entry.outcome == ANSWERED else _without_numbers(entry.outcome)
        block = f" block {entry.block}" if entry.block else ""
        block += f" with {tagged_limit(entry.trim)}" if entry.trim else ""
        print(f"{entry.time}  run {entry.run} round {entry.round}{block}: {what}: {entry.question}")
        for more in (entry.title, entry.purpose and f"purpose: {entry.purpose}", entry.who, entry.detail):
            if more:
                print(f"    {more}")
    left = sum(entry.numbers for entry in entries if entry.outcome == ANSWERED)
    print(f"{len(entries)} entries, {left:,} numbers left this site")


def _without_numbers(outcome: str) -> str:
    """What became of a question that no new numbers left for."""
    from fedrcd.federation.site.log import CALLED, DECIDED, ENTERED, RENEWED, UNLIKE
    from fedrcd.federation.site.release import REPEATED

    return {
        CALLED: "nothing left",
        UNLIKE: "nothing left",
        RENEWED: "budget",
        DECIDED: "decided",
        ENTERED: "console",
        REPEATED: "the same numbers left again",
    }.get(outcome, f"refused ({outcome})")


@app.command()
def accept(
    name: Name,
    federation: FederationFile,
    state: State = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept it: what changed was seen, fingerprints compared.")
    ] = False,
) -> None:
    """Show what changed in the federation file and the fingerprints of all keys, or accept it for masked runs."""
    from fedrcd.cli.site_approvals import by_command
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.site.accepting import accept_federation, federation_change
    from fedrcd.federation.site.store import Store

    described = read_federation(federation)
    described.site(name)
    with Store(state or Path("fedrcd-state") / name, name, wait=WAIT) as store:
        change = federation_change(store, described, str(federation))
        for line in change.lines:
            print(line)
        for site, fingerprint in change.fingerprints:
            print(f"key of {site}: {fingerprint}")
        if change.is_accepted:
            print("this is the file that was accepted")
        elif yes:
            accept_federation(store, described, by_command(""))
            print("accepted")
        else:
            print("not accepted yet: compare fingerprints with the other sites, then give the command again with --yes")


@app.command()
def result(
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
    json: Json = False,
) -> None:
    """Show what runs of several rounds found, by this site's own replay."""
    with opened_store(state) as store:
        found = {run: json_form.loads(text) for run, text in store.masked.results().items()}
    if json:
        print(json_form.dumps(found, indent=1))
        return
    for run, one in found.items():
        print(f"run {run[:12]}: {one['method']} over {', '.join(one['sites'])}")
        names = [one["variables"][k] for k in one["order"]]
        print(f"  order: {', '.join(names)}")
        for i, row in enumerate(one["effects"]):
            for j, value in enumerate(row):
                if value:
                    print(f"  {one['variables'][j]} on {one['variables'][i]}: {value:.6g}")
    if not found:
        print("no run of several rounds was finished here")


@app.command()
def receipts(
    file: Annotated[Path, typer.Argument(help="What the coordinator gave back: `fedrcd ledger add --receipts`.")],
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
) -> None:
    """Verify the receipts of a ledger, and that it continues what was seen of it before, and file them."""
    from fedrcd.cli.ledger import read_receipts

    given, entries, public = read_receipts(file)
    with opened_store(state) as store:
        if entries:
            store.ledgers.follow(entries, public)
        mine = [one for one in given if one.content.get("site") == store.site]
        for receipt in mine:
            store.ledgers.require_acknowledged(receipt)
            store.sent.acknowledge(receipt)
        print(f"{len(mine)} of {len(given)} receipts are for site {store.site}; verified and filed")


@app.command()
def migrate(
    name: Name,
    state: State = None,
    contributions: Annotated[
        Path | None, typer.Option(help="SITE.contributions.db of the first release, beside the table.")
    ] = None,
    federation: Annotated[Path | None, typer.Option(help="Federation file, if the site ever answered.")] = None,
    data: Annotated[Path | None, typer.Option(help="This site's table as it last answered about it.")] = None,
    trim: Trim = None,
    forget_history: Annotated[
        bool, typer.Option("--forget-history", help="Go on although the rows that were answered about are not known.")
    ] = False,
) -> None:
    """Move what an earlier version kept about this site into its one store."""
    from fedrcd.data.federation import read_federation
    from fedrcd.data.site_file import read_site
    from fedrcd.federation.site.migrate import migrate as bring_over

    if (federation is None) != (data is None):
        raise ConfigError("--federation and --data belong together")
    described = None if federation is None else read_federation(federation)
    tables = [] if data is None or described is None else read_site(data, described, described.site(name))
    folder = state or Path("fedrcd-state") / name
    held = bring_over(
        folder, name, contributions, federation=described, tables=tables, trim=trim, forget=forget_history
    )
    print(f"{folder / 'site.db'}: " + ", ".join(f"{number} {what}" for what, number in held.items()))


@contextmanager
def opened_store(folder: Path) -> Iterator[Store]:
    """The store in a folder, whoever's it is; an empty one before the first question."""
    from fedrcd.federation.site.store import Store, owner_of

    owner = owner_of(folder)
    with TemporaryDirectory() as empty, Store(folder if owner else empty, owner or "nobody", wait=WAIT) as store:
        yield store
