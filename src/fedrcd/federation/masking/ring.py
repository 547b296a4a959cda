"""Vectors of whole numbers modulo 2^128 or 2^64, where masks live.

A vector is an array of shape (length, words) of unsigned 64-bit words, the lowest first. Its bytes are little-endian.
Modulo 2^128 the sums of 2^36 rows on the fine grid fit with their signs; modulo 2^64 those of 2^22 rows on the compact
one, whose values have at most 10 bits and a sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.statistics.exact_sums import MOST_ROWS
from fedrcd.statistics.grid import ARITHMETIC, Grid
from fedrcd.statistics.limbs import PLANE
from fedrcd.typing import IntMatrix

Words = npt.NDArray[np.uint64]

WORD = 64
"""Bits of a word."""

LOW = np.uint64((1 << PLANE) - 1)
"""The bits that the low half of an exact sum holds."""


@dataclass(frozen=True, slots=True)
class Ring:
    """The whole numbers modulo 2^bits, and how many pooled rows fit into them."""

    bits: int
    most_rows: int

    @property
    def words(self) -> int:
        """Words of a number."""
        return self.bits // WORD

    @property
    def width(self) -> int:
        """Bytes of a number."""
        return self.bits // 8

    def zeros(self, length: int) -> Words:
        """A vector of zeros."""
        return np.zeros((length, self.words), dtype=np.uint64)

    def of_halves(self, low: Any, high: Any) -> Words:
        """Numbers low + 2^56 high, as exact sums keep them."""
        low, high = np.asarray(low).ravel(), np.asarray(high).ravel()
        lowest: Words = low.astype(np.uint64) + (high.astype(np.uint64) << np.uint64(PLANE))
        if self.words == 1:
            return lowest[:, None]
        carry = lowest < low.astype(np.uint64)
        upper = (high >> (WORD - PLANE)).astype(np.uint64) + carry
        return np.stack([lowest, upper], axis=1)

    def halves(self, vector: Words) -> tuple[IntMatrix, IntMatrix]:
        """Low and high halves of numbers with a sign; `StatisticError` if some are too large for exact sums."""
        low = (vector[:, 0] & LOW).astype(np.int64)
        if self.words == 1:
            return low, vector[:, 0].astype(np.int64) >> PLANE
        upper = vector[:, 1].astype(np.int64)
        if ((upper >> (PLANE - 1)) != (upper >> (WORD - 1))).any():
            raise StatisticError("the masks do not cancel, or the sums are too large")
        return low, (upper << (WORD - PLANE)) | (vector[:, 0] >> np.uint64(PLANE)).astype(np.int64)

    def add(self, one: Words, two: Words) -> Words:
        """The sum."""
        total = one + two
        if self.words > 1:
            total[:, 1] += total[:, 0] < two[:, 0]
        return total

    def subtract(self, one: Words, two: Words) -> Words:
        """The difference."""
        rest = one - two
        if self.words > 1:
            rest[:, 1] -= (one[:, 0] < two[:, 0]).astype(np.uint64)
        return rest

    def to_bytes(self, vector: Words) -> bytes:
        """The bytes of a vector, the lowest first."""
        return np.ascontiguousarray(vector).astype("<u8").tobytes()

    def from_bytes(self, data: bytes, length: int) -> Words:
        """The vector of so many numbers in bytes; `ProtocolError` unless there are exactly as many."""
        if len(data) != length * self.width:
            raise ProtocolError(f"a vector of {length} numbers takes {length * self.width} bytes, not {len(data)}")
        return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(length, self.words)


RINGS: Mapping[str, Ring] = {"exact": Ring(128, MOST_ROWS), "compact": Ring(64, 1 << 22)}
"""The ring of each way to sum exactly."""


def ring_of(grid: Grid | None) -> Ring:
    """The ring in which sums on a grid fit; `ProtocolError` for a grid that has none."""
    for arithmetic, ring in RINGS.items():
        if grid == ARITHMETIC[arithmetic]:
            return ring
    raise ProtocolError("only exact sums on a grid that is known can be masked")
