r"""Sums of all products of up to four variables: the statistic of the one-round exact methods.

With a constant :math:`z_0 = 1` in front, the sums of :math:`z_a z_b z_c z_d` over :math:`a \le b \le c \le d` hold
every moment of order 0 to 4 once: C(p + 4, 4) numbers, the count among them. They are kept packed, block after block
of the second index b: the entries (a, b) x (c, d) with :math:`a \le b \le c \le d` are a matrix product of the columns
:math:`z_a z_b` with the columns :math:`z_c z_d`, and all these products together do exactly the arithmetic the packed
tensor needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, prod
from typing import NamedTuple, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.limbs import LIMB, split
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import is_moment_matrix
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

COLUMNS_AT_ONCE = 100
"""Left-hand columns that one product takes at least: products with few columns are slow."""

COLUMNS_NEARBY = 30
"""The same for the right-hand columns near the diagonal, where products of many blocks hold entries twice."""

ROWS_AT_ONCE = 342
"""Rows per product; not a power of two, at which columns would compete for the same lines of the cache. Working memory
is this many rows of (p + 1)(p + 2)/2 products: 3.6 MB at p = 50."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorSums:
    """Packed sums of one or several tables over the same complete variables; `+` pools them, `-` undoes `+`."""

    p: int
    packed: Vector
    counts: Vector | None = None
    """Rows behind each entry, where not all entries have the same."""

    @property
    def count(self) -> int:
        """Number of rows behind the entry that has fewest."""
        return round(float(self.packed[0] if self.counts is None else self.counts.min()))

    @property
    def numbers(self) -> int:
        """How many numbers travel; entries without rows do not."""
        return len(self.packed) if self.counts is None else 2 * int(np.count_nonzero(self.counts))

    def counted(self) -> Vector:
        """Rows behind each entry."""
        return np.full(len(self.packed), self.packed[0]) if self.counts is None else self.counts

    def spread(self, chosen: Sequence[int], p: int, owned: BoolMatrix) -> TensorSums:
        """These sums as those of variables `chosen` among p, without the entries that are not owned.

        `owned` says which pairs of pairs of (1, z) are, shape (m, m).
        """
        inner = np.concatenate([[0], np.asarray(chosen) + 1])
        small, large = pair_index(self.p + 1), pair_index(p + 1)
        pairs = large.number[inner[small.first], inner[small.second]]
        place = np.ix_(pairs, pairs)
        moments, counts = np.zeros(owned.shape, self.packed.dtype), np.zeros(owned.shape, self.packed.dtype)
        moments[place] = np.where(owned[place], self.moments(), 0)
        counts[place] = np.where(owned[place], _matrix(self.p, self.counted()), 0)
        packed = _packed(p, moments)
        return TensorSums(p, packed, _packed(p, counts))

    @classmethod
    def from_moments(cls, p: int, matrix: Matrix) -> Self:
        """The sums that `moments` shows as a matrix over pairs."""
        return cls(p, _packed(p, matrix))

    def __add__(self, other: Self) -> Self:
        """Sums of both tables stacked."""
        self._require_like(other)
        counts = None if self.counts is None and other.counts is None else self.counted() + other.counted()
        return type(self)(self.p, self.packed + other.packed, counts)

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        self._require_like(part)
        counts = self.counted() - part.counted()
        if (counts < 0).any():
            raise StatisticError("cannot take away more rows than there are")
        both = self.counts is None and part.counts is None
        return type(self)(self.p, self.packed - part.packed, None if both else counts)

    def __eq__(self, other: object) -> bool:
        """Equality to the last bit."""
        if not isinstance(other, TensorSums):
            return NotImplemented
        return (
            self.p == other.p
            and np.array_equal(self.packed, other.packed)
            and np.array_equal(self.counted(), other.counted())
        )

    __hash__ = None  # type: ignore[assignment]

    def _require_like(self, other: TensorSums) -> None:
        if self.p != other.p:
            raise StatisticError(f"tensor sums over {self.p} and over {other.p} variables do not add")

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless the size is right and all sums are finite; `names` label the variables."""
        if self.packed.shape != (comb(self.p + 4, 4),):
            raise StatisticError(f"tensor sums of {self.p} variables must have {comb(self.p + 4, 4)} numbers")
        counts = self.counted()
        if np.isfinite(counts).all() and ((counts < 0).any() or (counts != np.rint(counts)).any()):
            raise StatisticError("counts must be whole numbers of at least 0")
        if not np.isfinite(self.packed).all():
            powers = np.diagonal(self.moments())[pair_index(self.p + 1).number.diagonal()]
            where = int(np.argmin(np.isfinite(powers[1:])))
            label = f"column {names[where]!r}" if len(names) == self.p else f"variable {where}"
            raise StatisticError(f"powers of {label} overflow")

    def check_possible(self) -> None:
        """Raise unless some rows can have these sums: the matrix of moments of all pairs is positive semidefinite."""
        if not is_moment_matrix(self.moments()):
            raise StatisticError("no rows can have these tensor sums")

    def moments(self) -> Matrix:
        """The sums as a symmetric matrix over pairs of (1, z), shape (m, m): [(a, b), (c, d)] is of z_a z_b z_c z_d."""
        return _matrix(self.p, self.packed)

    def mean_moments(self) -> Matrix:
        """The same matrix of means instead of sums, each entry over its own rows."""
        counts = self.counted()
        if (counts == 0).any():
            raise StatisticError("some combination of four variables was never observed together")
        return _matrix(self.p, self.packed / counts)


def _matrix(p: int, packed: Vector) -> Matrix:
    """Packed entries as a symmetric matrix over pairs of (1, z)."""
    index = pair_index(p + 1)
    matrix = np.empty((index.size, index.size), packed.dtype)
    number = index.number
    for block in _blocks(p):
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


def _packed(p: int, matrix: Matrix) -> Vector:
    """The packed entries of a symmetric matrix over pairs of (1, z)."""
    number = pair_index(p + 1).number
    blocks = [matrix[number[: block.second + 1, block.second], block.right].ravel() for block in _blocks(p)]
    return np.concatenate(blocks)


class _Block(NamedTuple):
    """Entries (0..second, second) x right of the packed tensor."""

    second: int
    right: slice
    place: slice


@lru_cache(maxsize=128)
def _blocks(p: int) -> tuple[_Block, ...]:
    """Where each block of the packed sums of p variables stands."""
    index = pair_index(p + 1)
    blocks, at = [], 0
    for b in range(p + 1):
        right = slice(int(index.number[b, b]), index.size)
        size = (b + 1) * (right.stop - right.start)
        blocks.append(_Block(b, right, slice(at, at + size)))
        at += size
    return tuple(blocks)


def tensor_sums_with_gaps(blocks: Iterable[Matrix], p: int) -> TensorSums:
    """Tensor sums of rows with missing values, NaN: each entry over the rows in which its variables are observed.

    With zeros in the gaps the sums of products leave such rows out by themselves, and the counts are the tensor sums
    of the indicators of what was observed.
    """
    packed, counts = np.zeros(comb(p + 4, 4)), np.zeros(comb(p + 4, 4))
    for z in blocks:
        observed = np.isfinite(z)
        packed += tensor_sums([np.where(observed, z, 0.0)], p).packed
        counts += tensor_sums([observed.astype(float)], p).packed
    return TensorSums(p, packed, counts)


def tensor_sums(blocks: Iterable[Matrix], p: int) -> TensorSums:
    """Tensor sums of complete rows that arrive in blocks of shape (n, p), in the frame."""
    totals, work = _totals(p), _Work.allocate(p)
    for z, products in _row_products(blocks, p, work):
        left = work.left[:, : z.shape[1]]
        for group, of_group in zip(_groups(p), totals, strict=True):
            at = 0
            for b in group.seconds:
                np.multiply(z[: b + 1], z[b], out=left[at : at + b + 1])
                at += b + 1
            _add_products(group, left, products, of_group, work)
    return TensorSums(p, _pack(p, totals))


def tensor_limb_sums(blocks: Iterable[Matrix], p: int) -> list[tuple[Vector, int]]:
    """Packed sums of whole rows of at most 20 bits, as limbs: parts (values, k), multiples of 2^(20 k), to be added.

    Products of two values are split into two limbs u + v; with w = u + v / 2^20, three sums of products give all four:
    the mixed ones are those of w w' less those of u u' and v v'. At most `limbs.ROWS_PER_SUM` rows.
    """
    totals = [_totals(p) for _ in range(3)]
    work = _Work.allocate(p)
    upper, mixed = np.empty_like(work.products), np.empty_like(work.products)
    for z, products in _row_products(blocks, p, work):
        n = z.shape[1]
        split(products, 0, upper[:, :n])
        np.multiply(upper[:, :n], 2.0**-LIMB, out=mixed[:, :n])
        mixed[:, :n] += products
        for limb, of_limb in zip((products, upper[:, :n], mixed[:, :n]), totals, strict=True):
            for group, of_group in zip(_groups(p), of_limb, strict=True):
                _add_products(group, limb[group.pairs], limb, of_group, work)
    low, high, both = (_pack(p, of_limb) for of_limb in totals)
    return [(low, 0), ((both - low - high * 2.0 ** (-2 * LIMB)) * 2.0**LIMB, 1), (high, 2)]


@lru_cache(maxsize=128)
def packed_degrees(p: int) -> IntVector:
    """How many variables each packed entry multiplies, 0 to 4."""
    held = (pair_index(p + 1).first > 0).astype(np.int64) + (pair_index(p + 1).second > 0)
    degrees = _packed(p, held[:, None] + held)  # type: ignore[arg-type]
    degrees.flags.writeable = False
    return degrees  # type: ignore[return-value]


def _totals(p: int) -> list[list[Matrix]]:
    """A place for the products of every tile of every group."""
    return [[np.zeros(tile.shape) for tile in group.tiles] for group in _groups(p)]


def _add_products(group: _Group, left: Matrix, right: Matrix, totals: Sequence[Matrix], work: _Work) -> None:
    """Add the products of a group's left-hand columns with the pairs they belong with; both lie as rows."""
    for tile, total in zip(group.tiles, totals, strict=True):
        product = work.product[: total.size].reshape(total.shape)
        total += np.matmul(left[tile.left], right[tile.right].T, out=product)


