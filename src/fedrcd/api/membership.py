"""What a site does over the life of a federation: join, grow, correct, erase, leave."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from fedrcd.data.federation import Federation
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import Parcel, SignedContribution, SignedWithdrawal
from fedrcd.federation.ledger.heads import SignedHead
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.editions.outlook import Outlook, outlook
from fedrcd.federation.site.editions.row_marks import is_among
from fedrcd.federation.site.erasure import Member, Renewal, former_names, renew, require_newest, strike_rows
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.store import Store
from fedrcd.federation.site.witness import Witness
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
    groups: int = 0,
    key: str | os.PathLike[str] | None = None,
    trim: float | None = None,
    threads: int | None = None,
    surroundings: Surroundings = REAL,
) -> Iterator[Member]:
    """A site with its store, in the folder `state`, open; it obeys the rules of disclosure of its door.

    `groups` is that of the ledger. `key` is the file of the site's private key; without one it signs nothing, which
    only trials accept.
    """
    entry = federation.site(site)
    signing = None if key is None else SiteKey.read(key)
    if signing is not None:
        signing.require(entry.key, site)
    off = rules is not None and "history" in rules.off
    with Store(state, site, surroundings, witness=None if key is None or off else Witness.beside(key)) as store:
        door = Door(site=site, federation=federation, store=store, rules=rules or Rules(), trim=trim, threads=threads)
        yield Member(door=door, configuration=configuration, groups=groups, key=signing)


def send(
    member: Member,
    tables: Sequence[Table],
    ledger: Ledger | None,
    *,
    blocks: Sequence[str] = (),
    now: bool = False,
    fill: bool = False,
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
    now : bool
        Do not wait until enough have changed: whoever sees before and after may then rebuild the changed rows.
    fill : bool
        Do not wait either, but leave out others at random for good, so that few who are gone are hidden among them.
    again, rejoin
        As of `renew`.
    """
    member = replace(member, door=replace(member.door, force=now, fill=fill))
    if ledger is not None and "ledger" not in member.door.rules.off:
        versions = {block: version for (site, block), version in ledger.roster.versions.items() if site == member.site}
        require_newest(member, versions)
    deliveries = []
    for table in _chosen(tables, blocks):
        outcome = renew(member, table, member.store.today(), again=again, rejoin=rejoin)
        deliveries.append(_delivered(member, outcome, ledger))
    if ledger is not None:
        for withdrawal in withdrawals(member, deliveries):
            if withdrawal.place in ledger.roster.standings:
                ledger.withdraw(withdrawal)
                member.store.ledgers.follow(ledger.entries, ledger.public_key)
    return deliveries


def withdrawals(member: Member, deliveries: Iterable[Delivery]) -> list[SignedWithdrawal]:
    """What takes blocks out that were renamed, or that the federation has no more."""
    gone = former_names(member, (one.outcome for one in deliveries))
    return [SignedWithdrawal.by(member.key, member.site, one.block, one.version) for one in gone]


def erase(
    member: Member,
    tables: Sequence[Table],
    ledger: Ledger | None,
    *,
    ids: Collection[str] = (),
    matching: Mapping[str, Collection[str]] | None = None,
    now: bool = False,
    fill: bool = False,
) -> tuple[int, list[Delivery]]:
    """Erase rows by identifiers; how many there are, and what became of their blocks.

    `matching` are identifiers by block, of rows that meet a condition: those that were erased before are passed over.
    By default the new contribution leaves when enough rows changed or the latest date is there; `now` and `fill`, as of
    `send`, do not wait.
    """
    number = strike(member.door, tables, ids=ids, matching=matching)
    return number, send(member, tables, ledger, now=now, fill=fill)


def strike(
    door: Door,
    tables: Sequence[Table],
    *,
    ids: Collection[str] = (),
    matching: Mapping[str, Collection[str]] | None = None,
) -> int:
    """Erase rows by identifiers, or those that meet a condition, from all that leaves a site from now on; how many."""
    chosen = ids if matching is None else not_yet_erased(door.store, matching)
    return strike_rows(door, tables, chosen, door.store.today())


