"""What a site would answer about if it were asked now, and what waits: for people at the site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fedrcd.data.table import Table
from fedrcd.federation.rules import DEPTHS
from fedrcd.federation.site.editions.choosing import EditionWaits, Inquiry, PendingChange
from fedrcd.federation.site.editions.tables import Edition
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.store import FILL


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would be answered about, block by block, in words; empty if nothing would. `waiting` is held back."""

    blocks: tuple[str, ...]
    waiting: PendingChange | None

    @property
    def answers(self) -> bool:
        """Whether questions would be answered."""
        return bool(self.blocks)

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        waiting = None if self.waiting is None else self.waiting._asdict()
        if waiting is not None:
            waiting["due"] = None if waiting["due"] is None else waiting["due"].isoformat()
        return {"blocks": list(self.blocks), "waiting": waiting}


def outlook(door: Door, tables: Sequence[Table]) -> Outlook:
    """What would happen to the next question of the kind that was asked before; nothing is written."""
    store, sets = door.store, door.store.editions.sets()
    depth = max([DEPTHS[0], *(one.depth for one in sets)])
    asked = Inquiry(depth=depth, force=door.force, fill=door.fill or bool(store.permits(FILL)))
    try:
        with replace(door, dry_run=[]).chosen(asked, tables) as choice:
            words = tuple(
                f"block {one.rows.block}: {_in_words(one.edition, len(one.withheld))}" for one in choice.blocks
            )
            return Outlook(words, choice.waiting)
    except EditionWaits as waits:
        return Outlook((), waits.waiting)


def allow_next(door: Door, tables: Sequence[Table], *, now: bool = False, fill: bool = False) -> bool:
    """Allow the next edition not to wait, if anything waits; `now` is allowed for the rows as they are alone."""
    if outlook(door, tables).waiting is None:
        return False
    if now:
        door.allow(tables)
    if fill:
        door.store.permit(FILL)
    return True


def _in_words(edition: Edition | None, withheld: int) -> str:
    if edition is not None:
        return f"edition {edition.number}, {edition.rows:,} rows"
    beside = f", without {withheld} persons who are left out for good" if withheld else ""
    return f"a new edition of the rows as they are{beside}"


def edition_record(door: Door, edition: Edition) -> dict[str, Any]:
    """An edition for programs: what it is, and what left about it."""
    store = door.store
    mine = [one for one in store.editions.sets() if one.edition == edition.number]
    numbers = {entry.answer: entry.numbers for entry in store.entries() if entry.version == edition.label}
    content = {name: value for name, value in asdict(edition).items() if name not in {"line", "label"}}
    return {
        **content,
        "columns": list(edition.columns),
        "depth": max(one.depth for one in mine),
        "groups": sorted({one.parts for one in mine} - {0}),
        "numbers": sum(numbers.values()),
    }
