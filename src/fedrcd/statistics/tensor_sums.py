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
from math import comb
from typing import NamedTuple, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import is_moment_matrix
from fedrcd.typing import Matrix, Vector

COLUMNS_AT_ONCE = 48
"""Left-hand columns that one product takes at least: products with very few columns are slow."""

ROWS_AT_ONCE = 256
"""Rows per product. Working memory is this many rows of (p + 1)(p + 2)/2 products: 2.7 MB at p = 50."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorSums:
    """Packed sums of one or several tables over the same complete variables; `+` pools them, `-` undoes `+`."""

    p: int
    packed: Vector

    @property
    def count(self) -> int:
        """Number of rows."""
        return round(float(self.packed[0]))

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        return len(self.packed)

    @classmethod
    def from_moments(cls, p: int, matrix: Matrix) -> Self:
        """The sums that `moments` shows as a matrix over pairs."""
        number = pair_index(p + 1).number
        blocks = [matrix[number[: block.second + 1, block.second], block.right].ravel() for block in _blocks(p)]
        return cls(p, np.concatenate(blocks))

    def __add__(self, other: Self) -> Self:
        """Sums of both tables stacked."""
        self._require_like(other)
        return type(self)(self.p, self.packed + other.packed)

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        self._require_like(part)
        if part.count > self.count:
            raise StatisticError("cannot take away more rows than there are")
        return type(self)(self.p, self.packed - part.packed)

    def __eq__(self, other: object) -> bool:
        """Equality to the last bit."""
        if not isinstance(other, TensorSums):
            return NotImplemented
        return self.p == other.p and np.array_equal(self.packed, other.packed)

    __hash__ = None  # type: ignore[assignment]

    def _require_like(self, other: TensorSums) -> None:
        if self.p != other.p:
            raise StatisticError(f"tensor sums over {self.p} and over {other.p} variables do not add")

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless the size is right and all sums are finite; `names` label the variables."""
        if self.packed.shape != (comb(self.p + 4, 4),):
            raise StatisticError(f"tensor sums of {self.p} variables must have {comb(self.p + 4, 4)} numbers")
        if np.isfinite(self.packed[0]) and (self.packed[0] < 0 or self.packed[0] != self.count):
            raise StatisticError("the count must be a whole number of at least 0")
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
        index = pair_index(self.p + 1)
        matrix = np.empty((index.size, index.size))
        number = index.number
        for block, values in _unpack(self.p, self.packed):
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


def _unpack(p: int, packed: Vector) -> Iterator[tuple[_Block, Matrix]]:
    """Blocks of packed sums, each as a matrix of shape (b + 1, pairs)."""
    for block in _blocks(p):
        yield block, packed[block.place].reshape(block.second + 1, -1)


def tensor_sums(blocks: Iterable[Matrix], p: int) -> TensorSums:
    """Tensor sums of complete rows that arrive in blocks of shape (n, p), in the frame."""
    index, groups = pair_index(p + 1), _groups(p)
    totals = [np.zeros((group.columns, index.size - group.right)) for group in groups]
    work = _Work.allocate(p)
    for block in blocks:
        for start in range(0, len(block), ROWS_AT_ONCE):
            rows = block[start : start + ROWS_AT_ONCE]
            z, products, left = (array[:, : len(rows)] for array in (work.z, work.products, work.left))
            z[1:] = rows.T
            for a in range(p + 1):
                at = index.number[a, a]
                np.multiply(z[a], z[a:], out=products[at : at + p + 1 - a])
            for group, total in zip(groups, totals, strict=True):
                at = 0
                for b in group.seconds:
                    np.multiply(z[: b + 1], z[b], out=left[at : at + b + 1])
                    at += b + 1
                product = work.product[: total.size].reshape(total.shape)
                total += np.matmul(left[:at], products[group.right :].T, out=product)
    return TensorSums(p, _pack(p, groups, totals))


class _Work(NamedTuple):
    """Arrays that every block of rows reuses; fresh ones would cost more than the products."""

    z: Matrix
    products: Matrix
    left: Matrix
    product: Vector

    @classmethod
    def allocate(cls, p: int) -> _Work:
        m, groups = pair_index(p + 1).size, _groups(p)
        return cls(
            z=np.ones((p + 1, ROWS_AT_ONCE)),
            products=np.empty((m, ROWS_AT_ONCE)),
            left=np.empty((max(group.columns for group in groups), ROWS_AT_ONCE)),
            product=np.empty(max(group.columns * (m - group.right) for group in groups)),
        )


class _Group(NamedTuple):
    """Blocks that one matrix product computes: their second indices, left-hand columns, and first right-hand pair."""

    seconds: range
    columns: int
    right: int


@lru_cache(maxsize=128)
def _groups(p: int) -> tuple[_Group, ...]:
    """Neighbouring blocks in groups of at least `COLUMNS_AT_ONCE` left-hand columns."""
    index, groups, b = pair_index(p + 1), [], 0
    while b <= p:
        end, columns = b, 0
        while end <= p and columns < COLUMNS_AT_ONCE:
            columns += end + 1
            end += 1
        groups.append(_Group(range(b, end), columns, int(index.number[b, b])))
        b = end
    return tuple(groups)


def _pack(p: int, groups: Sequence[_Group], totals: Sequence[Matrix]) -> Vector:
    """The packed tensor from the groups' products, which hold some entries twice."""
    packed, blocks = np.empty(comb(p + 4, 4)), _blocks(p)
    for group, total in zip(groups, totals, strict=True):
        row = 0
        for b in group.seconds:
            block = blocks[b]
            packed[block.place] = total[row : row + b + 1, block.right.start - group.right :].ravel()
            row += b + 1
    return packed