class Rehearsed(NamedTuple):
    """What an erasure would do: how many rows it is of, and what the site would answer about afterwards."""

    number: int
    outlook: Outlook


def rehearse(
    door: Door,
    tables: Sequence[Table],
    *,
    ids: Collection[str] = (),
    matching: Mapping[str, Collection[str]] | None = None,
) -> Rehearsed:
    """What `strike` would do, tried on a copy in memory; nobody is erased."""
    with door.store.rehearsal() as copy:
        tried = replace(door, store=copy)
        return Rehearsed(strike(tried, tables, ids=ids, matching=matching), outlook(tried, tables))


class Withdrawn(NamedTuple):
    """A block that was taken out: what says so, for the coordinator, and the receipt if the ledger was at hand."""

    signed: SignedWithdrawal
    receipt: Receipt | None


def withdraw(member: Member, blocks: Sequence[str], ledger: Ledger | None) -> list[Withdrawn]:
    """Take whole blocks out."""
    store = member.store
    for block in blocks:
        if store.sent.is_withdrawn(block):
            raise ConfigError(f"block {block!r} of site {member.site!r} was taken out before")
        if store.sent.latest_version(block) == 0:
            raise ConfigError(f"site {member.site!r} never sent anything for block {block!r}")
    out = []
    for block in blocks:
        place, version, receipt = (member.site, block), store.sent.latest_version(block), None
        if ledger is not None:
            version = ledger.roster.versions.get(place, 0)
        signed = SignedWithdrawal.by(member.key, *place, version)
        if ledger is not None and place in ledger.roster.standings:
            receipt = ledger.withdraw(signed)
            store.ledgers.follow(ledger.entries, ledger.public_key)
        store.sent.withdraw(block, store.today())
        out.append(Withdrawn(signed, receipt))
    return out


def not_yet_erased(store: Store, found: Mapping[str, Collection[str]]) -> set[str]:
    """Rows that meet a condition, by block, without those that were erased before: the table may still have them."""
    struck = store.struck.persons()
    return {one for names in found.values() for one in names if not is_among(store.marker.of_ids([one]), struck)[0]}


def write_parcel(path: Path, items: Sequence[SignedContribution | SignedWithdrawal]) -> None:
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
        if not isinstance(item, SignedWithdrawal):
            receipts.append(ledger.add(item))
        elif item.place in ledger.roster.standings or item.version != ledger.roster.versions.get(item.place):
            receipts.append(ledger.withdraw(item))  # else it was taken out before
    return receipts


def _chosen(tables: Sequence[Table], blocks: Sequence[str]) -> list[Table]:
    known = {table.block: table for table in tables}
    for block in blocks:
        if block not in known:
            raise ConfigError(f"the site has no block {block!r}{did_you_mean(block, known)}")
    return [known[block] for block in blocks] or list(tables)


def _delivered(member: Member, outcome: Renewal, ledger: Ledger | None) -> Delivery:
    """Hand a contribution to a ledger that is at hand, which must be the one that was seen before."""
    made = outcome.contribution
    if made is None or ledger is None:
        return Delivery(outcome)
    ledgers, trusting = member.store.ledgers, "ledger" in member.door.rules.off
    if not trusting:
        ledgers.follow(ledger.entries, ledger.public_key)
    follows = ledger.roster.versions.get((made.site, made.block), 0)
    receipt = ledger.add(SignedContribution.by(member.key, made, follows))
    if not trusting:
        head = ledgers.follow(ledger.entries, ledger.public_key)
        for other in ledger.heads():
            if other.site != member.site:
                ledgers.compare(other, member.door.federation.site(other.site).key)
        if member.key is not None:
            ledger.note_head(SignedHead.by(member.key, member.site, ledger.identity, head))
        ledgers.require_acknowledged(receipt)
    member.store.sent.acknowledge(receipt)
    return Delivery(outcome, receipt)