def _row_products(blocks: Iterable[Matrix], p: int, work: _Work) -> Iterator[tuple[Matrix, Matrix]]:
    """Columns of (1, z) and of all their products, a few rows at a time, shapes (p + 1, n) and (m, n)."""
    index = pair_index(p + 1)
    for block in blocks:
        for start in range(0, len(block), ROWS_AT_ONCE):
            rows = block[start : start + ROWS_AT_ONCE]
            z, products = work.z[:, : len(rows)], work.products[:, : len(rows)]
            z[1:] = rows.T
            for a in range(p + 1):
                at = index.number[a, a]
                np.multiply(z[a], z[a:], out=products[at : at + p + 1 - a])
            yield z, products


class _Work(NamedTuple):
    """Arrays that every block of rows reuses; fresh ones would cost more than the products."""

    z: Matrix
    products: Matrix
    left: Matrix
    product: Vector

    @classmethod
    def allocate(cls, p: int) -> _Work:
        groups = _groups(p)
        return cls(
            z=np.ones((p + 1, ROWS_AT_ONCE)),
            products=np.empty((pair_index(p + 1).size, ROWS_AT_ONCE)),
            left=np.empty((max(len(group.pairs) for group in groups), ROWS_AT_ONCE)),
            product=np.empty(max(prod(tile.shape) for group in groups for tile in group.tiles)),
        )


