"""What a site does when its rows change: erase some, send what remains in place of what it sent, or wait.

An erasure is never sent as such. The site sums its remaining rows anew and sends that in place of its former
contribution; the rows that left are in no message.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.data.site_rows import BlockRows, SiteRows
from fedrcd.errors import ConfigError, DataError
from fedrcd.federation.contribution import Contribution, Purpose, contribute, read_contribution
from fedrcd.federation.contribution_log import ContributionLog, Mark, Marks
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A site of a federation that has a ledger: who it is, what it keeps, what it obeys."""

    site: str
    federation: Federation
    configuration: Configuration
    log: ContributionLog
    policy: Policy
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
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


def strike_rows(member: Member, rows: SiteRows, ids: Mapping[str, Collection[str]], today: date) -> int:
    """Mark rows, given by block, as to be erased; nothing is marked unless all can be. Returns how many there were.

    Raises
    ------
    DataError
        When a row is unknown or was erased before, or no row is named at all.
    """
    rows.require_ids()
    marks = {}
    for block, chosen in ids.items():
        known = set(rows.blocks[block].ids or ())
        unknown = [one for one in chosen if one not in known]
        if unknown:
            raise DataError(f"{len(unknown)} of the rows to erase are not in block {block!r} of {rows.source}")
        marks[block] = {member.log.mark(block, one) for one in chosen}
        again = marks[block] & member.log.struck(block)
        if again:
            raise DataError(f"{len(again)} of the rows to erase were erased from block {block!r} before")
        _require_enough(member, block, _remaining(member, block, rows.blocks[block], marks[block]))
    number = sum(map(len, marks.values()))
    if not number:
        raise DataError(f"no row of {rows.source} is to be erased; look at the condition or the list")
    member.log.strike(marks, today + timedelta(days=member.policy.days))
    return number


def find_rows(rows: SiteRows, ids: Collection[str]) -> dict[str, set[str]]:
    """In which blocks identifiers are; an unknown one is an error."""
    rows.require_ids()
    wanted = set(ids)
    found = {label: wanted & set(block.ids or ()) for label, block in rows.blocks.items()}
    unknown = wanted.difference(*found.values())
    if unknown:
        raise DataError(f"{len(unknown)} of {len(wanted)} rows to erase are not in {rows.source}; nothing was erased")
    return {label: chosen for label, chosen in found.items() if chosen}


