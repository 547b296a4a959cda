"""What a site does over the life of a federation: join, grow, correct, erase, leave."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.site_rows import SiteRows
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.contribution import Contribution, Parcel, Withdrawal
from fedrcd.federation.contribution_log import ContributionLog
from fedrcd.federation.erasure import Member, Outcome, find_rows, renew, strike_rows
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.policy import default_policy
from fedrcd.protocol.wire import from_bytes, to_bytes
from fedrcd.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one block: what was made of it, and the receipt if the ledger was at hand."""

    outcome: Outcome
    receipt: Receipt | None = None


def site_entry(federation: Federation, name: str) -> SiteEntry:
    """What a federation says of a site."""
    for site in federation.sites:
        if site.name == name:
            return site
    raise ConfigError(
        f"there is no site {name!r} in the federation{did_you_mean(name, [site.name for site in federation.sites])}"
    )


@contextmanager
def membership(
    federation: Federation,
    site: str,
    configuration: Configuration,
    log: str | os.PathLike[str],
    **settings: int | None,
) -> Iterator[Member]:
    """A site with its log open; `settings` are numbers of its `Policy` that differ from the default."""
    entry = site_entry(federation, site)
    policy = default_policy(len(entry.columns), configuration.families)
    changed: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    with ContributionLog(log, site) as opened:
        yield Member(
            site=site,
            federation=federation,
            configuration=configuration,
            log=opened,
            policy=replace(policy, **changed),
        )


def today() -> date:
    """The date, in UTC."""
    return datetime.now(UTC).date()


def send(
    member: Member,
    rows: SiteRows,
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
    rows : SiteRows
        Its table.
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
    for block in _blocks(rows, blocks):
        outcome = renew(member, block, rows.blocks[block], day or today(), now=now, again=again, rejoin=rejoin)
        deliveries.append(_delivered(member, outcome, ledger))
    return deliveries


def erase(
    member: Member,
    rows: SiteRows,
    ledger: Ledger | None,
    *,
    ids: Collection[str] = (),
    where: Sequence[str] = (),
    day: date | None = None,
    now: bool = False,
) -> tuple[int, list[Delivery]]:
    """Erase rows by identifiers or by conditions; how many there are, and what became of their blocks.

    By default the new contribution leaves when enough rows changed or the latest date is there; `now` does not wait.
    """
    found = find_rows(rows, ids) if ids else _not_yet_erased(member, rows.matching(where))
    chosen = {block: names for block, names in found.items() if names}
    number = strike_rows(member, rows, chosen, day or today())
    return number, send(member, rows, ledger, blocks=list(chosen), day=day, now=now)


def withdraw(member: Member, blocks: Sequence[str], ledger: Ledger | None, *, day: date | None = None) -> list[Receipt]:
    """Take whole blocks out; without a ledger at hand, hand over `Withdrawal`s."""
    receipts = []
    for block in blocks:
        if member.log.is_withdrawn(block):
            raise ConfigError(f"block {block!r} of site {member.site!r} was taken out before")
        if member.log.latest_version(block) == 0:
            raise ConfigError(f"site {member.site!r} never sent anything for block {block!r}")
    for block in blocks:
        if ledger is not None and (member.site, block) in ledger.roster.standings:
            receipts += ledger.leave(member.site, block)
        member.log.withdraw(block, day or today())
    return receipts


def _not_yet_erased(member: Member, found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Rows that meet a condition without those that left before: the table may still have them."""
    struck = {block: member.log.struck(block) for block in found}
    return {
        block: {one for one in names if member.log.mark(block, one) not in struck[block]}
        for block, names in found.items()
    }


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


def _blocks(rows: SiteRows, chosen: Sequence[str]) -> list[str]:
    for block in chosen:
        if block not in rows.blocks:
            raise ConfigError(f"the site has no block {block!r}{did_you_mean(block, rows.blocks)}")
    return list(chosen) or list(rows.blocks)


def _delivered(member: Member, outcome: Outcome, ledger: Ledger | None) -> Delivery:
    if outcome.contribution is None or ledger is None:
        return Delivery(outcome)
    receipt = ledger.add(outcome.contribution)
    member.log.acknowledge(receipt)
    return Delivery(outcome, receipt)
