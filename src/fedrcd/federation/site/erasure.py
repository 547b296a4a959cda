"""What a site does when its rows change: erase some, send what remains in place of what it sent, or wait.

An erasure is never sent as such. The site sums its remaining rows anew and sends that in place of its former
contribution; the rows that left are in no message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from fedrcd.data.rows import count_rows, is_complete
from fedrcd.data.site_file import require_identified
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import Contribution, Purpose, read_contribution
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.site.contributing import contribute
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.marks import Mark, Marks
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.store import Store
from fedrcd.protocol.questions import TENSOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A site of a federation that has a ledger: its door, and what the ledger holds."""

    door: Door
    configuration: Configuration

    @property
    def site(self) -> str:
        """Its name."""
        return self.door.site

    @property
    def store(self) -> Store:
        """What it remembers."""
        return self.door.store

    @property
    def batch(self) -> int:
        """Rows by which two contributions must differ."""
        p = len(self.door.federation.site(self.site).columns)
        return self.door.rules.needed_batch(p, self.configuration.families)


@dataclass(frozen=True, slots=True)
class Renewal:
    """What became of a block: a contribution to send, or why there is none.

    `changed` is the number of rows by which it differs from what the coordinator knows most nearly, `withheld` of them
    were left out at random beside those to be erased; `due` is the latest date of what waits.
    """

    block: str
    contribution: Contribution | None
    changed: int
    withheld: int = 0
    due: date | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether something changed and was held back."""
        return self.contribution is None and self.changed > 0


def strike_rows(member: Member, tables: Sequence[Table], ids: Mapping[str, Collection[str]], today: date) -> int:
    """Mark rows, given by block, as to be erased; nothing is marked unless all can be. Returns how many there were.

    Raises
    ------
    DataError
        When a row is unknown or was erased before, or no row is named at all.
    """
    require_identified(tables)
    marks = {}
    for table in tables:
        block, chosen = table.block, ids.get(table.block, ())
        if not chosen:
            continue
        known = _identifiers(table)
        unknown = [one for one in chosen if one not in known]
        if unknown:
            raise DataError(f"{len(unknown)} of the rows to erase are not in block {block!r} of {table.source}")
        marks[block] = frozenset(member.store.marker.of_id(block, one) for one in chosen)
        again = marks[block] & member.store.struck(block)
        if again:
            raise DataError(f"{len(again)} of the rows to erase were erased from block {block!r} before")
        _require_enough(member, member.door.unstruck(table, marks[block] | member.store.struck(block)))
    number = sum(map(len, marks.values()))
    if not number:
        raise DataError(f"no row of {tables[0].source} is to be erased; look at the condition or the list")
    member.store.strike(marks, today + timedelta(days=member.door.rules.days))
    return number


def find_rows(tables: Sequence[Table], ids: Collection[str]) -> dict[str, set[str]]:
    """In which blocks identifiers are; an unknown one is an error."""
    require_identified(tables)
    wanted = set(ids)
    found = {table.block: wanted & _identifiers(table) for table in tables}
    unknown = wanted.difference(*found.values())
    if unknown:
        source = tables[0].source
        raise DataError(f"{len(unknown)} of {len(wanted)} rows to erase are not in {source}; nothing was erased")
    return {label: chosen for label, chosen in found.items() if chosen}


def _identifiers(table: Table) -> set[str]:
    return {one for chunk in table.chunks() for one in chunk.ids or ()}


def renew(
    member: Member,
    table: Table,
    today: date,
    *,
    now: bool = False,
    again: bool = False,
    rejoin: bool = False,
) -> Renewal:
    """The contribution that should replace the last one for a block, recorded in the log; or none yet.

    Parameters
    ----------
    member : Member
        The site.
    table : Table
        The rows of the block as the site has them; erased ones are left out here.
    today : date
        Decides what is due.
    now : bool
        Do not wait for a batch: whoever sees before and after may then rebuild the changed rows.
    again : bool
        Make the contribution even if nothing changed.
    rejoin : bool
        Bring the block back if it was taken out.
    """
    block = table.block
    returns = member.store.is_withdrawn(block)
    if returns and not rejoin:
        raise ConfigError(f"block {block!r} of site {member.site!r} was taken out; bring it back with --rejoin")
    kept, marks = _without_struck(member, table)
    last = member.store.present(block)
    if last is None:
        if not (member.store.pending(block) and _was_answered(member, block)):
            return _made(member, Selection(kept, marks, frozenset(marks.ids), 0), today)
        served = member.door.present(member.door.unstruck(table))
        last = member.store.marker.of_rows(block, served)  # a run has their sums, as if they had been contributed
    _require_known(member, block, last, marks)
    chosen = _selected(member, kept, marks, last)
    if chosen.distance == 0 and not (again or returns):
        member.store.settle(block)
        return _undelivered(member, block)
    if chosen.distance in range(1, member.batch) and not now:
        due = min(member.store.pending(block).values(), default=None)
        if due is None or due > today:
            return Renewal(block, None, chosen.distance, due=due)
        chosen = _hidden_among_others(member, chosen, last)
    return _made(member, chosen, today)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The rows of a contribution to be, and how it differs from those before.

    `toggled` are the identifiers that came or went since the last one, `distance` the fewest rows by which it differs
    from any earlier one, `withheld` the rows left out at random.
    """

    rows: Table
    marks: Marks
    toggled: frozenset[Mark]
    distance: int
    withheld: frozenset[Mark] = frozenset()


