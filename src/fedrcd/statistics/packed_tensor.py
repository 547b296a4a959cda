r"""How a symmetric tensor of order 4 over (1, z) is packed: every entry once, block after block.

The block of a second index b holds the entries (a, b) x (c, d) with :math:`a \le b \le c \le d`: a matrix whose rows
are the pairs (0, b) .. (b, b) and whose columns are all pairs from (b, b) on, as `pair_index` numbers them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fedrcd.statistics.pair_index import pair_index
from fedrcd.typing import IntMatrix, IntVector, Matrix, Vector


class PackedBlock(NamedTuple):
    """Entries (0..second, second) x right of the packed tensor."""

    second: int
    right: slice
    place: slice


@lru_cache(maxsize=128)
def symmetric_blocks(size: int) -> tuple[PackedBlock, ...]:
    """Where each block of a packed symmetric tensor over so many indices stands."""
    index = pair_index(size)
    blocks, at = [], 0
    for b in range(size):
        right = slice(int(index.number[b, b]), index.size)
        length = (b + 1) * (right.stop - right.start)
        blocks.append(PackedBlock(b, right, slice(at, at + length)))
        at += length
    return tuple(blocks)


def packed_blocks(p: int) -> tuple[PackedBlock, ...]:
    """Where each block of the packed sums of p variables stands."""
    return symmetric_blocks(p + 1)


def block_matrices(size: int, packed: Vector) -> list[Matrix]:
    """Views of the blocks of a packed tensor, by their second index b: rows (0, b) .. (b, b), pairs from (b, b) on."""
    return [packed[block.place].reshape(block.second + 1, -1) for block in symmetric_blocks(size)]


@lru_cache(maxsize=128)
def packed_degrees(p: int) -> IntVector:
    """How many variables each packed entry multiplies, 0 to 4."""
    held = (pair_index(p + 1).first > 0).astype(np.int64) + (pair_index(p + 1).second > 0)
    degrees = pack(p, held[:, None] + held)  # type: ignore[arg-type]
    degrees.flags.writeable = False
    return degrees  # type: ignore[return-value]


def unpack(p: int, packed: Vector) -> Matrix:
    """Packed entries as a symmetric matrix over pairs of (1, z)."""
    return unpack_symmetric(p + 1, packed)


def unpack_symmetric(size: int, packed: Vector) -> Matrix:
    """A packed symmetric tensor over so many indices as a matrix over pairs."""
    index = pair_index(size)
    matrix = np.empty((index.size, index.size), packed.dtype)
    number = index.number
    for block in symmetric_blocks(size):
        values = packed[block.place].reshape(block.second + 1, -1)
        b = block.second
        a = np.arange(b + 1)[:, None]
        c, d = index.first[block.right], index.second[block.right]
        for one, two in (
            (number[a, b], number[c, d]),
            (number[a, c], number[b, d]),
            (number[a, d], number[b, c]),
        ):
            matrix[one, two] = values
            matrix[two, one] = values
    return matrix


def pack(p: int, matrix: Matrix) -> Vector:
    """The packed entries of a symmetric matrix over pairs of (1, z)."""
    return pack_symmetric(p + 1, matrix)


def pack_symmetric(size: int, matrix: Matrix) -> Vector:
    """The packed entries of a symmetric tensor that is given as a matrix over pairs."""
    number = pair_index(size).number
    blocks = [matrix[number[: block.second + 1, block.second], block.right].ravel() for block in symmetric_blocks(size)]
    return np.concatenate(blocks)


@lru_cache(maxsize=8)
def pair_offsets(size: int) -> IntVector:
    """What must be added to the number of a pair (c, d) for the place of (a, b, c, d), by the number of (a, b)."""
    index = pair_index(size)
    offsets = np.empty(index.size, dtype=np.int64)
    for block in symmetric_blocks(size):
        length = block.right.stop - block.right.start
        rows = block.place.start + length * np.arange(block.second + 1) - block.right.start
        offsets[index.number[: block.second + 1, block.second]] = rows
    offsets.flags.writeable = False
    return offsets


def places_with(size: int, s: int, rest: IntVector) -> IntMatrix:
    """Where the entries with index s stand whose other indices are among `rest`, sorted: shape (pairs, len(rest))."""
    number, offsets = pair_index(size).number, pair_offsets(size)
    inner = pair_index(len(rest))
    first, second = rest[inner.first], rest[inner.second]
    low, high = np.minimum(s, first)[:, None], np.maximum(s, second)[:, None]
    middle = np.clip(s, first, second)[:, None]
    a, d = np.minimum(low, rest), np.maximum(high, rest)
    b, c = np.clip(rest, low, middle), np.clip(rest, middle, high)
    places: IntMatrix = offsets[number[a, b]] + number[c, d]
    return places
