"""Sets of rows by their places in a table: a bit a row, so that those of a large table fit into memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import Chunk
from fedrcd.typing import BoolMatrix, IntVector

BYTES_AT_ONCE = 2**13

ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)
"""How many bits of a byte are set."""


class RowPlaces:
    """A set of places that grows."""

    def __init__(self, places: IntVector | None = None) -> None:
        self._bits = np.zeros(0, dtype=np.uint8)
        if places is not None:
            self.add(places)

    def __len__(self) -> int:
        return int(ONES[self._bits].sum(dtype=np.int64))

    def add(self, places: IntVector) -> None:
        """Take in places."""
        if not len(places):
            return
        needed = int(places.max()) // 8 + 1
        if needed > len(self._bits):
            self._bits = np.concatenate([self._bits, np.zeros(max(needed, len(self._bits)), dtype=np.uint8)])
        np.bitwise_or.at(self._bits, places >> 3, _bit(places))

    def holds(self, places: IntVector) -> npt.NDArray[np.bool_]:
        """Which places are in it."""
        byte = places >> 3
        inside = byte < len(self._bits)
        found: npt.NDArray[np.bool_] = inside.copy()
        found[inside] = (self._bits[byte[inside]] & _bit(places[inside])) != 0
        return found

    def chosen(self, chunk: Chunk) -> BoolMatrix:
        """Which rows of a chunk are at these places."""
        assert chunk.places is not None
        return self.holds(chunk.places)

    def in_order(self) -> Iterator[IntVector]:
        """All places, ascending, some at a time."""
        for first in range(0, len(self._bits), BYTES_AT_ONCE):
            bits = np.unpackbits(self._bits[first : first + BYTES_AT_ONCE], bitorder="little")
            yield np.flatnonzero(bits) + 8 * first

    def several(self, most: int) -> RowPlaces:
        """At most so many of them, all along."""
        if (count := len(self)) <= most:
            return self
        wanted, passed, found = np.linspace(0, count - 1, most).astype(int), 0, RowPlaces()
        for places in self.in_order():
            here = wanted[(wanted >= passed) & (wanted < passed + len(places))] - passed
            found.add(places[here])
            passed += len(places)
        return found


def _bit(places: IntVector) -> npt.NDArray[np.uint8]:
    bits: npt.NDArray[np.uint8] = np.left_shift(1, places & 7).astype(np.uint8)
    return bits
