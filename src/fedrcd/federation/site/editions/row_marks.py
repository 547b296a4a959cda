"""Rows known by keyed marks: whoever has not the key can neither read a mark nor test a guess.

A row has two marks: one of its person (the identifier), one of the row itself (identifier and values). Marks depend on
no name of a block, a site or a run: renaming any of these changes nothing. Where rows have no identifiers, equal rows
are told apart by counting them: the second one has another mark than the first.
"""

from __future__ import annotations

import hashlib
import hmac
import tempfile
from collections.abc import Iterable, Sequence
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import Chunk
from fedrcd.typing import IntVector, Matrix

MARK_BYTES = 16
Mark = bytes

MarkVector: TypeAlias = npt.NDArray[Any]
"""Marks of several rows, of type S16; shape (n,)."""

LEAST_BUCKETS, SEVERAL_BUCKETS, MOST_BUCKETS = 1, 16, 4096
"""Marks are worked on in buckets, by their first bits; a store has more of them, the more rows it knows."""

FEW_MARKS = 2**13
"""A table of so few rows needs no buckets: going through them would take longer than what is done in each."""

MARKS_PER_BUCKET = 2**17
"""Where a table has more rows than that for every bucket, its store gets more buckets."""

IN_MEMORY = 2**17
"""Marks that a `Spool` holds in memory."""


