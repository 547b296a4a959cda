r"""Sums of products of pairs of columns, for every entry of a packed tensor, over blocks of rows.

Each block of the packed tensor is a matrix product of some columns :math:`z_a z_b` with others. A block by itself has
few columns, and such products are slow; all pairs with all pairs would do nearly three times the arithmetic. Tiles lie
between: they take the columns of a few blocks together and compute some entries near the diagonal twice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import comb, prod
from typing import NamedTuple

import numpy as np

from fedrcd.statistics.packed_tensor import packed_blocks
from fedrcd.statistics.pair_index import pair_index
from fedrcd.typing import IntVector, Matrix, Vector

COLUMNS_AT_ONCE = 100
"""Left-hand columns that one product takes at least: products with few columns are slow."""

COLUMNS_NEARBY = 30
"""The same for the right-hand columns near the diagonal, where products of many blocks hold entries twice."""

ROWS_AT_ONCE = 342
"""Rows per product; not a power of two, at which columns would compete for the same lines of the cache. Working memory
is this many rows of (p + 1)(p + 2)/2 products, 3.6 MB at p = 50, beside the sums themselves, 2.9 MB there."""


class Workspace(NamedTuple):
    """Arrays that all blocks of rows reuse; fresh ones would cost more than the products."""

    p: int
    z: Vector
    products: tuple[Vector, ...]
    totals: tuple[Totals, ...]

    def row_products(self, blocks: Iterable[Matrix]) -> Iterator[Matrix]:
        """The products of all pairs of (1, z) as rows, a few rows of the table at a time: shape (m, n)."""
        first_pair = pair_index(self.p + 1).number.diagonal()
        for block in blocks:
            for start in range(0, len(block), ROWS_AT_ONCE):
                rows = block[start : start + ROWS_AT_ONCE]
                z = _shaped(self.z, (self.p + 1, len(rows)))
                [products, *_] = self.shaped_products(len(rows))
                z[0], z[1:] = 1.0, rows.T
                for a, at in enumerate(first_pair):
                    np.multiply(z[a], z[a:], out=products[at : at + self.p + 1 - a])
                yield products

    def shaped_products(self, rows: int) -> list[Matrix]:
        """The arrays for products of so many rows, one for every tensor, shape (m, n)."""
        return [_shaped(buffer, (pair_index(self.p + 1).size, rows)) for buffer in self.products]


_kept = threading.local()


def workspace(p: int, tensors: int) -> Workspace:
    """Arrays for so many tensors at a time, with totals of nothing.

    A thread has one and keeps it until it ends or asks for another: what it was given before is then no longer its own.
    """
    if getattr(_kept, "key", None) != (p, tensors):
        _kept.work, _kept.key = _allocate(p, tensors), (p, tensors)
    work: Workspace = _kept.work
    for totals in work.totals:
        totals.clear()
    return work


def _allocate(p: int, tensors: int) -> Workspace:
    """All arrays in one piece of memory, which the system then serves in large pages."""
    groups = _groups(p)
    tiles = [tile for group in groups for tile in group.tiles]
    pairs, entries = pair_index(p + 1).size, sum(prod(tile.shape) for tile in tiles)
    sizes = [
        (p + 1) * ROWS_AT_ONCE,
        *[pairs * ROWS_AT_ONCE] * tensors,
        max(len(group.pairs) for group in groups) * ROWS_AT_ONCE,
        max(prod(tile.shape) for tile in tiles),
        *[entries] * tensors,
    ]
    z, *rest = np.split(np.empty(sum(sizes)), np.cumsum(sizes)[:-1])
    products, (left, product), values = rest[:tensors], rest[tensors:-tensors], rest[-tensors:]
    return Workspace(p, z, tuple(products), tuple(Totals(p, groups, memory, left, product) for memory in values))


def _shaped(buffer: Vector, shape: tuple[int, ...]) -> Matrix:
    """The beginning of a buffer as an array without gaps."""
    return buffer[: prod(shape)].reshape(shape)


class Totals:
    """The products of all tiles, summed over blocks of rows.

    `memory` holds the sums; `left` and `product` hold columns and a product while they are in work.
    """

    __slots__ = ("_groups", "_is_empty", "_left", "_p", "_product")

    def __init__(self, p: int, groups: Sequence[_ProductGroup], memory: Vector, left: Vector, product: Vector) -> None:
        self._p, self._left, self._product, self._is_empty = p, left, product, True
        self._groups: list[tuple[_ProductGroup, list[tuple[_Tile, Matrix]]]] = []
        at = 0
        for group in groups:
            sums = []
            for tile in group.tiles:
                sums.append((tile, _shaped(memory[at:], tile.shape)))
                at += prod(tile.shape)
            self._groups.append((group, sums))

    def clear(self) -> None:
        """Begin anew."""
        self._is_empty = True

    def add(self, products: Matrix) -> None:
        """Add what a block of rows gives, from the products of its pairs, shape (m, n)."""
        for group, sums in self._groups:
            left = _shaped(self._left, (len(group.pairs), products.shape[1]))
            np.take(products, group.pairs, axis=0, out=left, mode="clip")  # "raise" would go through another copy
            for tile, total in sums:
                if self._is_empty:
                    np.matmul(left[tile.left], products[tile.right].T, out=total)
                else:
                    product = _shaped(self._product, tile.shape)
                    total += np.matmul(left[tile.left], products[tile.right].T, out=product)
        self._is_empty = False

    def packed(self) -> Vector:
        """The packed tensor; tiles hold some entries twice."""
        if self._is_empty:
            return np.zeros(comb(self._p + 4, 4))
        packed, blocks = np.empty(comb(self._p + 4, 4)), packed_blocks(self._p)
        for _, sums in self._groups:
            for tile, total in sums:
                row = 0
                for b in tile.seconds:
                    block = blocks[b]
                    start = max(tile.right.start, block.right.start)
                    entries = packed[block.place].reshape(b + 1, -1)
                    entries[:, start - block.right.start : tile.right.stop - block.right.start] = total[
                        row : row + b + 1, start - tile.right.start :
                    ]
                    row += b + 1
        return packed


class _Tile(NamedTuple):
    """One matrix product: which of the group's left-hand columns, with which pairs, for which second indices."""

    seconds: range
    left: slice
    right: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Of the product."""
        return self.left.stop - self.left.start, self.right.stop - self.right.start


class _ProductGroup(NamedTuple):
    """Blocks whose left-hand columns are formed together: their second indices, these columns, and the products.

    One tile has all of them with the pairs beyond the group. Nearer the diagonal, where later blocks need fewer pairs
    than earlier ones, a tile has the columns of a few blocks.
    """

    seconds: range
    pairs: IntVector
    tiles: tuple[_Tile, ...]


@lru_cache(maxsize=128)
def _groups(p: int) -> tuple[_ProductGroup, ...]:
    """Neighbouring blocks in groups of at least `COLUMNS_AT_ONCE` left-hand columns."""
    index = pair_index(p + 1)
    first_pair = [*np.diagonal(index.number).tolist(), index.size]  # of those whose first index is this one, or later
    groups = []
    for seconds in _runs(range(p + 1), COLUMNS_AT_ONCE):
        pairs = np.concatenate([index.number[: b + 1, b] for b in seconds])
        tiles = [_Tile(seconds, slice(0, len(pairs)), slice(first_pair[seconds.stop], index.size))]
        at = 0
        for few in _runs(seconds, COLUMNS_NEARBY):
            columns = sum(b + 1 for b in few)
            tiles.append(_Tile(few, slice(at, at + columns), slice(first_pair[few.start], first_pair[seconds.stop])))
            at += columns
        groups.append(_ProductGroup(seconds, pairs, tuple(tiles)))
    return tuple(groups)


def _runs(seconds: range, least: int) -> Iterator[range]:
    """Second indices in runs whose blocks together have at least so many left-hand columns, but for the last."""
    start, columns = seconds.start, 0
    for b in seconds:
        columns += b + 1
        if columns >= least or b + 1 == seconds.stop:
            yield range(start, b + 1)
            start, columns = b + 1, 0
