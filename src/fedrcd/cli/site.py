"""`fedrcd site`: one site of a federation, its table, its rules and its log."""

from __future__ import annotations

import json as json_form
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedrcd.data.table import Table
    from fedrcd.federation.site.release import Door
    from fedrcd.federation.site.settings import SiteSettings
    from fedrcd.federation.site.store import Store

app = typer.Typer(name="site", help="One site of a federation: its table, its rules, its log.", no_args_is_help=True)


@app.callback()
def private() -> None:
    """One site of a federation: its table, its rules, its log."""
    os.umask(0o077)  # what this command and its processes write is for its owner alone


Name = Annotated[str, typer.Option(help="Name of this site in the federation file.")]
FederationFile = Annotated[Path, typer.Option(help="Federation file; the same copy as the coordinator's.")]
Data = Annotated[
    str,
    typer.Option(
        help="This site's rows: CSV, Parquet or Arrow, a folder or a pattern, duckdb:FILE or postgresql://USER@HOST/NAME."
    ),
]
Query = Annotated[str, typer.Option(help="What to ask a database: one statement that gives rows, or @FILE.")]
State = Annotated[Path | None, typer.Option(help="Folder of this site's store; by default fedrcd-state/NAME.")]
Trim = Annotated[
    float | None,
    typer.Option(
        help="Leave out rows with a value more than this many scales of the declared frame out; once and for all."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON.")]

Trust = Annotated[
    bool,
    typer.Option(
        "--trust-coordinator",
        help="Answer methods of several rounds too: their coordinator can rebuild single rows if it lies.",
    ),
]

TRUSTING = """
**********************************************************************
*  --trust-coordinator: questions that depend on moments which the    *
*  coordinator chose are answered (methods of several rounds, checks, *
*  a frame that is not declared). A coordinator that lies about them  *
*  can rebuild complete rows of this table: docs/privacy.md.          *
**********************************************************************
"""

INSECURE = """
**********************************************************************
*  --insecure: NO ENCRYPTION, NO AUTHENTICATION. Whoever reaches the  *
*  port can read every sum and pretend to be a site. For trials on    *
*  one machine with data that may be published, and nothing else.     *
**********************************************************************
"""


def loudly_insecure() -> None:
    """Say what --insecure means, where it cannot be missed."""
    print(INSECURE, file=sys.stderr)


WAIT = 30.0
"""Seconds that a command waits for an answer which is being made."""


@app.command()
def serve(
    name: Name,
    federation: FederationFile,
    data: Data,
    coordinator: Annotated[str, typer.Option(help="Address of the coordinator, HOST:PORT.")],
    ca: Annotated[Path | None, typer.Option(help="Certificate of the authority that signed the coordinator's.")] = None,
    key: Annotated[Path | None, typer.Option(help="This site's private key, OpenSSH form.")] = None,
    query: Query = "",
    state: State = None,
    approve: Annotated[bool, typer.Option(help="Hold every answer until a person here releases it.")] = False,
    deadline: Annotated[float, typer.Option(help="Seconds after which a question is given up.")] = 300.0,
    min_rows: Annotated[int, typer.Option(help="Complete rows that a block must have at least.")] = 100,
    checks: Annotated[
        int, typer.Option(help="Different checks of assumptions that may be answered about the same rows; 0 for none.")
    ] = 3,
    group_secret: Annotated[
        Path | None,
        typer.Option(help="Secret to split rows into groups by, for sites that hold columns of the same rows."),
    ] = None,
    trim: Trim = None,
    trust_coordinator: Trust = False,
    without_rule: Annotated[
        list[str] | None, typer.Option(help="In a trial: switch a rule off, to see what it prevents; may be repeated.")
    ] = None,
    local_port: Annotated[
        int, typer.Option(help="Port on this machine's loopback for the site's own processes.")
    ] = 9094,
    clear: Annotated[
        bool, typer.Option("--clear", help="Answer in the clear too, where the sums could be masked.")
    ] = False,
    masked_only: Annotated[
        bool, typer.Option("--masked-only", help="Answer under masks only, whatever the cohort is.")
    ] = False,
    agree_to_differences: Annotated[
        bool,
        typer.Option(
            "--agree-to-differences",
            help="Accept that totals over other sites than before may tell the sums of this one.",
        ),
    ] = False,
    insecure: Annotated[bool, typer.Option("--insecure", help="No encryption, no authentication.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command of Flower and stop.")] = False,
) -> None:
    """Connect this site to the coordinator and answer its questions, until it is stopped."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.flower.processes import Security, flower_log, node_command, prepare_node, require_flower
    from fedrcd.federation.flower.reachability import unreachable
    from fedrcd.federation.flower.supervise import keep_running
    from fedrcd.federation.messages.keys import public_key_of, public_text
    from fedrcd.federation.rules import Rules
    from fedrcd.federation.site.check import check_site
    from fedrcd.federation.site.secret import read_secret

    require_flower()
    settings = site_settings(
        name,
        federation,
        data,
        state,
        query=query,
        approve=approve,
        deadline=deadline,
        rules=Rules(rows=min_rows, checks=checks, off=tuple(without_rule or ())),
        group_secret=str(group_secret.resolve()) if group_secret else "",
        trim=trim,
        trust_coordinator=trust_coordinator,
        key=str(key.resolve()) if key else "",
        clear=clear,
        masked_only=masked_only,
        agree_to_differences=agree_to_differences,
    )
    if group_secret:
        read_secret(group_secret)
    described = read_federation(federation)
    settings.rules.require_strict(trial=described.trial)
    entry = described.site(name)
    home = Path(settings.state)
    command = node_command(
        coordinator=coordinator,
        port=local_port,
        home=home,
        security=Security(authority=ca, insecure=insecure),
        key=key,
        settings=home / "site.json",
    )
    if dry_run:
        print(command)
        return
    if insecure:
        loudly_insecure()
    elif key is not None and public_text(public_key_of(key)) != public_text(entry.key):
        raise ConfigError(f"{key} is not the key that the federation file has for site {name!r}")
    if trust_coordinator:
        print(TRUSTING, file=sys.stderr)
    if settings.rules.off:
        print(f"\n*** RULES ARE OFF: {', '.join(settings.rules.off)}. FOR MADE-UP DATA ONLY ***\n", file=sys.stderr)
    with progress_bar("checking the table"), opened_site(settings) as (door, tables):
        remarks = check_site(door, tables)
    for remark in remarks:
        if remark.kind != "fine":
            print(f"note: {remark.text}", file=sys.stderr)
    settings.write(home / "site.json")
    prepare_node(home)
    print(f"site {name} answers {coordinator}; its log: fedrcd site log --state {home}", file=sys.stderr)
    with flower_log(home).open("ab") as output:
        keep_running(
            command,
            lambda text: print(f"site {name}: {text}", file=sys.stderr, flush=True),
            unreachable=lambda: unreachable(coordinator, None if insecure else ca),
            output=output,
        )


@app.command()
def check(
    name: Name,
    federation: FederationFile,
    data: Data,
    query: Query = "",
    trim: Trim = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Compare this site's table with the federation file and the rules of disclosure; nothing is connected."""
    from dataclasses import asdict

    from fedrcd.data.federation import read_federation
    from fedrcd.data.sources.address import source_at
    from fedrcd.federation.site.check import check_site, tell_columns

    settings = site_settings(name, federation, data, state, query=query, trim=trim)
    described = read_federation(federation)
    with progress_bar("checking the table"):
        remarks = list(tell_columns(source_at(settings.data, query), described, described.site(name)))
        with opened_site(settings) as (door, tables):
            remarks += check_site(door, tables)
    if json:
        print(json_form.dumps([asdict(remark) for remark in remarks], indent=1))
    else:
        for remark in remarks:
            print(f"{remark.kind:8} {remark.text}")
    if any(remark.kind == "refusal" for remark in remarks):
        raise typer.Exit(6)


@app.command()
def preview(
    method: Annotated[str, typer.Argument(help="A method, to see every question it would ask.")],
    name: Name,
    federation: FederationFile,
    data: Data,
    query: Query = "",
    groups: Annotated[int, typer.Option(help="Groups of rows that a bootstrap would ask for.")] = 0,
    check: Annotated[bool, typer.Option("--check", help="Include the checks of assumptions.")] = False,
    trim: Trim = None,
    trust_coordinator: Trust = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Say in words what a method would make this site release, and how many numbers that is per row."""
    from dataclasses import asdict

    from fedrcd.federation.site.preview import preview as run_dry

    settings = site_settings(name, federation, data, state, query=query, trim=trim, trust_coordinator=trust_coordinator)
    with progress_bar(f"running {method} dry"), opened_site(settings) as (door, tables):
        chosen, releases, whole, rows, spent, allowed, instead = run_dry(
            door, tables, method, groups=groups, check=check
        )
    total = sum(release.numbers for release in releases)
    refusals = [(number, one.refusal) for number, one in enumerate(releases, 1) if one.refusal]
    if json:
        content = {"method": chosen, "questions": [asdict(one) for one in releases], "complete": whole, "rows": rows}
        content |= {"numbers": total, "released_before": spent, "allowed": allowed, "instead": instead}
        print(json_form.dumps(content, indent=1))
    else:
        for number, release in enumerate(releases, 1):
            print(f"{number:3}. {release.question}: {release.numbers:,} numbers, {release.numbers / rows:.2f} per row")
        if not whole:
            print("     further questions depend on what other sites hold")
        print(
            f"{chosen} would release {total:,} numbers about {rows:,} rows, {total / rows:.2f} per row; "
            f"{spent:,} were released before, {allowed:,} may ever be"
        )
        for number, text in refusals:
            print(f"refusal  question {number}: {text}")
        if instead:
            print(f"the run would go on with {instead}; see `fedrcd site preview {instead}`")
    if refusals:
        raise typer.Exit(6)


@app.command()
def log(
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
    json: Json = False,
) -> None:
    """Show every question this site was asked: what left, when, how large."""
    from fedrcd.federation.site.log import ANSWERED
    from fedrcd.federation.site.trimming import tagged_limit

    with _store(state) as store:
        entries, lines = store.entries(), store.lines()
    if json:
        print("".join(f"{line}\n" for line in lines), end="")
        return
    for entry in entries:
        what = f"{entry.numbers:,} numbers left" if entry.outcome == ANSWERED else _without_numbers(entry.outcome)
        block = f" block {entry.block}" if entry.block else ""
        block += f" with {tagged_limit(entry.trim)}" if entry.trim else ""
        print(f"{entry.time}  run {entry.run} round {entry.round}{block}: {what}: {entry.question}")
        if entry.detail:
            print(f"    {entry.detail}")
    left = sum(entry.numbers for entry in entries if entry.outcome == ANSWERED)
    print(f"{len(entries)} entries, {left:,} numbers left this site")


def _without_numbers(outcome: str) -> str:
    """What became of a question that no new numbers left for."""
    from fedrcd.federation.site.log import CALLED, RENEWED, UNLIKE
    from fedrcd.federation.site.release import REPEATED

    return {
        CALLED: "nothing left",
        UNLIKE: "nothing left",
        RENEWED: "budget",
        REPEATED: "the same numbers left again",
    }.get(outcome, f"refused ({outcome})")


@app.command()
def approve(
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
    answer: Annotated[str | None, typer.Argument(help="First characters of the answer to decide on.")] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse it instead.")] = False,
) -> None:
    """List the answers that wait for a person, or release or refuse one of them."""
    from fedrcd.federation.site.store import SHORT

    with _store(state) as store:
        if answer is not None:
            decided = store.decide(answer, "refused" if refuse else "approved")
            print(f"{decided.decision}: {decided.question}")
            return
        waiting = [one for one in store.held() if not one.decision]
    for one in waiting:
        print(f"{one.digest[:SHORT]}  {one.time}  run {one.run} round {one.round}: {one.question}")
        print(f"{'':{SHORT}}  {one.numbers:,} numbers, {one.numbers_per_row:.2f} per row")
        if one.detail:
            print(f"{'':{SHORT}}  {one.detail}")
    if not waiting:
        print("no answer is waiting")


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
    from difflib import unified_diff

    from fedrcd.data.federation import federation_lines, read_federation
    from fedrcd.federation.messages.keys import fingerprint_of
    from fedrcd.federation.site.store import Store

    described = read_federation(federation)
    described.site(name)
    lines = list(federation_lines(described))
    with Store(state or Path("fedrcd-state") / name, name, wait=WAIT) as store:
        before = store.masked.accepted().splitlines()
        for line in unified_diff(before, lines, "accepted", str(federation), lineterm="", n=0):
            print(line)
        for site in described.sites:
            print(f"key of {site.name}: {fingerprint_of(site.key) if site.key else 'none'}")
        if before == lines:
            print("this is the file that was accepted")
        elif yes:
            store.masked.accept("\n".join(lines))
            print("accepted")
        else:
            print("not accepted yet: compare fingerprints with the other sites, then give the command again with --yes")


@app.command()
def result(
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
    json: Json = False,
) -> None:
    """Show what runs of several rounds found, by this site's own replay."""
    with _store(state) as store:
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
    with _store(state) as store:
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


def site_settings(name: str, federation: Path, data: str, state: Path | None, **more: object) -> SiteSettings:
    """The settings of a site, with the rules it was last served with."""
    from fedrcd.data.sources.address import absolute
    from fedrcd.federation.site.settings import SiteSettings

    folder = state or Path("fedrcd-state") / name
    more.setdefault("rules", SiteSettings.rules_in(folder))
    return SiteSettings(
        name=name,
        federation=str(federation.resolve()),
        data=absolute(data),
        state=str(folder.resolve()),
        **more,  # type: ignore[arg-type]
    )


@contextmanager
def opened_site(settings: SiteSettings) -> Iterator[tuple[Door, list[Table]]]:
    """The door of a site and its rows, before anything was asked: then there is no store yet, and none is made."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.site.service import open_door, read_tables
    from fedrcd.federation.site.store import FILE, OLD_FILES, Store

    federation = read_federation(settings.federation)
    federation.site(settings.name)
    known = any((Path(settings.state) / name).exists() for name in (FILE, *OLD_FILES))
    with TemporaryDirectory() as empty, Store(settings.state if known else empty, settings.name, wait=WAIT) as store:
        yield open_door(settings, federation, store), read_tables(federation, settings)


@contextmanager
def _store(folder: Path) -> Iterator[Store]:
    """The store in a folder, whoever's it is; an empty one before the first question."""
    from fedrcd.federation.site.store import Store, owner_of

    owner = owner_of(folder)
    with TemporaryDirectory() as empty, Store(folder if owner else empty, owner or "nobody", wait=WAIT) as store:
        yield store
