"""Persons whose rows take no part any more, as a table of a site's store: erased ones, and those left out for good."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date

from fedrcd.federation.database import Database
from fedrcd.federation.site.editions.row_marks import Mark, MarkVector, as_marks

SCHEMA = (
    "CREATE TABLE struck (person BLOB, block TEXT, reason TEXT NOT NULL, due TEXT NOT NULL, editions TEXT NOT NULL, "
    "PRIMARY KEY (person, block)) WITHOUT ROWID",
)

ERASED, WITHHELD = "erased", "withheld"
"""Why a person takes no part: by request, or to hide others among."""

STRIKE = (
    "INSERT INTO struck VALUES (?, ?, ?, ?, ?) ON CONFLICT (person, block) DO UPDATE SET reason = excluded.reason, "
    f"due = excluded.due, editions = excluded.editions WHERE reason = '{WITHHELD}' AND excluded.reason = '{ERASED}'"
)
"""Whoever was left out may be erased later; nobody is struck twice otherwise."""

EVERYWHERE = ""
"""In place of a block: marks that depend on none. Stores made before editions had marks by block."""


class StruckRows:
    """The table in the open store of a site."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def strike(self, persons: Iterable[Mark], reason: str, due: date, editions: Iterable[int]) -> None:
        """Remember persons who take no part in any edition from now on; `editions` are the ones they are in."""
        numbers = json.dumps(sorted(editions))
        rows = ((one, EVERYWHERE, reason, due.isoformat(), numbers) for one in persons)
        self._database.run_many(STRIKE, rows)

    def persons(self) -> MarkVector:
        """All of them, sorted."""
        return self._marks("SELECT person FROM struck WHERE block = ? ORDER BY 1", EVERYWHERE)

    def erased(self) -> MarkVector:
        """Those who were erased by request, sorted."""
        return self._marks("SELECT person FROM struck WHERE block = ? AND reason = ? ORDER BY 1", EVERYWHERE, ERASED)

    def _marks(self, query: str, *values: str) -> MarkVector:
        return as_marks(b"".join(bytes(one) for (one,) in self._database.rows(query, *values)))

    def by_block(self) -> Mapping[str, frozenset[Mark]]:
        """Those that are known by the block they were in when they were erased."""
        found: dict[str, set[Mark]] = {}
        for person, block in self._database.rows("SELECT person, block FROM struck WHERE block <> ?", EVERYWHERE):
            found.setdefault(str(block), set()).add(bytes(person))
        return {block: frozenset(marks) for block, marks in found.items()}

    def __bool__(self) -> bool:
        return any(True for _ in self._database.rows("SELECT 1 FROM struck LIMIT 1"))

    def pending(self, others: Iterable[int] = ()) -> dict[Mark, date]:
        """Erased persons who are in a current edition, or in others, with the date until which they are at most."""
        current = {int(one) for (one,) in self._database.rows("SELECT number FROM editions WHERE current = 1")}
        current |= set(others)
        rows = self._database.rows("SELECT person, due, editions FROM struck WHERE reason = ?", ERASED)
        return {bytes(one): date.fromisoformat(due) for one, due, numbers in rows if current & set(json.loads(numbers))}

    def erased_from(self, edition: int) -> int:
        """How many of the persons of an edition were erased."""
        rows = self._database.rows("SELECT editions FROM struck WHERE reason = ?", ERASED)
        return sum(edition in json.loads(numbers) for (numbers,) in rows)

    def take_in(self, rows: Iterable[tuple[object, ...]]) -> None:
        """Take over persons that were struck, by block, in a store made before editions: block, mark, reason, due."""
        values = ((mark, block, reason, due, "[]") for block, mark, reason, due in rows)
        self._database.run_many("INSERT INTO struck VALUES (?, ?, ?, ?, ?)", values)