class Marker:
    """Makes marks by a key of the site."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self._of_ids = hashlib.blake2b(key=key, digest_size=MARK_BYTES, person=b"fedrcd person")

    def of_id(self, identifier: str) -> Mark:
        """The mark of an identifier."""
        state = self._of_ids.copy()
        state.update(identifier.encode())
        return state.digest()

    def of_ids(self, identifiers: Iterable[str]) -> MarkVector:
        """The marks of identifiers."""
        return as_marks(b"".join(map(self.of_id, identifiers)))

    def of_rows(self, columns: Sequence[str], chunk: Chunk, persons: MarkVector | None) -> MarkVector:
        """The marks of rows: of their values, column by column whatever their order, and of their persons, if any."""
        order = sorted(range(len(columns)), key=columns.__getitem__)
        names = "\0".join(columns[j] for j in order).encode()
        key = hmac.new(self.key, b"fedrcd rows\0" + names, hashlib.sha256).digest()
        raw, width = (chunk.values[:, order] + 0.0).tobytes(), 8 * len(columns)  # minus zero is zero
        who = b"" if persons is None else persons.tobytes()
        state = hashlib.blake2b(key=key, digest_size=MARK_BYTES, person=b"fedrcd row")
        digests = []
        for k in range(len(chunk.values)):
            one = state.copy()
            one.update(who[MARK_BYTES * k : MARK_BYTES * (k + 1)])
            one.update(raw[width * k : width * (k + 1)])
            digests.append(one.digest())
        return as_marks(b"".join(digests))

    def of_cells(self, columns: Sequence[str], values: Matrix) -> npt.NDArray[np.uint64]:
        """A mark of 8 bytes of every single value, shape (n, p): values of different columns are never the same."""
        cells = np.empty(values.shape, dtype=np.uint64)
        for j, name in enumerate(columns):
            state = hashlib.blake2b(name.encode(), key=self.key, digest_size=8, person=b"fedrcd cell")
            raw = (values[:, j] + 0.0).tobytes()
            for k in range(len(values)):
                one = state.copy()
                one.update(raw[8 * k : 8 * k + 8])
                cells[k, j] = int.from_bytes(one.digest(), "little")
        return cells

    def of_id_in_block(self, block: str, identifier: str) -> Mark:
        """The mark of an identifier as stores made before editions hold it: by block."""
        parts = (b"id", block.encode(), identifier.encode())
        framed = b"".join(piece for part in parts for piece in (len(part).to_bytes(8, "little"), part))
        return hashlib.blake2b(framed, key=self.key, digest_size=MARK_BYTES).digest()


def as_marks(joined: bytes) -> MarkVector:
    """The marks in one string of bytes."""
    return np.frombuffer(joined, dtype=f"S{MARK_BYTES}")


NOBODY: MarkVector = as_marks(b"")


def is_among(marks: MarkVector, others: MarkVector) -> npt.NDArray[np.bool_]:
    """Which marks are among others, which are sorted."""
    return place_among(marks, others) >= 0


def place_among(marks: MarkVector, others: MarkVector) -> IntVector:
    """Where marks are among others, which are sorted; -1 where they are not."""
    if not len(others):
        return np.full(len(marks), -1, dtype=np.int64)
    marks = np.ascontiguousarray(marks)
    places = np.minimum(np.searchsorted(others, marks), len(others) - 1)
    return np.where(others[places] == marks, places, -1).astype(np.int64)


def told_apart(marks: MarkVector) -> tuple[MarkVector, IntVector]:
    """Sorted marks, of which the second, third, ... of equal ones have a mark of their own; and the order of before."""
    places = np.arange(len(marks))
    if len(marks) < 2 or not (marks[1:] == marks[:-1]).any():
        return marks, places
    first = np.concatenate([[True], marks[1:] != marks[:-1]])
    times = places - np.maximum.accumulate(np.where(first, places, 0))
    raw = np.frombuffer(marks.tobytes(), dtype=np.uint8).reshape(-1, MARK_BYTES).copy()
    raw[:, -4:] ^= times.astype(">u4").view(np.uint8).reshape(-1, 4)
    apart = as_marks(raw.tobytes())
    order = np.argsort(apart, kind="stable")
    return apart[order], order


def bucket_of(marks: MarkVector, buckets: int) -> IntVector:
    """The bucket that each mark belongs to, of so many."""
    first = np.frombuffer(marks.tobytes(), dtype=">u2")[:: MARK_BYTES // 2]
    return (first.astype(np.int64) * buckets) >> 16


def buckets_for(rows: int) -> int:
    """How many buckets are enough for a table of so many rows."""
    if rows <= min(FEW_MARKS, MARKS_PER_BUCKET):
        return LEAST_BUCKETS
    buckets = SEVERAL_BUCKETS
    while buckets < MOST_BUCKETS and rows > buckets * MARKS_PER_BUCKET:
        buckets *= SEVERAL_BUCKETS
    return buckets


class SpoolRun(NamedTuple):
    """Records in the order of their buckets, of the most there may be, and where each bucket begins.

    They lie in memory, or in the file of the spool from a byte on.
    """

    starts: IntVector
    held: npt.NDArray[Any] | None
    offset: int


class Spool:
    """Records of one type that begin with a mark, by bucket; beyond a limit in a file that vanishes with it."""

    def __init__(self, dtype: np.dtype[Any], limit: int | None = None) -> None:
        self.dtype, self.limit, self.count = dtype, IN_MEMORY if limit is None else limit, 0
        self._name = (dtype.names or ("",))[0]
        self._new: list[npt.NDArray[Any]] = []
        self._runs: list[SpoolRun] = []
        self._file: IO[bytes] | None = None

    def add(self, records: npt.NDArray[Any]) -> None:
        """Take records in, in any order."""
        self._new.append(records)
        self.count += len(records)
        if sum(map(len, self._new)) > self.limit:
            self._settle(spill=True)

    def bucket(self, number: int, buckets: int) -> npt.NDArray[Any]:
        """All records of one bucket, of so many, sorted by their marks."""
        if self._new:
            self._settle(spill=False)
        width = MOST_BUCKETS // buckets
        parts = [np.empty(0, dtype=self.dtype)]
        for run in self._runs:
            first, last = (int(run.starts[width * one]) for one in (number, number + 1))
            if first < last:
                parts.append(self._read(run, first, last))
        together = np.concatenate(parts)
        return together[np.argsort(together[self._name], kind="stable")]

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _read(self, run: SpoolRun, first: int, last: int) -> npt.NDArray[Any]:
        if run.held is not None:
            return run.held[first:last]
        assert self._file is not None
        self._file.seek(run.offset + first * self.dtype.itemsize)
        return np.frombuffer(self._file.read((last - first) * self.dtype.itemsize), dtype=self.dtype)

    def _settle(self, *, spill: bool) -> None:
        """Put what came in the order of buckets."""
        records = np.concatenate(self._new)
        self._new.clear()
        buckets = bucket_of(np.ascontiguousarray(records[self._name]), MOST_BUCKETS)
        records = records[np.argsort(buckets, kind="stable")]
        starts = np.zeros(MOST_BUCKETS + 1, dtype=np.int64)
        np.cumsum(np.bincount(buckets, minlength=MOST_BUCKETS), out=starts[1:])
        if not spill:
            self._runs.append(SpoolRun(starts, records, 0))
            return
        self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        offset = self._file.seek(0, 2)
        self._file.write(records.tobytes())
        self._runs.append(SpoolRun(starts.astype(np.int32), None, offset))
