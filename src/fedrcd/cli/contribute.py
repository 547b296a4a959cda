"""`fedrcd contribute`: a site joins a federation, or brings what it sent up to date."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedrcd.cli.ledger import parse_grid, show_suspended, told
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FileError

if TYPE_CHECKING:
    from fedrcd.api.membership import Delivery
    from fedrcd.data.table import Table
    from fedrcd.federation.ledger.ledger import Ledger
    from fedrcd.federation.rules import Rules
    from fedrcd.federation.site.erasure import Member

FederationFile = Annotated[Path, typer.Option("--federation", help="The federation file.", show_default=False)]
SiteName = Annotated[str, typer.Option("--site", help="Name of the site.", show_default=False)]
LedgerOption = Annotated[Path | None, typer.Option("--ledger", help="The ledger, if it is on this machine.")]
OutOption = Annotated[Path | None, typer.Option("--out", help="Else: write what goes to the coordinator here.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="Folder of the site's store; by default fedrcd-state/SITE.")
]
BatchOption = Annotated[
    int, typer.Option("--batch", help="Rows that must change before anything leaves; at least 10 per column.")
]
RowsOption = Annotated[
    int, typer.Option("--minimum-rows", help="Complete rows needed; at least 100, and what hides single rows.")
]
TrimOption = Annotated[
    float | None,
    typer.Option("--trim", help="Leave out rows with a value more than this many scales of the declared frame out."),
]
ArithmeticOption = Annotated[
    str, typer.Option("--arithmetic", help="With --out: the ledger's, exact, compact or float.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", help="With --out: the ledger's sums.")]


def contribute(
    table: Annotated[Path, typer.Argument(help="The site's table, CSV or Parquet.", show_default=False)],
    federation: FederationFile,
    site: SiteName,
    ledger: LedgerOption = None,
    out: OutOption = None,
    block: Annotated[list[str] | None, typer.Option(help="Only this block; may be repeated.")] = None,
    now: Annotated[bool, typer.Option(help="Do not wait for a batch: a few changed rows can then be rebuilt.")] = False,
    again: Annotated[bool, typer.Option(help="Send even if nothing changed.")] = False,
    rejoin: Annotated[bool, typer.Option(help="Bring blocks back that were taken out.")] = False,
    state: StateOption = None,
    batch: BatchOption = 0,
    minimum_rows: RowsOption = 100,
    trim: TrimOption = None,
    arithmetic: ArithmeticOption = "exact",
    family: FamilyOption = None,
    json: JsonOption = False,
) -> None:
    """Join a federation with a table, or bring what was sent before up to date: rows come, values are corrected."""
    from fedrcd.api.membership import send
    from fedrcd.federation.rules import Rules

    rules = Rules(batch=batch, rows=minimum_rows)
    opened = opening(table, federation, site, ledger, out, state, arithmetic, family, rules, trim)
    with progress_bar("summing"), talking(json) as report, opened as (member, tables, book):
        deliveries = send(member, tables, book, blocks=block or (), now=now, again=again, rejoin=rejoin)
        hand_over(member, deliveries, out)
        show_deliveries(member, deliveries, book)
        report["blocks"] = [delivery_record(one) for one in deliveries]


@contextmanager
def talking(json: bool) -> Iterator[dict[str, Any]]:
    """A report to be filled; as JSON it is all that goes to stdout, and what is said to people goes to stderr."""
    report: dict[str, Any] = {}
    with redirect_stdout(sys.stderr) if json else nullcontext():
        yield report
    if json:
        print(json_text.dumps(report, indent=1))


def delivery_record(delivery: Delivery) -> dict[str, Any]:
    """What became of a block, for programs."""
    outcome, made = delivery.outcome, delivery.outcome.contribution
    return {
        "block": outcome.block,
        "waiting": outcome.is_waiting,
        "due": None if outcome.due is None else outcome.due.isoformat(),
        "changed": outcome.changed,
        "withheld": outcome.withheld,
        "version": None if made is None else made.version,
        "rows": None if made is None else made.rows,
        "receipt": None if delivery.receipt is None else json_text.loads(delivery.receipt.to_json()),
    }


@contextmanager
def opening(
    table: Path,
    federation: Path,
    site: str,
    ledger: Path | None,
    out: Path | None,
    state: Path | None,
    arithmetic: str,
    family: list[str] | None,
    rules: Rules,
    trim: float | None,
) -> Iterator[tuple[Member, list[Table], Ledger | None]]:
    """A site with its table, its store and the ledger, if that is here, all open."""
    from fedrcd.api.membership import membership
    from fedrcd.data.federation import read_federation
    from fedrcd.data.site_file import read_site
    from fedrcd.federation.ledger.configuration import configure
    from fedrcd.federation.ledger.ledger import Ledger
    from fedrcd.federation.site.settings import SiteSettings

    if (ledger is None) == (out is None):
        raise ConfigError("say where it goes: either --ledger or --out")
    rules.require_strict()
    described = read_federation(federation)
    own = configure(described, families=tuple(family or ()), grid=parse_grid(arithmetic))
    tables = read_site(table, described, described.site(site))
    _require_brought_over(table.with_name(f"{site}.contributions.db"), site, state)
    with ExitStack() as stack:
        book = None if ledger is None else stack.enter_context(Ledger.open(ledger))
        if book is not None:
            own = configure(described, families=book.configuration.families, grid=book.configuration.grid)
            if own.digest != book.configuration.digest:
                raise ConfigError(f"{federation} has other variables or another frame than the ledger {ledger}")
        folder = state or Path("fedrcd-state") / site
        strictest = rules.strictest(SiteSettings.rules_in(folder))
        member = stack.enter_context(membership(described, site, own, folder, strictest, trim=trim))
        yield member, tables, book


def _require_brought_over(old: Path, site: str, state: Path | None) -> None:
    """Refuse to begin anew beside what the first release remembered: rows that were erased would come back."""
    if old.exists():
        raise FileError(
            f"{old} was written by an earlier version; bring it over with `fedrcd site migrate --name {site} "
            f"--state {state or Path('fedrcd-state') / site} --contributions {old}`"
        )


def hand_over(member: Member, deliveries: list[Delivery], out: Path | None) -> None:
    """Write the contributions that go by file."""
    from fedrcd.api.membership import write_parcel

    made = [one.outcome.contribution for one in deliveries if one.outcome.contribution is not None]
    if out is None or not made:
        return
    write_parcel(out, made)
    for contribution in made:
        member.store.delivered(contribution.block, contribution.commitment)
    print(f"written: {out}; give it to the coordinator for `fedrcd ledger add`")


def show_deliveries(member: Member, deliveries: list[Delivery], ledger: Ledger | None) -> None:
    """Print what became of every block."""
    for one in deliveries:
        outcome = one.outcome
        if outcome.is_waiting:
            latest = f", or until {outcome.due}" if outcome.due else ""
            print(
                f"block {outcome.block}: {outcome.changed} changed rows wait until {member.batch} have changed"
                f"{latest}: a difference of few rows would reveal them (--now does not wait)"
            )
        elif outcome.contribution is None:
            print(f"block {outcome.block}: nothing changed since version {member.store.latest_version(outcome.block)}")
        else:
            made = outcome.contribution
            hidden = f", {outcome.withheld} rows left out at random beside them" if outcome.withheld else ""
            print(f"block {outcome.block}: version {made.version}, {made.rows:,} rows{hidden}")
        if one.receipt:
            print(f"receipt: {told(one.receipt.entry)}")
    if ledger is not None:
        show_suspended(ledger.roster.suspended())
