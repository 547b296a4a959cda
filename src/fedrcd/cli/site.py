"""`fedrcd site`: one site of a federation, its table, its rules and its log."""

from __future__ import annotations

import json as json_form
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.patience import patience
from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from fedrcd.federation.site_service import SiteSettings

app = typer.Typer(name="site", help="One site of a federation: its table, its rules, its log.", no_args_is_help=True)

Name = Annotated[str, typer.Option(help="Name of this site in the federation file.")]
FederationFile = Annotated[Path, typer.Option(help="Federation file; the same copy as the coordinator's.")]
Data = Annotated[Path, typer.Option(help="This site's table, CSV or Parquet.")]
State = Annotated[Path | None, typer.Option(help="Folder of this site's log and secret; by default fedrcd-state/NAME.")]
Trim = Annotated[
    float | None,
    typer.Option(
        help="Leave out rows with a value more than this many scales of the declared frame out; once and for all."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON.")]

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


@app.command()
def serve(
    name: Name,
    federation: FederationFile,
    data: Data,
    coordinator: Annotated[str, typer.Option(help="Address of the coordinator, HOST:PORT.")],
    ca: Annotated[Path | None, typer.Option(help="Certificate of the authority that signed the coordinator's.")] = None,
    key: Annotated[Path | None, typer.Option(help="This site's private key, OpenSSH form.")] = None,
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
    local_port: Annotated[
        int, typer.Option(help="Port on this machine's loopback for the site's own processes.")
    ] = 9094,
    insecure: Annotated[bool, typer.Option("--insecure", help="No encryption, no authentication.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command of Flower and stop.")] = False,
) -> None:
    """Connect this site to the coordinator and answer its questions, until it is stopped."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.flower.processes import Security, node_command, prepare_node, require_flower
    from fedrcd.federation.flower.supervise import keep_running
    from fedrcd.federation.keys import public_key_of, public_text
    from fedrcd.federation.rules import Rules
    from fedrcd.federation.secret import read_secret
    from fedrcd.federation.site_check import check_site
    from fedrcd.federation.site_service import SiteService, site_entry

    require_flower()
    settings = _settings(
        name,
        federation,
        data,
        state,
        approve=approve,
        deadline=deadline,
        rules=Rules(rows=min_rows, checks=checks),
        group_secret=str(group_secret.resolve()) if group_secret else "",
        trim=trim,
    )
    if group_secret:
        read_secret(group_secret)
    described = read_federation(federation)
    entry = site_entry(described, name)
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
    with patience("checking the table"):
        findings = check_site(settings, described, SiteService(settings).log.entries())
    for finding in findings:
        if finding.kind != "fine":
            print(f"note: {finding.text}", file=sys.stderr)
    settings.write(home / "site.json")
    prepare_node(home)
    print(f"site {name} answers {coordinator}; its log: fedrcd site log --state {home}", file=sys.stderr)
    keep_running(command, lambda text: print(f"site {name}: {text}", file=sys.stderr, flush=True))


@app.command()
def check(
    name: Name, federation: FederationFile, data: Data, trim: Trim = None, state: State = None, json: Json = False
) -> None:
    """Compare this site's table with the federation file and the rules of disclosure; nothing is connected."""
    from dataclasses import asdict

    from fedrcd.data.federation import read_federation
    from fedrcd.federation.site_check import check_site
    from fedrcd.federation.site_service import SiteService

    settings = _settings(name, federation, data, state, trim=trim)
    with patience("checking the table"):
        findings = check_site(settings, read_federation(federation), SiteService(settings).log.entries())
    if json:
        print(json_form.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            print(f"{finding.kind:8} {finding.text}")
    if any(finding.kind == "refusal" for finding in findings):
        raise typer.Exit(6)


@app.command()
def preview(
    method: Annotated[str, typer.Argument(help="A method, to see every question it would ask.")],
    name: Name,
    federation: FederationFile,
    data: Data,
    groups: Annotated[int, typer.Option(help="Groups of rows that a bootstrap would ask for.")] = 0,
    check: Annotated[bool, typer.Option("--check", help="With the checks of assumptions.")] = False,
    trim: Trim = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Tell in words what a method would make this site release, and how many numbers that is per row."""
    from dataclasses import asdict

    from fedrcd.data.federation import read_federation
    from fedrcd.federation.guards import spent_numbers
    from fedrcd.federation.preview import rehearse
    from fedrcd.federation.site_service import SiteService, open_blocks

    settings = _settings(name, federation, data, state, trim=trim)
    described = read_federation(federation)
    history = SiteService(settings).log.entries()
    with patience(f"rehearsing {method}"):
        blocks = open_blocks(described, name, data, trim)
        chosen, releases, whole, instead = rehearse(
            described, method, blocks, groups=groups, check=check, rules=settings.rules, history=history, trim=trim
        )
    rows = sum(len(block.rows) for block in blocks)
    total = sum(release.numbers for release in releases)
    refusals = [(number, one.refusal) for number, one in enumerate(releases, 1) if one.refusal]
    spent = sum(spent_numbers(history, block.block) for block in blocks)
    allowed = sum(settings.rules.budget(len(block.rows), len(block.columns)) for block in blocks)
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
    state: Annotated[Path, typer.Option(help="Folder of the site's log.")],
    json: Json = False,
) -> None:
    """Show every question this site was asked: what left, when, how large."""
    from fedrcd.federation.site_log import ANSWERED, SiteLog
    from fedrcd.federation.trimming import tagged_limit

    path = state / "log.jsonl"
    if json:
        SiteLog(path).entries()  # refuse to show a log that somebody changed
        print(path.read_text(encoding="utf-8") if path.exists() else "", end="")
        return
    entries = SiteLog(path).entries()
    for entry in entries:
        what = f"{entry.numbers:,} numbers left" if entry.outcome == ANSWERED else f"refused ({entry.outcome})"
        block = f" block {entry.block}" if entry.block else ""
        block += f" with {tagged_limit(entry.trim)}" if entry.trim else ""
        print(f"{entry.time}  run {entry.run} round {entry.round}{block}: {what}: {entry.question}")
        if entry.detail:
            print(f"    {entry.detail}")
    left = sum(entry.numbers for entry in entries if entry.outcome == ANSWERED)
    print(f"{len(entries)} entries, {left:,} numbers left this site")


@app.command()
def approve(
    state: Annotated[Path, typer.Option(help="Folder of the site's log.")],
    answer: Annotated[str | None, typer.Argument(help="First characters of the answer to decide on.")] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse it instead.")] = False,
) -> None:
    """List the answers that wait for a person, or release or refuse one of them."""
    from fedrcd.federation.approvals import SHORT, Approvals

    approvals = Approvals(state / "approvals")
    if answer is None:
        waiting = [one for one in approvals.all() if not one.decision]
        for one in waiting:
            print(f"{one.digest[:SHORT]}  {one.time}  run {one.run} round {one.round}: {one.question}")
            print(f"{'':{SHORT}}  {one.numbers:,} numbers, {one.numbers_per_row:.2f} per row")
        if not waiting:
            print("no answer is waiting")
        return
    decided = approvals.decide(answer, "refused" if refuse else "approved")
    print(f"{decided.decision}: {decided.question}")


def _settings(name: str, federation: Path, data: Path, state: Path | None, **more: object) -> SiteSettings:
    from fedrcd.federation.site_service import SiteSettings

    folder = state or Path("fedrcd-state") / name
    return SiteSettings(
        name=name,
        federation=str(federation.resolve()),
        data=str(data.resolve()),
        state=str(folder.resolve()),
        **more,  # type: ignore[arg-type]
    )
