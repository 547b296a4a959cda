"""What a site does when its rows change: erase some, send what remains in place of what it sent, or wait.

An erasure is never sent as such. The site sums its remaining rows anew and sends that in place of its former
contribution; the rows that left are in no message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from fedrcd.data.rows import count_rows, is_complete
from fedrcd.data.site_file import require_identified
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import Contribution, Purpose, read_contribution
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.site.contributing import contribute, ledger_questions
from fedrcd.federation.site.editions.choosing import EditionChoice, EditionChooser, EditionWaits, PendingChange
from fedrcd.federation.site.editions.row_marks import MarkVector, as_marks, is_among
from fedrcd.federation.site.editions.rows import are_remembered, forget_values
from fedrcd.federation.site.editions.tables import Edition
from fedrcd.federation.site.log import STRUCK, LogEntry
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.sent_contributions import Sent
from fedrcd.federation.site.store import Store
from fedrcd.federation.site.struck_rows import ERASED
from fedrcd.protocol.questions import TENSOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A site of a federation that has a ledger: its door, and what the ledger holds."""

    door: Door
    configuration: Configuration
    groups: int = 0
    """Of how many groups of rows the ledger holds sums; 0 for none."""
    key: SiteKey | None = None
    approves: bool = False
    """Whether what it contributes waits for a person, where its door asks for that: a command is a person's word."""

    @property
    def site(self) -> str:
        """Its name."""
        return self.door.site

    @property
    def store(self) -> Store:
        """What it remembers."""
        return self.door.store


@dataclass(frozen=True, slots=True)
class Renewal:
    """What became of a block: a contribution to send, or why there is none; `waiting` is what was held back.

    `withheld` persons were left out at random beside those to be erased.
    """

    block: str
    contribution: Contribution | None
    waiting: PendingChange | None = None
    withheld: int = 0

    @property
    def is_waiting(self) -> bool:
        """Whether something changed and was held back."""
        return self.waiting is not None


def strike_rows(door: Door, tables: Sequence[Table], ids: Collection[str], today: date) -> int:
    """Erase persons, by their identifiers; nobody is unless all can be. Returns how many there were.

    From here on they are in no edition that is made, whatever the table says. Their values are deleted where the store
    keeps them, and so are answers that are about them. Who was deleted from the table before can be erased, too, as
    long as the store remembers that person.

    Raises
    ------
    DataError
        When somebody is neither in the table nor in the store or was erased before, or nobody is named at all.
    """
    require_identified(tables)
    store, source = door.store, tables[0].source
    if not ids:
        raise DataError(f"no row of {source} is to be erased; look at the condition or the list")
    named = sorted(set(ids))
    absent = set(named).difference(*map(_identifiers, tables))
    unknown = len(absent) - int(are_remembered(store, store.marker.of_ids(sorted(absent))).sum())
    if unknown:
        raise DataError(
            f"{unknown} of {len(named)} rows to erase are not in {source}, nor in anything that was answered about; "
            "nothing was erased"
        )
    persons = np.sort(store.marker.of_ids(named))
    waiting = np.sort(as_marks(b"".join(store.struck.pending())))
    done = is_among(persons, store.struck.erased()) & ~is_among(persons, waiting)
    if done.any():
        raise DataError(f"{int(done.sum())} of the rows to erase were erased before")
    for table in tables:
        _require_enough(door, table.select(lambda chunk: ~is_among(store.marker.of_ids(chunk.ids or ()), persons)))
    strike_persons(door, persons[~is_among(persons, waiting)], today + door.rules.longest_wait)
    return len(named)


def strike_persons(door: Door, persons: MarkVector, due: date) -> None:
    """Write down who was erased, and forget their values."""
    store, tables = door.store, door.store.editions
    editions, missed = tables.editions(), tables.missed()
    current = [edition for edition in editions if edition.current]

    def write() -> None:
        for person in (persons[k : k + 1] for k in range(len(persons))):
            mark = person.tobytes()
            held = [one for one in current if len(store.kept.of_persons(one.number, person, len(one.columns)).rows)]
            away = {missed[mark][0]} if mark in missed else set()  # gone from the table before, values and all
            store.struck.strike([mark], ERASED, due, away | {edition.number for edition in held})
            for edition in held:
                forget_values(store, edition, person, links=False)
            tables.blind(mark, store.surroundings.token_bytes)
        tables.forget_answers(edition.label for edition in editions)

    # The log tells of it, so that a copy of the store from before is not taken for the store.
    told = LogEntry(time=store.now(), round=0, question=f"{len(persons)} persons erased", outcome=STRUCK)
    store.append([told] if len(persons) else [], write)


def _identifiers(table: Table) -> set[str]:
    return {one for chunk in table.chunks() for one in chunk.ids or ()}


