"""Who is in a table: a pass over the rows of a block that notes marks of persons and of rows, in bounded memory."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import count_rows, numbered
from fedrcd.data.table import Table
from fedrcd.federation.site.editions.row_marks import Marker, MarkVector, Spool, buckets_for, told_apart
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.typing import IntVector, Matrix

BY_ROW = np.dtype([("row", "S16"), ("place", np.int64)])
BY_PERSON = np.dtype([("person", "S16"), ("row", "S16"), ("place", np.int64)])
PERSON = np.dtype([("person", "S16")])


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """The rows of a block that would be summed, by marks.

    `table` has these rows; `persons` is how many people they are of, `most` the most rows of one of them. `there` are
    the persons of the whole table, also those whose rows are not summed now: who lacks a value is not gone.
    """

    table: Table
    block_rows: int
    """Rows of the block, also those that are not summed."""
    persons: int
    most: int
    by_row: Spool
    by_person: Spool | None
    """None where rows have no identifiers."""
    there: Spool | None

    @property
    def rows(self) -> int:
        """How many they are."""
        return self.by_row.count

    def marks(self, bucket: int, buckets: int) -> tuple[MarkVector, IntVector]:
        """The marks of rows in a bucket, sorted and told apart, and the places of the rows."""
        records = self.by_row.bucket(bucket, buckets)
        marks, order = told_apart(np.ascontiguousarray(records["row"]))
        return marks, np.ascontiguousarray(records["place"][order])

    def values_at(self, places: RowPlaces) -> Matrix:
        """The values of the rows at some places, in the order of the table; takes a pass."""
        return np.concatenate([np.empty((0, len(self.table.columns))), *self.chunks_at(places)])

    def chunks_at(self, places: RowPlaces) -> Iterator[Matrix]:
        """The values of the rows at some places, some at a time; takes a pass."""
        for chunk in numbered(self.table.chunks()):
            wanted = places.chosen(chunk)
            if wanted.any():
                yield chunk.values[wanted]

    def tag(self) -> str:
        """Tells these rows from all others, in whatever order they lie."""
        state, buckets = hashlib.sha256(), buckets_for(self.rows)
        for bucket in range(buckets):
            state.update(self.marks(bucket, buckets)[0].tobytes())
        return state.hexdigest()

    def close(self) -> None:
        """Let go of what lies on the disk."""
        for spool in (self.by_row, self.by_person, self.there):
            if spool is not None:
                spool.close()


def take_census(whole: Table, summed: Table, marker: Marker) -> Census:
    """The census of a block: of all its rows that were not erased, and of those that would be summed."""
    by_row, identified = Spool(BY_ROW), summed.identified
    by_person = Spool(BY_PERSON) if identified else None
    there = Spool(PERSON) if identified and whole is not summed else None
    for chunk in numbered(summed.chunks()):
        persons = None if chunk.ids is None else marker.of_ids(chunk.ids)
        marks = marker.of_rows(summed.columns, chunk, persons)
        by_row.add(as_records(BY_ROW, row=marks, place=chunk.places))
        if by_person is not None:
            by_person.add(as_records(BY_PERSON, person=persons, row=marks, place=chunk.places))
    if there is not None:
        for chunk in whole.chunks():
            there.add(as_records(PERSON, person=marker.of_ids(chunk.ids or ())))
    number, most = _counted(by_person) if by_person is not None else (by_row.count, 1)
    return Census(summed, count_rows(whole), number, most, by_row, by_person, by_person if there is None else there)


def _counted(by_person: Spool) -> tuple[int, int]:
    """How many persons there are, and the most rows of one."""
    persons, most, buckets = 0, 1, buckets_for(by_person.count)
    for bucket in range(buckets):
        _, times = np.unique(by_person.bucket(bucket, buckets)["person"], return_counts=True)
        persons, most = persons + len(times), max(most, int(times.max(initial=1)))
    return persons, most


def as_records(dtype: np.dtype[Any], **parts: Any) -> npt.NDArray[Any]:
    """Records of a type out of their parts."""
    records = np.empty(len(next(iter(parts.values()))), dtype=dtype)
    for name, part in parts.items():
        records[name] = part
    return records


def fingerprint(table: Table, key: bytes) -> str:
    """A tag of rows as they lie, keyed so that nobody else can guess rows by it: the same rows have the same."""
    state = hmac.new(key, digestmod=hashlib.sha256)
    state.update(repr((table.columns, count_rows(table), table.identified)).encode())
    for chunk in table.chunks():
        state.update(np.ascontiguousarray(chunk.values).data)
        for one in chunk.ids or ():
            state.update(one.encode() + b"\0")
    return state.hexdigest()
