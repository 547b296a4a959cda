"""Values of the rows of newest editions, as a table of a site's store: they are needed until a new edition is due.

Rows lie in parts of a few thousand, by the bucket of their person's mark. Whoever is erased is gone from here at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fedrcd.federation.database import Database
from fedrcd.federation.site.editions.row_marks import SEVERAL_BUCKETS, MarkVector, as_marks, bucket_of, is_among
from fedrcd.typing import BoolMatrix, IntVector, Matrix

SCHEMA = (
    "CREATE TABLE kept (edition INTEGER, bucket INTEGER, part INTEGER, persons BLOB NOT NULL, rows BLOB NOT NULL, "
    "spread BLOB NOT NULL, cells BLOB NOT NULL, PRIMARY KEY (edition, bucket, part))",
)

ROWS_PER_PART = 4096


class KeptRows(NamedTuple):
    """Some rows: marks of their persons and of the rows, the number that decides the group of each, and values."""

    persons: MarkVector
    rows: MarkVector
    spread: IntVector
    values: Matrix

    def keep(self, chosen: BoolMatrix | IntVector) -> KeptRows:
        """Some of them."""
        return KeptRows(*(np.ascontiguousarray(part[chosen]) for part in self))


class KeptValues:
    """The table in the open store of a site: rows by the number of the edition that they are of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _buckets(self) -> int:
        return self._database.layout or SEVERAL_BUCKETS

    def count(self, edition: int) -> int:
        """How many rows of an edition are kept."""
        query = "SELECT COALESCE(SUM(LENGTH(persons)), 0) / 16 FROM kept WHERE edition = ?"
        return int(next(self._database.rows(query, edition))[0])

    def marks(self, edition: int, bucket: int) -> tuple[MarkVector, MarkVector]:
        """Persons and rows in the bucket of their persons, in the order in which they are kept."""
        query = "SELECT persons, rows FROM kept WHERE edition = ? AND bucket = ? ORDER BY part"
        found = list(self._database.rows(query, edition, bucket))
        return as_marks(b"".join(one for one, _ in found)), as_marks(b"".join(rows for _, rows in found))

    def chunks(self, edition: int) -> Iterator[KeptRows]:
        """All rows, some at a time."""
        for bucket in range(self._buckets):
            for _, part in self._parts(edition, bucket):
                yield part

    def of_persons(self, edition: int, persons: MarkVector, p: int) -> KeptRows:
        """All rows of some persons."""
        found, persons = [_nothing(p)], np.sort(persons)
        for bucket in np.unique(bucket_of(persons, self._buckets)).tolist():
            for _, part in self._parts(edition, bucket):
                wanted = is_among(part.persons, persons)
                if wanted.any():
                    found.append(part.keep(wanted))
        return _together(found)

    def add(self, edition: int, new: KeptRows) -> None:
        """Keep more rows of an edition."""
        self._add(edition, new, self._buckets)

    def sort_anew(self, buckets: int) -> None:
        """Put all rows into so many buckets; inside a transaction."""
        self._database.run("UPDATE kept SET bucket = -1 - bucket")  # old numbers are not to meet new ones
        for key in list(self._database.rows("SELECT edition, bucket, part FROM kept")):
            where = "WHERE edition = ? AND bucket = ? AND part = ?"
            raw = next(self._database.rows(f"SELECT persons, rows, spread, cells FROM kept {where}", *key))
            self._database.run(f"DELETE FROM kept {where}", *key)
            self._add(key[0], _kept_rows(*raw), buckets)

    def _add(self, edition: int, new: KeptRows, number: int) -> None:
        buckets = bucket_of(new.persons, number)
        for bucket in np.unique(buckets).tolist():
            mine = new.keep(buckets == bucket)
            query = "SELECT COALESCE(MAX(part), 0) FROM kept WHERE edition = ? AND bucket = ?"
            part = int(next(self._database.rows(query, edition, bucket))[0])
            for first in range(0, len(mine.persons), ROWS_PER_PART):
                part += 1
                self._write(
                    edition, bucket, part, mine.keep(np.arange(first, min(first + ROWS_PER_PART, len(mine.rows))))
                )

    def drop(self, edition: int, persons: MarkVector, rows: MarkVector | None = None) -> None:
        """Delete all rows of persons, or those among some rows; both are given sorted."""
        for bucket in np.unique(bucket_of(persons, self._buckets)).tolist():
            for number, part in list(self._parts(edition, bucket)):
                leaving = is_among(part.persons, persons)
                if rows is not None:
                    leaving &= is_among(part.rows, rows)
                if leaving.all():
                    self._database.run(
                        "DELETE FROM kept WHERE edition = ? AND bucket = ? AND part = ?", edition, bucket, number
                    )
                elif leaving.any():
                    self._write(edition, bucket, number, part.keep(~leaving))

    def move(self, former: int, edition: int) -> None:
        """The rows of an edition are now those of the one that replaces it."""
        self._database.run("UPDATE kept SET edition = ? WHERE edition = ?", edition, former)

    def clear(self, edition: int) -> None:
        """Delete all rows of an edition."""
        self._database.run("DELETE FROM kept WHERE edition = ?", edition)

    def _parts(self, edition: int, bucket: int) -> Iterator[tuple[int, KeptRows]]:
        query = "SELECT part, persons, rows, spread, cells FROM kept WHERE edition = ? AND bucket = ? ORDER BY part"
        for part, persons, rows, spread, cells in self._database.rows(query, edition, bucket):
            yield part, _kept_rows(persons, rows, spread, cells)

    def _write(self, edition: int, bucket: int, part: int, rows: KeptRows) -> None:
        statement = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._database.run(statement, edition, bucket, part, *(one.tobytes() for one in rows))


def _kept_rows(persons: bytes, rows: bytes, spread: bytes, cells: bytes) -> KeptRows:
    """Rows as they are written."""
    who = as_marks(persons)
    return KeptRows(
        who, as_marks(rows), np.frombuffer(spread, dtype=np.int64), np.frombuffer(cells).reshape(len(who), -1)
    )


def _nothing(p: int) -> KeptRows:
    return KeptRows(as_marks(b""), as_marks(b""), np.empty(0, dtype=np.int64), np.empty((0, p)))


def _together(parts: list[KeptRows]) -> KeptRows:
    return KeptRows(*(np.concatenate(several) for several in zip(*parts, strict=True)))
