"""`fedrcd erase`: rows, cohorts or everything of a site leave the federation."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedrcd.cli import options
from fedrcd.cli.contribute import (
    TABLE,
    ArithmeticOption,
    BatchOption,
    Destination,
    FamilyOption,
    FillOption,
    GroupsOption,
    JsonOption,
    KeyOption,
    LedgerKeyOption,
    LedgerOption,
    NowOption,
    OutOption,
    RowsOption,
    SiteName,
    StateOption,
    TrimOption,
    WithoutRuleOption,
    delivery_record,
    hand_over,
    opening,
    show_deliveries,
    talking,
)
from fedrcd.cli.ledger import SHORT, read_text, require_certificate_endings, show_suspended, told, write_certificates
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FedrcdWarning

if TYPE_CHECKING:
    from fedrcd.api.discovery import Discovery
    from fedrcd.data.table import Table
    from fedrcd.federation.ledger.ledger import Ledger
    from fedrcd.federation.site.erasure import Member


def erase(
    site: SiteName,
    table: Annotated[
        str | None, typer.Argument(help=f"{TABLE} Leave it out at the coordinator.", show_default=False)
    ] = None,
    federation: Annotated[Path | None, typer.Option("--federation", help="At the site: the federation file.")] = None,
    ledger: LedgerOption = None,
    out: OutOption = None,
    ids: Annotated[Path | None, typer.Option(help="Rows to erase: a text file with one identifier per line.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help='Rows to erase: "COLUMN RELATION VALUE"; repeated, all must hold.')
    ] = None,
    block: Annotated[list[str] | None, typer.Option(help="Take this whole block out; may be repeated.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Take all blocks of the site out.")] = False,
    due: Annotated[
        bool, typer.Option(help="Carry out what waited until its latest date; with --now or --fill, whatever waits.")
    ] = False,
    key: KeyOption = None,
    ledger_key: LedgerKeyOption = None,
    now: NowOption = False,
    fill: FillOption = False,
    certificate: Annotated[
        list[Path] | None, typer.Option(help="With --ledger: write a certificate, .json or .html; may be repeated.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder of runs: the site's answers to unfinished ones are deleted; by default the ledger's."
        ),
    ] = None,
    derive: Annotated[bool, typer.Option(help="With --ledger: compute all results anew from the new state.")] = True,
    state: StateOption = None,
    batch: BatchOption = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --ids or --where: say what would happen, and erase nobody.")
    ] = False,
    days: Annotated[int, typer.Option(help="Days after which erasures are carried out.")] = 30,
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
    """Erase rows, blocks or everything of a site: from then on they are in no sum that is made, wherever it goes.

    At a site give its table, and what to erase; with --ledger or --out what it contributed is replaced, too. At the
    coordinator give --ledger and --site: the site leaves.
    """
    targets = certificate or []
    require_certificate_endings(targets)
    if targets and ledger is None:
        raise ConfigError("--certificate needs --ledger: the coordinator certifies")
    if table is None:
        if ledger is None or federation or ids or where or due or out:
            raise ConfigError("at the coordinator give --ledger and --site; at a site give its table first")
        with progress_bar("erasing"), talking(json) as report:
            report |= _leave(ledger, ledger_key, site, block or [], targets, derive=derive)
            report["answers_deleted"] = _forget_answers(site, ledger, runs)
        return
    chosen = [bool(ids), bool(where), bool(block), everything, due]
    if sum(chosen) != 1:
        raise ConfigError("say what to erase with one of --ids, --where, --block, --all; or carry out what is --due")
    if federation is None:
        raise ConfigError("at a site the federation file is needed: --federation")
    if dry_run and not (ids or where):
        raise ConfigError("--dry-run belongs to --ids or --where")
    from fedrcd.api.membership import send
    from fedrcd.federation.ledger.entries import ERASED
    from fedrcd.federation.rules import Rules

    where_to = Destination(ledger, out, ledger_key, arithmetic, family, groups)
    left_out: dict[str, Any] = {"suppress": suppress, "dominance": dominance}
    rules = Rules(batch=batch, days=days, rows=minimum_rows, off=tuple(without_rule or ()), **left_out)
    opened = opening(table, query, federation, site, where_to, state, rules, trim, key, begins=False)
    with progress_bar("erasing"), talking(json) as report, opened as (member, tables, book):
        numbers: list[int] = []
        if block or everything:
            numbers = _withdraw(member, block or [one.block for one in tables], book, out)
        else:
            matching = _matching(table, query, member, where) if where else None
            if dry_run:
                report |= _rehearse(member, tables, ids=ids, matching=matching)
                return
            if ids or matching is not None:
                report["erased"] = _strike(member, tables, ids=ids, matching=matching)
            if where_to.is_nowhere:
                report["editions"] = _tell_outlook(member, tables, now=now, fill=fill)
            else:
                deliveries = send(member, tables, book, now=now, fill=fill)
                hand_over(member, deliveries, out)
                show_deliveries(member, deliveries, book)
                receipts = [one.receipt for one in deliveries if one.receipt]
                numbers = [one.entry.number for one in receipts if one.entry.kind == ERASED]  # others certify nothing
                report["blocks"] = [delivery_record(one) for one in deliveries]
        report |= _finish(book, numbers, targets, derive=derive)
        report["answers_deleted"] = _forget_answers(site, ledger, runs)


def _forget_answers(site: str, ledger: Path | None, runs: list[Path] | None) -> int:
    """Delete what the site answered to runs that were killed and never resumed."""
    from fedrcd.federation.coordinator.recorded_answers import forget_recorded

    folders = runs or ([ledger.parent] if ledger else [])
    number = sum(forget_recorded(folder, site) for folder in folders)
    if number:
        print(f"{number} recorded answer{'s' * (number != 1)} of site {site} to unfinished runs deleted")
    return number


def _leave(
    path: Path, key: Path | None, site: str, blocks: list[str], targets: list[Path], *, derive: bool
) -> dict[str, Any]:
    """Take a site out at the coordinator."""
    from fedrcd.federation.ledger.ledger import Ledger

    with Ledger.open(path, key=key) as ledger:
        chosen: list[str | None] = [*blocks] or [None]
        receipts = [one for block in chosen for one in ledger.leave(site, block)]
        for receipt in receipts:
            print(told(receipt.entry))
        return _finish(ledger, [receipt.entry.number for receipt in receipts], targets, derive=derive)


def _withdraw(member: Member, blocks: list[str], ledger: Ledger | None, out: Path | None) -> list[int]:
    """Take whole blocks out at the site."""
    from fedrcd.api.membership import withdraw, write_parcel

    withdrawn = withdraw(member, blocks, ledger)
    if out is not None:
        write_parcel(out, [one.signed for one in withdrawn])
        print(f"written: {out}; give it to the coordinator for `fedrcd ledger add`")
    receipts = [one.receipt for one in withdrawn if one.receipt]
    for receipt in receipts:
        print(told(receipt.entry))
    return [receipt.entry.number for receipt in receipts]


def _matching(table: str, query: str, member: Member, where: list[str]) -> dict[str, set[str]]:
    """Identifiers of the rows that meet all conditions, by block."""
    from fedrcd.data.site_file import rows_matching

    federation = member.door.federation
    return rows_matching(table, federation, federation.site(member.site), where, query=query)


def _strike(member: Member, tables: list[Table], *, ids: Path | None, matching: dict[str, set[str]] | None) -> int:
    """Erase rows at the site; how many persons they are of."""
    from fedrcd.api.membership import strike

    number = strike(member.door, tables, ids=_listed(ids), matching=matching)
    print(f"{number} row{'s' * (number != 1)} of site {member.site} will take no part any more")
    return number


def _rehearse(
    member: Member, tables: list[Table], *, ids: Path | None, matching: dict[str, set[str]] | None
) -> dict[str, Any]:
    """Say what an erasure would do."""
    from fedrcd.api.membership import rehearse
    from fedrcd.cli.site_editions import show_outlook

    number, seen = rehearse(member.door, tables, ids=_listed(ids), matching=matching)
    print(f"{number} row{'s' * (number != 1)} of site {member.site} would take no part any more; nobody was erased")
    show_outlook(seen)
    return {"would_be_erased": number, "editions": seen.as_dict()}


def _listed(ids: Path | None) -> list[str]:
    return [line.strip() for line in read_text(ids).splitlines() if line.strip()] if ids else []


def _tell_outlook(member: Member, tables: list[Table], *, now: bool, fill: bool) -> dict[str, Any]:
    """Say when the next edition is due, and what still counts until then."""
    from fedrcd.cli.site_editions import permit, show_outlook
    from fedrcd.federation.site.editions.outlook import outlook

    permit(member.door, tables, now=now, fill=fill)
    seen = outlook(member.door, tables)
    show_outlook(seen)
    return seen.as_dict()


def _finish(ledger: Ledger | None, numbers: list[int], targets: list[Path], *, derive: bool) -> dict[str, Any]:
    """Certify what was erased, and compute results anew."""
    if ledger is None or not numbers:
        if targets:
            print("no certificate was written: nothing has left the state yet")
        return {"entries": [], "results": [], "new_runs": []}
    for number in numbers:
        suffix = f"-{number}" if len(numbers) > 1 else ""
        write_certificates(ledger, number, [one.with_stem(one.stem + suffix) for one in targets])
    found, again = derive_results(ledger) if derive else ([], [])
    results = [{"method": one.method, "order": one.order, "state_id": one.state_id} for one in found]
    return {"entries": numbers, "results": results, "new_runs": again}


def derive_results(ledger: Ledger) -> tuple[list[Discovery], list[str]]:
    """Compute the listed results from the new state and show their orders."""
    from fedrcd.api.from_ledger import rediscover

    if not ledger.roster.active():
        show_suspended(ledger.roster.suspended())
        print("nobody is in the state any more: there is nothing to compute")
        return [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)
        found, again = rediscover(ledger)
    for result in found:
        print(f"{result.method}, state {result.state_id[:SHORT]}: order {', '.join(result.order)}")
    for reason in again:
        print(f"not computed: {reason}")
    return found, again