def renew(
    member: Member,
    block: str,
    rows: BlockRows,
    today: date,
    *,
    now: bool = False,
    again: bool = False,
    rejoin: bool = False,
) -> Outcome:
    """The contribution that should replace the last one for a block, recorded in the log; or none yet.

    Parameters
    ----------
    member : Member
        The site.
    block : str
        Which block.
    rows : BlockRows
        Its rows as the table has them; erased ones are left out here.
    today : date
        Decides what is due.
    now : bool
        Do not wait for a batch: whoever sees before and after may then rebuild the changed rows.
    again : bool
        Make the contribution even if nothing changed.
    rejoin : bool
        Bring the block back if it was taken out.
    """
    returns = member.log.is_withdrawn(block)
    if returns and not rejoin:
        raise ConfigError(f"block {block!r} of site {member.site!r} was taken out; bring it back with --rejoin")
    kept, marks = _without_struck(member, block, rows)
    last = member.log.present(block)
    if last is None:
        return _made(member, block, Selection(kept, marks, frozenset(marks.ids), 0), today)
    chosen = _selected(member, block, kept, marks, last)
    if chosen.distance == 0 and not (again or returns):
        member.log.settle(block)
        return _undelivered(member, block)
    if chosen.distance in range(1, member.policy.batch) and not now:
        due = min(member.log.pending(block).values(), default=None)
        if due is None or due > today:
            return Outcome(block, None, chosen.distance, due=due)
        chosen = _hidden_among_others(member, block, chosen, last)
    return _made(member, block, chosen, today)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The rows of a contribution to be, and how it differs from those before.

    `toggled` are the identifiers that came or went since the last one, `distance` the fewest rows by which it differs
    from any earlier one, `withheld` the rows left out at random.
    """

    rows: BlockRows
    marks: Marks
    toggled: frozenset[Mark]
    distance: int
    withheld: frozenset[Mark] = frozenset()


def _selected(
    member: Member, block: str, rows: BlockRows, marks: Marks, last: Marks, withheld: frozenset[Mark] = frozenset()
) -> Selection:
    toggled = frozenset(last.ids) ^ frozenset(marks.ids)
    distance = _distance(last, marks, [toggled, *member.log.toggled(block)])
    return Selection(rows, marks, toggled, distance, withheld)


def _remaining(member: Member, block: str, rows: BlockRows, also: Collection[Mark]) -> BlockRows:
    """The rows that take part once some more are erased."""
    struck = member.log.struck(block).union(also)
    return rows.keep(np.array([mark not in struck for mark in member.log.id_marks(block, rows)], dtype=bool))


def _without_struck(member: Member, block: str, rows: BlockRows) -> tuple[BlockRows, Marks]:
    """The rows that take part, and their marks."""
    struck = member.log.struck(block)
    if struck and rows.ids is None:
        raise DataError(f"rows of block {block!r} were erased by their identifiers, and the table has none now")
    marks = member.log.marks(block, rows)
    return _without(struck, rows, marks) if struck else (rows, marks)


def _without(left_out: Collection[Mark], rows: BlockRows, marks: Marks) -> tuple[BlockRows, Marks]:
    """Rows and marks without those whose identifiers are left out."""
    stays = np.array([mark not in left_out for mark in marks.ids], dtype=bool)
    return rows.keep(stays), marks.keep(stays)


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


def _hidden_among_others(member: Member, block: str, chosen: Selection, last: Marks) -> Selection:
    """A batch that is large enough: rows drawn at random are left out too, of those in every contribution so far."""
    moved = frozenset().union(*member.log.toggled(block)[:-1])
    always = sorted((set(chosen.marks.ids) & set(last.ids)) - moved)
    number = member.policy.batch - chosen.distance
    if len(always) < number:
        raise DataError(
            f"block {block!r} of site {member.site!r} has too few rows to hide the erased ones among; take the whole "
            "block out, or erase them in sight of the coordinator with --now"
        )
    withheld = frozenset(secrets.SystemRandom().sample(always, number))
    rows, marks = _without(withheld, chosen.rows, chosen.marks)
    return _selected(member, block, rows, marks, last, withheld)


def _undelivered(member: Member, block: str) -> Outcome:
    """The last contribution, if it was made and never arrived."""
    waiting = member.log.outbox(block)
    return Outcome(block, None if waiting is None else read_contribution(waiting), 0)


def _made(member: Member, block: str, chosen: Selection, today: date) -> Outcome:
    """Sum the rows, and record the contribution before it leaves."""
    _require_enough(member, block, chosen.rows)
    contribution = contribute(
        member.configuration,
        member.federation,
        member.site,
        block,
        chosen.rows.values,
        version=member.log.latest_version(block) + 1,
        purpose=_purpose(member, block, chosen.toggled),
        threads=member.threads,
    )
    member.log.record(contribution, chosen.marks, chosen.toggled, chosen.withheld, today)
    return Outcome(block, contribution, chosen.distance, len(chosen.withheld))


def _require_enough(member: Member, block: str, rows: BlockRows) -> None:
    """Raise unless enough complete rows are left to be summed."""
    complete = int((~np.isnan(rows.values).any(axis=1)).sum())
    if complete < max(member.policy.rows, 1):
        raise DataError(
            f"{complete} complete rows of block {block!r} of site {member.site!r} would be summed and "
            f"{max(member.policy.rows, 1)} are needed; take the whole block out, or leave it out until there are more"
        )


def _purpose(member: Member, block: str, toggled: Collection[Mark]) -> Purpose:
    """Why a contribution is made; an erasure that never arrived is still one."""
    waiting = member.log.outbox(block)
    if member.log.pending(block) or (waiting is not None and read_contribution(waiting).purpose == "erase"):
        return "erase"
    return "rows" if toggled or member.log.present(block) is None else "values"
