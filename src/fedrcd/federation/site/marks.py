"""Rows known by keyed marks: whoever has not the key can neither read a mark nor test a guess."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress

from fedrcd.data.rows import Chunk, Rows
from fedrcd.typing import BoolMatrix

MARK_BYTES = 16

Mark = bytes


@dataclass(frozen=True, slots=True)
class Marks:
    """Rows of one block: marks of identifiers, and of identifiers with values."""

    ids: tuple[Mark, ...]
    """Empty where rows have no identifiers."""
    rows: tuple[Mark, ...]

    def keep(self, kept: BoolMatrix) -> Marks:
        """The marks of some of the rows."""
        return Marks(tuple(compress(self.ids, kept)), tuple(compress(self.rows, kept)))

    def changed(self, other: Marks) -> int:
        """Rows that are in one but not, or not with the same values, in the other."""
        mine, theirs = Counter(self.rows), Counter(other.rows)
        return (mine - theirs).total() + (theirs - mine).total()


@dataclass(frozen=True, slots=True)
class Marker:
    """Makes marks by a key of the site."""

    key: bytes

    def of_id(self, block: str, row: str) -> Mark:
        """The mark of an identifier."""
        return self._mark(b"id", block.encode(), row.encode())

    def of_ids(self, block: str, chunk: Chunk) -> list[Mark]:
        """The marks of the identifiers of some rows; none where they have none."""
        return [self.of_id(block, one) for one in chunk.ids or ()]

    def of_rows(self, block: str, rows: Rows) -> Marks:
        """The marks of rows, in their order."""
        ids: list[Mark] = []
        marks: list[Mark] = []
        for chunk in rows.chunks():
            mine = self.of_ids(block, chunk)
            named = mine or [block.encode()] * len(chunk.values)
            values = (memoryview(one).cast("B") for one in chunk.values)
            marks += [self._mark(b"row", name, one) for name, one in zip(named, values, strict=True)]
            ids += mine
        return Marks(tuple(ids), tuple(marks))

    def _mark(self, *parts: bytes | memoryview) -> Mark:
        framed = b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "little"), part)])
        return hashlib.blake2b(framed, key=self.key, digest_size=MARK_BYTES).digest()


def joined(marks: Iterable[Mark]) -> bytes:
    """Marks as one blob, in an order that tells nothing."""
    return b"".join(sorted(marks))


def split(blob: bytes) -> list[Mark]:
    """The marks in a blob."""
    return [bytes(blob[k : k + MARK_BYTES]) for k in range(0, len(blob), MARK_BYTES)]