def renew(member: Member, table: Table, today: date, *, again: bool = False, rejoin: bool = False) -> Renewal:
    """The contribution that should replace the last one for a block, recorded in the log; or none yet.

    Parameters
    ----------
    member : Member
        The site. Its door may have a person's word not to wait (`force`), or to leave others out (`fill`).
    table : Table
        The rows of the block as the site has them; erased ones are left out here.
    today : date
        When it is made.
    again : bool
        Make the contribution even if nothing changed.
    rejoin : bool
        Bring the block back if it was taken out.
    """
    block, store = table.block, member.store
    returns = store.sent.is_withdrawn(block)
    if returns and not rejoin:
        raise ConfigError(f"block {block!r} of site {member.site!r} was taken out; bring it back with --rejoin")
    last = store.sent.latest(block)
    questions = ledger_questions(member.configuration, member.groups)
    known, waiting, withheld = False, None, 0
    try:
        with member.door.chosen(member.door.asked(questions), [table]) as choice:
            [chosen], waiting = choice.blocks, choice.waiting
            known = last is not None and _is_about(last, chosen.edition, store)
            withheld = len(chosen.withheld)
    except EditionWaits as waits:
        return Renewal(block, None, waits.waiting)
    except Refused:
        pass  # the door refuses again, and logs it
    if known and not (again or returns):
        return Renewal(block, _undelivered(store, block), waiting)
    return replace(_made(member, table, today), waiting=waiting, withheld=withheld)


def _is_about(last: Sent, edition: Edition | None, store: Store) -> bool:
    """Whether the last contribution for a block is about an edition, and no later one for its rows has another name."""
    if edition is None or edition.number != last.edition:
        return False
    newest = store.sent.newest_of({one.number for one in store.editions.editions() if one.line == edition.line})
    return newest == last


def require_newest(member: Member, versions: Mapping[str, int]) -> None:
    """Refuse if a ledger has a later contribution of the site, by block, than was ever made here."""
    for block, version in versions.items():
        made = member.store.sent.latest_version(block)
        if version > made and "history" not in member.door.rules.off:
            raise Refused(
                Refusal.LEDGER,
                f"the ledger has version {version} of block {block!r}, and the last that this store made is {made}: "
                f"{member.store.path} is an older copy, and what left since then is not in it; bring the newest back",
            )


def former_names(member: Member, renewals: Iterable[Renewal]) -> list[Sent]:
    """Contributions for blocks that the federation has no more, once those that it has are all contributed.

    Their rows are in those, or in nothing any more.
    """
    sent, declared = member.store.sent, member.door.federation.site(member.site).blocks
    complete = all(sent.latest(one.block) is not None for one in renewals)
    return sent.no_longer(declared) if complete else []


def _undelivered(store: Store, block: str) -> Contribution | None:
    """The last contribution, if it was made and never arrived."""
    waiting = store.sent.outbox(block)
    return None if waiting is None else read_contribution(waiting)


def _made(member: Member, table: Table, today: date) -> Renewal:
    """Have the door sum the rows; the contribution is recorded with the log of what left."""
    block, store = table.block, member.store

    def record(made: Contribution, edition: Edition) -> None:
        store.sent.record(made, edition.number, today)

    try:
        contribution = contribute(
            replace(member.door, approve=member.door.approve and member.approves),
            member.configuration,
            table,
            groups=member.groups,
            version=store.sent.latest_version(block) + 1,
            purpose=lambda choice: _purpose(member, block, choice),
            record=record,
        )
    except Refused as refused:
        if refused.code in {Refusal.ROWS, Refusal.TENSOR_ROWS}:
            _require_enough(member.door, member.door.unstruck(table), tensor=TENSOR in member.configuration.families)
        if not store.struck.pending():
            raise
        advice = (
            "the rows to be erased wait; take the whole block out with --block, or come back when more have changed"
        )
        raise Refused(refused.code, f"{refused}; {advice}") from None
    return Renewal(block, contribution)


def _require_enough(door: Door, table: Table, *, tensor: bool = False) -> None:
    """Raise unless enough complete rows are left to be summed."""
    rules, p = door.rules_for(door.most_rows(table)), len(table.columns)
    needed = max(rules.needed_rows(p), rules.needed_tensor_rows(p) if tensor else 0, 1)
    complete = count_rows(table.select(is_complete))
    if complete < needed:
        raise DataError(
            f"{complete} complete rows of block {table.block!r} of site {door.site!r} would be summed and "
            f"{needed} are needed; take the whole block out, or leave it out until there are more"
        )


def _purpose(member: Member, block: str, choice: EditionChoice) -> Purpose:
    """Why a contribution is made; an erasure that never arrived is still one."""
    store, [chosen] = member.store, choice.blocks
    last, waiting = store.sent.latest(block), store.sent.outbox(block)
    if waiting is not None and read_contribution(waiting).purpose == "erase":
        return "erase"
    if last is not None and store.struck.erased_from(last.edition):
        return "erase"
    change = EditionChooser(store, member.door.rules, member.site).difference(chosen)
    return "rows" if last is None or change.came or change.gone else "values"
