"""Rows known by keyed marks: whoever has not the key can neither read a mark nor test a guess.

A row has two marks: one of its person (the identifier), one of the row itself (identifier and values). Marks depend on
no name of a block, a site or a run: renaming any of these changes nothing. Where rows have no identifiers, equal rows
are told apart by counting them: the second one has another mark than the first.
"""

from __future__ import annotations

import hashlib
import hmac
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import Chunk
from fedrcd.typing import IntVector, Matrix

MARK_BYTES = 16
Mark = bytes

MarkVector: TypeAlias = npt.NDArray[Any]
"""Marks of several rows, of type S16; shape (n,)."""

BUCKETS = 16
"""Marks are worked on in so many parts, by their first four bits: a part of a large table fits into memory."""

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


def bucket_of(marks: MarkVector) -> IntVector:
    """The part that each mark belongs to."""
    first = np.frombuffer(marks.tobytes(), dtype=np.uint8)[::MARK_BYTES]
    return (first >> 4).astype(np.int64)


class Spool:
    """Records of one type that begin with a mark, by bucket; beyond a limit in files that vanish when it is closed."""

    def __init__(self, dtype: np.dtype[Any], limit: int = IN_MEMORY) -> None:
        self.dtype, self.limit, self.count = dtype, limit, 0
        self._held: list[list[npt.NDArray[Any]]] = [[] for _ in range(BUCKETS)]
        self._files: list[IO[bytes] | None] = [None] * BUCKETS
        self._in_memory = 0

    def add(self, records: npt.NDArray[Any]) -> None:
        """Take records in, in any order."""
        name = (self.dtype.names or ("",))[0]
        buckets = bucket_of(np.ascontiguousarray(records[name]))
        for bucket in np.unique(buckets).tolist():
            self._held[bucket].append(records[buckets == bucket])
        self.count += len(records)
        self._in_memory += len(records)
        if self._in_memory > self.limit:
            self._spill()

    def bucket(self, number: int) -> npt.NDArray[Any]:
        """All records of one bucket, sorted by their marks."""
        parts = list(self._held[number])
        file = self._files[number]
        if file is not None:
            file.seek(0)
            parts.insert(0, np.frombuffer(file.read(), dtype=self.dtype))
        together = np.concatenate(parts) if parts else np.empty(0, dtype=self.dtype)
        return together[np.argsort(together[(self.dtype.names or ("",))[0]], kind="stable")]

    def buckets(self) -> Iterator[npt.NDArray[Any]]:
        """The records of every bucket, one bucket after the other."""
        return (self.bucket(number) for number in range(BUCKETS))

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files:
            if file is not None:
                file.close()

    def _spill(self) -> None:
        for number, parts in enumerate(self._held):
            if parts:
                file = self._files[number] or tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
                self._files[number] = file
                file.seek(0, 2)
                file.write(np.concatenate(parts).tobytes())
                parts.clear()
        self._in_memory = 0