def _selected(
    member: Member, rows: Table, marks: Marks, last: Marks, withheld: frozenset[Mark] = frozenset()
) -> Selection:
    toggled = frozenset(last.ids) ^ frozenset(marks.ids)
    distance = _distance(last, marks, [toggled, *member.store.toggled(rows.block)])
    return Selection(rows, marks, toggled, distance, withheld)


def _without_struck(member: Member, table: Table) -> tuple[Table, Marks]:
    """The rows that are to take part from now on, and the marks of those that are summed: others hide nobody."""
    struck = frozenset(member.store.struck(table.block))
    kept = member.door.unstruck(table, struck)
    try:
        summed = member.door.present(kept)
    except DataError:  # none of them; the door says so, and logs it
        return kept, Marks((), ())
    return kept, member.store.marker.of_rows(table.block, summed)


def _without(member: Member, left_out: Collection[Mark], rows: Table, marks: Marks) -> tuple[Table, Marks]:
    """Rows and marks without those whose identifiers are left out."""
    stays = np.array([mark not in left_out for mark in marks.ids], dtype=bool)
    return member.door.unstruck(rows, frozenset(left_out)), marks.keep(stays)


def _require_known(member: Member, block: str, last: Marks, marks: Marks) -> None:
    """Raise if no row of the last contribution is here by its identifier: erased ones would come back unnoticed."""
    if member.store.gone(block) and last.ids and marks.ids and not set(last.ids) & set(marks.ids):
        raise DataError(
            f"none of the rows that site {member.site!r} summed before is in block {block!r} by its identifier; are "
            "identifiers written otherwise than before? Erased rows could not be told"
        )


def _distance(last: Marks, new: Marks, toggled: list[frozenset[Mark]]) -> int:
    """The fewest rows by which the new contribution differs from any earlier one that it does not equal.

    From the last one also rows count whose values changed. What differs from an older one is what came or went an odd
    number of times since.
    """
    fewest = (
        last.changed(new) if last.rows else len(toggled[0])
    )  # of a block that was taken out only identifiers are known
    since = toggled[0]
    for version in toggled[1:-1]:
        since = since ^ version
        if since:
            fewest = min(fewest, len(since))
    return fewest


def _hidden_among_others(member: Member, chosen: Selection, last: Marks) -> Selection:
    """A batch that is large enough: rows drawn at random are left out too, of those in every contribution so far."""
    block = chosen.rows.block
    moved = frozenset().union(*member.store.toggled(block)[:-1])
    always = sorted((set(chosen.marks.ids) & set(last.ids)) - moved)
    number = member.batch - chosen.distance
    if len(always) < number:
        raise DataError(
            f"block {block!r} of site {member.site!r} has too few rows to hide the erased ones among; take the whole "
            "block out, or erase them in sight of the coordinator with --now"
        )
    token = member.store.surroundings.token_bytes
    withheld = frozenset(sorted(always, key=lambda _: token(16))[:number])
    rows, marks = _without(member, withheld, chosen.rows, chosen.marks)
    return _selected(member, rows, marks, last, withheld)


def _was_answered(member: Member, block: str) -> bool:
    """Whether sums of a block ever left in a run."""
    return any(entry.outcome == ANSWERED and entry.block == block for entry in member.store.entries())


def _undelivered(member: Member, block: str) -> Renewal:
    """The last contribution, if it was made and never arrived."""
    waiting = member.store.outbox(block)
    return Renewal(block, None if waiting is None else read_contribution(waiting), 0)


def _made(member: Member, chosen: Selection, today: date) -> Renewal:
    """Have the door sum the rows; the contribution is recorded with the log of what left."""
    block, store = chosen.rows.block, member.store
    try:
        contribution = contribute(
            replace(member.door, approve=False),  # whoever gave the command approves
            member.configuration,
            chosen.rows,
            version=store.latest_version(block) + 1,
            purpose=_purpose(member, block, chosen.toggled),
            record=lambda made: store.record(made, chosen.marks, chosen.toggled, chosen.withheld, today),
        )
    except Refused as refused:
        if refused.code in {Refusal.ROWS, Refusal.TENSOR_ROWS}:
            _require_enough(member, chosen.rows)
        if not store.pending(block):
            raise
        advice = (
            "the rows to be erased wait; take the whole block out with --block, or come back when more have changed"
        )
        raise Refused(refused.code, f"{refused}; {advice}") from None
    return Renewal(block, contribution, chosen.distance, len(chosen.withheld))


def _require_enough(member: Member, table: Table) -> None:
    """Raise unless enough complete rows are left to be summed."""
    rules, p = member.door.rules, len(table.columns)
    needed = max(rules.needed_rows(p), rules.needed_tensor_rows(p) if TENSOR in member.configuration.families else 0, 1)
    complete = count_rows(table.select(is_complete))
    if complete < needed:
        raise DataError(
            f"{complete} complete rows of block {table.block!r} of site {member.site!r} would be summed and "
            f"{needed} are needed; take the whole block out, or leave it out until there are more"
        )


def _purpose(member: Member, block: str, toggled: Collection[Mark]) -> Purpose:
    """Why a contribution is made; an erasure that never arrived is still one."""
    waiting = member.store.outbox(block)
    if member.store.pending(block) or (waiting is not None and read_contribution(waiting).purpose == "erase"):
        return "erase"
    return "rows" if toggled or member.store.present(block) is None else "values"
