r"""How a symmetric tensor of order 4 over (1, z) is packed: every entry once, block after block.

The block of a second index b holds the entries (a, b) x (c, d) with :math:`a \le b \le c \le d`: a matrix whose rows
are the pairs (0, b) .. (b, b) and whose columns are all pairs from (b, b) on, as `pair_index` numbers them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fedrcd.statistics.pair_index import pair_index
from fedrcd.typing import IntVector, Matrix, Vector


class PackedBlock(NamedTuple):
    """Entries (0..second, second) x right of the packed tensor."""

    second: int
    right: slice
    place: slice


@lru_cache(maxsize=128)
def packed_blocks(p: int) -> tuple[PackedBlock, ...]:
    """Where each block of the packed sums of p variables stands."""
    index = pair_index(p + 1)
    blocks, at = [], 0
    for b in range(p + 1):
        right = slice(int(index.number[b, b]), index.size)
        size = (b + 1) * (right.stop - right.start)
        blocks.append(PackedBlock(b, right, slice(at, at + size)))
        at += size
    return tuple(blocks)


@lru_cache(maxsize=128)
def packed_degrees(p: int) -> IntVector:
    """How many variables each packed entry multiplies, 0 to 4."""
    held = (pair_index(p + 1).first > 0).astype(np.int64) + (pair_index(p + 1).second > 0)
    degrees = pack(p, held[:, None] + held)  # type: ignore[arg-type]
    degrees.flags.writeable = False
    return degrees  # type: ignore[return-value]


def unpack(p: int, packed: Vector) -> Matrix:
    """Packed entries as a symmetric matrix over pairs of (1, z)."""
    index = pair_index(p + 1)
    matrix = np.empty((index.size, index.size), packed.dtype)
    number = index.number
    for block in packed_blocks(p):
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
    number = pair_index(p + 1).number
    blocks = [matrix[number[: block.second + 1, block.second], block.right].ravel() for block in packed_blocks(p)]
    return np.concatenate(blocks)
