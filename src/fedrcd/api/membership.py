"""What a site does over the life of a federation: join, grow, correct, erase, leave."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from fedrcd.data.federation import Federation
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import Contribution, Parcel, Withdrawal
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.erasure import Member, Renewal, find_rows, renew, strike_rows
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.store import Store
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import from_bytes, to_bytes
from fedrcd.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one block: what was made of it, and the receipt if the ledger was at hand."""

    outcome: Renewal
    receipt: Receipt | None = None


@contextmanager
def membership(
    federation: Federation,
    site: str,
    configuration: Configuration,
    state: str | os.PathLike[str],
    rules: Rules | None = None,
    *,
    trim: float | None = None,
    threads: int | None = None,
    surroundings: Surroundings = REAL,
) -> Iterator[Member]:
    """A site with its store, in the folder `state`, open; it obeys the rules of disclosure of its door."""
    federation.site(site)
    with Store(state, site, surroundings) as store:
        door = Door(site=site, federation=federation, store=store, rules=rules or Rules(), trim=trim, threads=threads)
        yield Member(door=door, configuration=configuration)


def send(
    member: Member,
    tables: Sequence[Table],
    ledger: Ledger | None,
    *,
    blocks: Sequence[str] = (),
    day: date | None = None,
    now: bool = False,
    again: bool = False,
    rejoin: bool = False,
) -> list[Delivery]:
    """Bring what the coordinator has of a site up to date with its table, block by block.

    Parameters
    ----------
    member : Member
        The site.
    tables : sequence of Table
        Its rows, a table per block.
    ledger : Ledger, optional
        Where contributions go; without, the caller hands them over, see `parcel`.
    blocks : sequence of str
        Which blocks; all by default.
    day : date, optional
        Today, unless something else is said.
    now, again, rejoin
        As of `renew`.
    """
    deliveries = []
    for table in _chosen(tables, blocks):
        outcome = renew(member, table, day or _today(member), now=now, again=again, rejoin=rejoin)
        deliveries.append(_delivered(member, outcome, ledger))
    return deliveries


def erase(
    member: Member,
    tables: Sequence[Table],
    ledger: Ledger | None,
    *,
    ids: Collection[str] = (),
    matching: Mapping[str, Collection[str]] | None = None,
    day: date | None = None,
    now: bool = False,
) -> tuple[int, list[Delivery]]:
    """Erase rows by identifiers; how many there are, and what became of their blocks.

    `matching` are identifiers by block, of rows that meet a condition: those that were erased before are passed over.
    By default the new contribution leaves when enough rows changed or the latest date is there; `now` does not wait.
    """
    found = find_rows(tables, ids) if matching is None else _not_yet_erased(member, matching)
    chosen = {block: names for block, names in found.items() if names}
    number = strike_rows(member, tables, chosen, day or _today(member))
    return number, send(member, tables, ledger, blocks=list(chosen), day=day, now=now)


def withdraw(member: Member, blocks: Sequence[str], ledger: Ledger | None, *, day: date | None = None) -> list[Receipt]:
    """Take whole blocks out; without a ledger at hand, hand over `Withdrawal`s."""
    receipts = []
    for block in blocks:
        if member.store.is_withdrawn(block):
            raise ConfigError(f"block {block!r} of site {member.site!r} was taken out before")
        if member.store.latest_version(block) == 0:
            raise ConfigError(f"site {member.site!r} never sent anything for block {block!r}")
    for block in blocks:
        if ledger is not None and (member.site, block) in ledger.roster.standings:
            receipts += ledger.leave(member.site, block)
        member.store.withdraw(block, day or _today(member))
    return receipts


def _not_yet_erased(member: Member, found: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Rows that meet a condition without those that left before: the table may still have them."""
    struck = {block: member.store.struck(block) for block in found}
    return {
        block: {one for one in names if member.store.marker.of_id(block, one) not in struck[block]}
        for block, names in found.items()
    }


def _today(member: Member) -> date:
    return member.store.surroundings.now().date()


def write_parcel(path: Path, items: Sequence[Contribution | Withdrawal]) -> None:
    """Write what a site hands over into a file."""
    try:
        path.write_bytes(to_bytes(Parcel(tuple(items))))
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None


def add_parcel(ledger: Ledger, path: Path) -> list[Receipt]:
    """Take what a site handed over in a file into a ledger."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    receipts = []
    for item in from_bytes(data, Parcel).items:
        if isinstance(item, Withdrawal):
            receipts += ledger.leave(item.site, item.block)
        else:
            receipts.append(ledger.add(item))
    return receipts


def _chosen(tables: Sequence[Table], blocks: Sequence[str]) -> list[Table]:
    known = {table.block: table for table in tables}
    for block in blocks:
        if block not in known:
            raise ConfigError(f"the site has no block {block!r}{did_you_mean(block, known)}")
    return [known[block] for block in blocks] or list(tables)


def _delivered(member: Member, outcome: Renewal, ledger: Ledger | None) -> Delivery:
    if outcome.contribution is None or ledger is None:
        return Delivery(outcome)
    receipt = ledger.add(outcome.contribution)
    member.store.acknowledge(receipt)
    return Delivery(outcome, receipt)