class _Tile(NamedTuple):
    """One matrix product: which of the group's left-hand columns, with which pairs, for which second indices."""

    seconds: range
    left: slice
    right: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Of the product."""
        return self.left.stop - self.left.start, self.right.stop - self.right.start


class _Group(NamedTuple):
    """Blocks whose left-hand columns are formed together: their second indices, these columns, and the products.

    One tile has all of them with the pairs beyond the group. Nearer the diagonal, where later blocks need fewer pairs
    than earlier ones, a tile has the columns of a few blocks.
    """

    seconds: range
    pairs: IntVector
    tiles: tuple[_Tile, ...]


@lru_cache(maxsize=128)
def _groups(p: int) -> tuple[_Group, ...]:
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
        groups.append(_Group(seconds, pairs, tuple(tiles)))
    return tuple(groups)


def _runs(seconds: range, least: int) -> Iterator[range]:
    """Second indices in runs whose blocks together have at least so many left-hand columns, but for the last."""
    start, columns = seconds.start, 0
    for b in seconds:
        columns += b + 1
        if columns >= least or b + 1 == seconds.stop:
            yield range(start, b + 1)
            start, columns = b + 1, 0


def _pack(p: int, totals: Sequence[Sequence[Matrix]]) -> Vector:
    """The packed tensor from the products of all tiles, which hold some entries twice."""
    packed, blocks = np.empty(comb(p + 4, 4)), _blocks(p)
    for group, of_group in zip(_groups(p), totals, strict=True):
        for tile, total in zip(group.tiles, of_group, strict=True):
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
