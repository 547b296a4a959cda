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

from fedrcd.cli import options
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedrcd.data.table import Table
    from fedrcd.federation.site.release import Door
    from fedrcd.federation.site.settings import SiteSettings

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


KEYS_FROM_ONE_PLACE = "DEVELOPMENT KEYS: WHOEVER RAN `fedrcd keys init` CAN TAKE MASKS OFF. FOR MADE-UP DATA ONLY"


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
    query: options.Query = "",
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
    suppress: options.Suppress = 0,
    dominance: options.Dominance = 1.0,
    trust_coordinator: Trust = False,
    without_rule: Annotated[
        list[str] | None, typer.Option(help="In a trial: switch a rule off, to see what it prevents; may be repeated.")
    ] = None,
    local_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port on this machine's loopback for the site's own processes.")
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
    epsilon_budget: Annotated[
        float,
        typer.Option(help="Answer with noise, and in no other way, until all answers add up to this epsilon."),
    ] = 0.0,
    delta: Annotated[float, typer.Option(help="Delta of that epsilon.")] = 1e-6,
    insecure: Annotated[bool, typer.Option("--insecure", help="No encryption, no authentication.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command of Flower and stop.")] = False,
) -> None:
    """Connect this site to the coordinator and answer its questions, until it is stopped."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.flower.processes import Security, flower_log, node_command, prepare_node, require_flower
    from fedrcd.federation.flower.reachability import occupied, unreachable
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
        rules=Rules(
            rows=min_rows, checks=checks, suppress=suppress, dominance=dominance, off=tuple(without_rule or ())
        ),
        group_secret=str(group_secret.resolve()) if group_secret else "",
        trim=trim,
        trust_coordinator=trust_coordinator,
        key=str(key.resolve()) if key else "",
        clear=clear,
        masked_only=masked_only,
        agree_to_differences=agree_to_differences,
        epsilon_budget=epsilon_budget,
        delta=delta,
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
    if described.development_keys:
        print(f"\n*** {KEYS_FROM_ONE_PLACE} ***\n", file=sys.stderr)
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
            unreachable=lambda: occupied(local_port) or unreachable(coordinator, None if insecure else ca),
            output=output,
        )


@app.command()
def check(
    name: Name,
    federation: FederationFile,
    data: Data,
    query: options.Query = "",
    trim: Trim = None,
    suppress: options.Suppress = 0,
    dominance: options.Dominance = 1.0,
    state: State = None,
    json: Json = False,
) -> None:
    """Compare this site's table with the federation file and the rules of disclosure; nothing is connected."""
    from dataclasses import asdict

    from fedrcd.data.federation import read_federation
    from fedrcd.data.sources.address import source_at
    from fedrcd.federation.site.check import check_site, tell_columns

    settings = site_settings(name, federation, data, state, query=query, trim=trim)
    settings = _leaving_out(settings, suppress, dominance)
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
    query: options.Query = "",
    groups: Annotated[int, typer.Option(help="Groups of rows that a bootstrap would ask for.")] = 0,
    check: Annotated[bool, typer.Option("--check", help="Include the checks of assumptions.")] = False,
    trim: Trim = None,
    suppress: options.Suppress = 0,
    dominance: options.Dominance = 1.0,
    trust_coordinator: Trust = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Say in words what a method would make this site release, and how many numbers that is per row."""
    from dataclasses import asdict

    from fedrcd.federation.site.preview import preview as run_dry

    settings = site_settings(name, federation, data, state, query=query, trim=trim, trust_coordinator=trust_coordinator)
    settings = _leaving_out(settings, suppress, dominance)
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


def _leaving_out(settings: SiteSettings, suppress: int, dominance: float) -> SiteSettings:
    """The settings with rows left out as is asked, if that is stricter than what the site was last served with."""
    from dataclasses import replace

    from fedrcd.federation.rules import Rules

    return replace(settings, rules=settings.rules.strictest(Rules(suppress=suppress, dominance=dominance)))


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
