"""`fedrcd contribute`: a site joins a federation, or brings what it sent up to date."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fedrcd.cli import options
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
OutOption = Annotated[Path | None, typer.Option("--out", help="Otherwise, write what goes to the coordinator here.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="Folder of the site's store; by default fedrcd-state/SITE.")
]
KeyOption = Annotated[
    Path | None, typer.Option("--key", help="The site's private key, which signs what it contributes.")
]
LedgerKeyOption = Annotated[
    Path | None, typer.Option("--ledger-key", help="The ledger's signing key, if it is not beside it.")
]
NowOption = Annotated[
    bool, typer.Option("--now", help="Do not wait until enough have changed: a few changed rows can then be rebuilt.")
]
FillOption = Annotated[
    bool, typer.Option("--fill", help="Do not wait, but leave further rows, drawn at random, out for good.")
]
BatchOption = Annotated[
    int, typer.Option("--batch", help="Persons by whom two editions must differ; at least 10 per column.")
]
RowsOption = Annotated[
    int, typer.Option("--minimum-rows", help="Complete rows needed: at least 100, and enough to hide single rows.")
]
WithoutRuleOption = Annotated[
    list[str] | None,
    typer.Option("--without-rule", help="In a trial: switch a rule off, to see what it prevents; may be repeated."),
]
TrimOption = Annotated[
    float | None,
    typer.Option("--trim", help="Leave out rows with a value more than this many scales of the declared frame out."),
]
ArithmeticOption = Annotated[
    str, typer.Option("--arithmetic", help="With --out: the ledger's arithmetic, exact, compact or float.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", help="With --out: the ledger's sums.")]
GroupsOption = Annotated[int, typer.Option("--groups", help="With --out: the ledger's groups of rows.")]


TABLE = "The site's rows: CSV, Parquet or Arrow, a folder or a pattern, duckdb:FILE or postgresql://USER@HOST/NAME."


class Destination(NamedTuple):
    """Where contributions go: a ledger on this machine, a file for the coordinator, or nowhere; and what it holds."""

    ledger: Path | None
    out: Path | None
    ledger_key: Path | None
    arithmetic: str
    family: list[str] | None
    groups: int

    @property
    def is_nowhere(self) -> bool:
        """Whether it is neither."""
        return self.ledger is None and self.out is None


def contribute(
    table: Annotated[str, typer.Argument(help=TABLE, show_default=False)],
    federation: FederationFile,
    site: SiteName,
    ledger: LedgerOption = None,
    out: OutOption = None,
    block: Annotated[list[str] | None, typer.Option(help="Only this block; may be repeated.")] = None,
    key: KeyOption = None,
    ledger_key: LedgerKeyOption = None,
    now: NowOption = False,
    fill: FillOption = False,
    after: Annotated[
        int | None,
        typer.Option(help="With --out: the last version in the ledger, where a later one was lost."),
    ] = None,
    again: Annotated[bool, typer.Option(help="Send even if nothing changed.")] = False,
    rejoin: Annotated[bool, typer.Option(help="Bring blocks back that were taken out.")] = False,
    state: StateOption = None,
    batch: BatchOption = 0,
    minimum_rows: RowsOption = 100,
    trim: TrimOption = None,
    suppress: options.Suppress = 0,
    dominance: options.Dominance = 1.0,
    without_rule: WithoutRuleOption = None,
    arithmetic: ArithmeticOption = "exact",
    family: FamilyOption = None,
    groups: GroupsOption = 0,
    query: options.Query = "",
    json: JsonOption = False,
) -> None:
    """Join a federation with a table, or bring what was sent before up to date: rows come, values are corrected."""
    from fedrcd.api.membership import send
    from fedrcd.federation.rules import Rules

    where = Destination(ledger, out, ledger_key, arithmetic, family, groups)
    if where.is_nowhere:
        raise ConfigError("say where it goes: either --ledger or --out")
    left_out: dict[str, Any] = {"suppress": suppress, "dominance": dominance}
    rules = Rules(batch=batch, rows=minimum_rows, off=tuple(without_rule or ()), **left_out)
    opened = opening(table, query, federation, site, where, state, rules, trim, key)
    with progress_bar("summing"), talking(json) as report, opened as (member, tables, book):
        deliveries = send(member, tables, book, blocks=block or (), now=now, fill=fill, again=again, rejoin=rejoin)
        hand_over(member, deliveries, out, after)
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
    outcome, made, waiting = delivery.outcome, delivery.outcome.contribution, delivery.outcome.waiting
    return {
        "block": outcome.block,
        "waiting": outcome.is_waiting,
        "due": None if waiting is None or waiting.due is None else waiting.due.isoformat(),
        "changed": 0 if waiting is None else waiting.persons,
        "withheld": outcome.withheld,
        "version": None if made is None else made.version,
        "rows": None if made is None else made.rows,
        "receipt": None if delivery.receipt is None else json_text.loads(delivery.receipt.to_json()),
    }


@contextmanager
def opening(
    table: str,
    query: str,
    federation: Path,
    site: str,
    where: Destination,
    state: Path | None,
    rules: Rules,
    trim: float | None,
    key: Path | None,
    *,
    begins: bool = True,
) -> Iterator[tuple[Member, list[Table], Ledger | None]]:
    """A site with its table, its store and the ledger, if that is here, all open; the store is made if it `begins`."""
    from fedrcd.api.membership import membership
    from fedrcd.data.federation import read_federation
    from fedrcd.data.site_file import read_site
    from fedrcd.data.sources.address import is_address
    from fedrcd.federation.ledger.configuration import configure
    from fedrcd.federation.ledger.ledger import Ledger
    from fedrcd.federation.site.settings import SiteSettings

    if where.ledger is not None and where.out is not None:
        raise ConfigError("say where it goes: either --ledger or --out")
    described = read_federation(federation)
    rules.require_strict(trial=described.trial)
    entry = described.site(site)
    if entry.key and key is None and not where.is_nowhere:
        raise ConfigError(f"site {site!r} signs what it contributes with its key; give --key")
    own = configure(described, families=tuple(where.family or ()), grid=parse_grid(where.arithmetic))
    tables = read_site(table, described, entry, query=query)
    folder = state or Path("fedrcd-state") / site
    if not is_address(table):
        _require_brought_over(Path(table).with_name(f"{site}.contributions.db"), site, folder)
    if not begins:
        _require_store(folder, site)
    with ExitStack() as stack:
        book, groups = None, where.groups
        if where.ledger is not None:
            book = stack.enter_context(Ledger.open(where.ledger, key=where.ledger_key))
            own = configure(described, families=book.configuration.families, grid=book.configuration.grid)
            groups = book.groups
            if own.digest != book.configuration.digest:
                raise ConfigError(f"{federation} has other variables or another frame than the ledger {where.ledger}")
        member = stack.enter_context(
            membership(
                described,
                site,
                own,
                folder,
                rules.strictest(SiteSettings.rules_in(folder)),
                groups=groups,
                key=key,
                trim=trim,
            )
        )
        yield member, tables, book


def _require_brought_over(old: Path, site: str, folder: Path) -> None:
    """Refuse to begin anew beside what the first release remembered: rows that were erased would come back."""
    if old.exists():
        raise FileError(
            f"{old} was written by an earlier version; bring it over with `fedrcd site migrate --name {site} "
            f"--state {folder} --contributions {old}`"
        )


def _require_store(folder: Path, site: str) -> None:
    """Refuse to make a store where one is needed that knows what was answered: the true one would learn nothing."""
    from fedrcd.federation.site.store import owner_of

    if not owner_of(folder):
        raise ConfigError(
            f"there is no store of site {site!r} in {folder}, so nothing was answered from there; give the folder of "
            "`site serve` or `contribute` with --state. Rows that were never summed need no erasure: take them out of "
            "the table"
        )


def hand_over(member: Member, deliveries: list[Delivery], out: Path | None, after: int | None = None) -> None:
    """Write the contributions that go by file."""
    from fedrcd.api.membership import withdrawals, write_parcel
    from fedrcd.federation.ledger.contribution import SignedContribution

    made = [one.outcome.contribution for one in deliveries if one.outcome.contribution is not None]
    if out is None or not made:
        return
    follows = [one.version - 1 if after is None else after for one in made]
    signed = [SignedContribution.by(member.key, one, last) for one, last in zip(made, follows, strict=True)]
    write_parcel(out, [*withdrawals(member, deliveries), *signed])
    for contribution in made:
        member.store.sent.delivered(contribution.block, contribution.commitment)
    print(f"written: {out}; give it to the coordinator for `fedrcd ledger add`")


def show_deliveries(member: Member, deliveries: list[Delivery], ledger: Ledger | None) -> None:
    """Print what became of every block."""
    for one in deliveries:
        outcome = one.outcome
        if outcome.contribution is not None:
            made = outcome.contribution
            hidden = f", {outcome.withheld} persons left out at random beside them" if outcome.withheld else ""
            print(f"block {outcome.block}: version {made.version}, {made.rows:,} rows{hidden}")
        elif outcome.waiting is None:
            version = member.store.sent.latest_version(outcome.block)
            print(f"block {outcome.block}: nothing changed since version {version}")
        if outcome.waiting is not None:
            print(
                f"block {outcome.block}: {outcome.waiting}: a difference of few would reveal them (--fill leaves "
                "others out beside them, --now does not wait)"
            )
        if one.receipt:
            print(f"receipt: {told(one.receipt.entry)}")
    if ledger is not None:
        show_suspended(ledger.roster.suspended())
