r"""Sums over rows of :math:`z_i^a z_j^b` for every pair of variables: the statistic of the FedRCD family.

For a pair (i, j) the sums run over the rows in which both are observed, and so does the count
:math:`N_{ij}`. When every row is complete all pairs share one count and the sums of :math:`z_i^a` do not depend on
j; these arrays are then kept with a last axis of length one and broadcast. Sums of complete and of incomplete
tables therefore add without a special case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.sums import FloatSums, Moments
from fedrcd.typing import BoolMatrix, IntMatrix, Matrix, Vector

Power = tuple[int, int]

POWERS: Mapping[int, tuple[Power, ...]] = {
    1: ((1, 0),),
    2: ((1, 0), (2, 0), (1, 1)),
    3: ((1, 0), (2, 0), (1, 1), (3, 0), (2, 1)),
    4: ((1, 0), (2, 0), (1, 1), (3, 0), (2, 1), (4, 0), (3, 1), (2, 2)),
}
"""The powers (a, b), a >= b, that belong to an order; the others follow by transposition."""

SMALLEST = 1e-290
"""Sums of squares below this have lost digits to underflow."""


@dataclass(frozen=True, slots=True, eq=False)
class PairSums(FloatSums):
    r"""Counts and sums of one or several tables; `+` pools them, `-` undoes `+`.

    `count` has shape (p, p), or (1, 1) where all pairs share it. `sums[a, b][i, j]` is
    :math:`\sum z_i^a z_j^b` over the rows of pair (i, j), shape (p, p), or (p, 1) for b = 0 and complete rows.
    """

    order: int
    count: IntMatrix
    sums: Mapping[Power, Matrix]

    kind: ClassVar[str] = "pairs"

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.sums[1, 0])

    @property
    def is_complete(self) -> bool:
        """Whether all pairs were observed on the same rows."""
        return self.count.shape == (1, 1)

    @property
    def numbers(self) -> int:
        """How many numbers travel: symmetric arrays count once, diagonals repeat the sums of one variable."""
        p = self.p
        if self.is_complete:
            single, pairs, total = p, p * (p - 1) // 2, 1
        else:  # entries without rows do not travel
            single, pairs = int(np.count_nonzero(self.count)), int(np.count_nonzero(np.triu(self.count, 1)))
            total = pairs + int(np.count_nonzero(np.diagonal(self.count)))
        for a, b in self.sums:
            total += single if b == 0 else pairs * (1 if a == b else 2)
        return total

    @property
    def most_rows(self) -> int:
        """The largest number of rows behind any pair."""
        return int(self.count.max(initial=0))

    @property
    def counted(self) -> IntMatrix:
        """Rows behind each entry that has any."""
        return self.count[self.count > 0]

    def arrays(self) -> dict[str, Any]:
        """The arrays of numbers, without counts, by what messages call them."""
        return {f"sums of powers {power}": values for power, values in self.sums.items()}

    def with_arrays(self, values: Iterable[Any]) -> PairSums:
        """The same counts with other numbers, in the order of `arrays`."""
        return replace(self, sums=dict(zip(self.sums, values, strict=True)))

    @property
    def own_counts(self) -> IntMatrix:
        """Counts that are kept apart from the numbers."""
        return self.count

    def with_own_counts(self, counts: IntMatrix) -> PairSums:
        """The same numbers with other counts."""
        return replace(self, count=counts)

    def degrees(self) -> list[int]:
        """How many factors the products have, by array."""
        return [a + b for a, b in self.sums]

    def counts_by_array(self) -> list[Any]:
        """Rows behind each entry, by array."""
        return [self.count] * len(self.sums)

    def powers(self) -> dict[int, Matrix]:
        """Sums of powers of single variables."""
        return {a: values for (a, b), values in self.sums.items() if b == 0}

    def moments_of_variables(self) -> Moments | None:
        """Those of single variables among the sums; order 1 has no squares."""
        if self.order < 2:
            return None
        own = (
            np.diagonal(np.broadcast_to(one, (self.p, self.p)))
            for one in (self.count, self.sums[1, 0].T, self.sums[2, 0].T)
        )
        return Moments.of(*own)

    def up_to(self, order: int) -> PairSums:
        """The sums of a lower order among these."""
        return PairSums(order, self.count, {power: self.sums[power] for power in POWERS[order]})

    def flat(self, total: PairSums) -> Vector:
        """Counts and sums as one vector, in the shapes of the total."""
        arrays = [np.broadcast_to(self.count, total.count.shape)]
        arrays += [np.broadcast_to(self.sums[power], total.sums[power].shape) for power in sorted(total.sums)]
        return np.concatenate([np.asarray(array, dtype=float).ravel() for array in arrays])

    def restored(self, values: Vector) -> PairSums:
        """Sums of these shapes from what `flat` gives; counts are whole, and sums brought along with them."""
        counts, rest = np.split(values, [self.count.size])
        whole = np.rint(counts).reshape(self.count.shape)
        ratio = whole_ratio(whole, counts.reshape(self.count.shape))
        sums = {}
        for power in sorted(self.sums):
            shape = self.sums[power].shape
            values, rest = np.split(rest, [int(np.prod(shape))])
            sums[power] = values.reshape(shape) * ratio
        return PairSums(self.order, whole.astype(np.int64), sums)

    def at(self, a: int, b: int) -> Matrix:
        """The sums of z_i^a z_j^b as an array that broadcasts to [i, j]."""
        return self.sums[a, b] if a >= b else self.sums[b, a].T

    def spread(self, chosen: Sequence[int], p: int, owned: BoolMatrix) -> PairSums:
        """These sums as those of variables `chosen` among p, without the pairs that are not owned, shape (p, p)."""
        place = np.ix_(chosen, chosen)
        mine = owned[place]
        count = np.zeros((p, p), dtype=np.int64)
        count[place] = np.where(mine, self.count, 0)
        sums = {}
        for power, values in self.sums.items():
            sums[power] = np.zeros((p, p), values.dtype)
            sums[power][place] = np.where(mine, values, 0)
        return PairSums(self.order, count, sums)

    def __add__(self, other: Self) -> Self:
        """Sums of both tables stacked."""
        self._require_like(other)
        sums = {power: self.sums[power] + other.sums[power] for power in self.sums}
        return type(self)(self.order, self.count + other.count, sums)

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        self._require_like(part)
        count = self.count - part.count
        if (count < 0).any():
            raise StatisticError("cannot take away more rows than there are")
        return type(self)(self.order, count, {power: self.sums[power] - part.sums[power] for power in self.sums})

    def __eq__(self, other: object) -> bool:
        """Equality to the last bit."""
        if not isinstance(other, PairSums):
            return NotImplemented
        return (
            self.order == other.order
            and np.array_equal(self.count, other.count)
            and all(np.array_equal(self.sums[power], other.sums[power]) for power in self.sums)
        )

    __hash__ = None  # type: ignore[assignment]

    def _require_like(self, other: PairSums) -> None:
        if self.order != other.order or self.p != other.p:
            raise StatisticError(
                f"sums of order {self.order} over {self.p} variables and of order {other.order} over {other.p} "
                "variables do not add"
            )

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless shapes, counts and symmetry are right and all sums are finite; `names` label the variables."""
        p = self.p
        if self.count.shape not in {(p, p), (1, 1)} or self.count.dtype.kind != "i" or (self.count < 0).any():
            raise StatisticError("counts must be whole numbers of at least 0, one for all pairs or one for each")
        if tuple(self.sums) != POWERS[self.order]:
            raise StatisticError(f"sums of order {self.order} must hold the powers {POWERS[self.order]}")
        for power, values in self.sums.items():
            if values.shape not in {(p, p), (p, 1)}:
                raise StatisticError(f"sums of powers {power} have a wrong shape")
            if not np.isfinite(values).all():
                where = int(np.argmin(np.isfinite(self.sums[self.order - self.order // 2, self.order // 2].diagonal())))
                label = f"column {names[where]!r}" if len(names) == p else f"variable {where}"
                raise StatisticError(f"powers of {label} overflow")
            if power[0] == power[1] and not np.array_equal(values, values.T):
                raise StatisticError(f"sums of powers {power} are not symmetric")

    def check_possible(self) -> None:
        """Raise unless some rows can have these sums: what `check` cannot see in a contribution from elsewhere.

        Every matrix of moments of [1, z_i, z_j, z_i^2, z_j^2, z_i z_j] (of [1, z_i, z_j] below order 4) is positive
        semidefinite for real rows.
        """
        monomials = [(0, 0), (1, 0), (0, 1)] + ([(2, 0), (0, 2), (1, 1)] if self.order == 4 else [])
        impossible = ~is_moment_matrix(_moment_matrices(self, monomials))
        if impossible.any():
            i, j = np.argwhere(impossible)[0]
            raise StatisticError(f"no rows can have these sums (variables {i} and {j})")


def whole_ratio(whole: Matrix, counts: Matrix) -> Matrix:
    """What sums must be multiplied by when their counts are made whole."""
    ratio: Matrix = np.divide(whole, counts, out=np.zeros_like(counts), where=counts > 0)
    return ratio


def is_moment_matrix(gram: Matrix) -> BoolMatrix:
    """Which of a stack of symmetric matrices are positive semidefinite, up to rounding; shape (..., m, m).

    Entries whose squares are too small for float64 to hold properly say nothing and are left out.
    """
    squares = np.diagonal(gram, axis1=-2, axis2=-1)
    held = squares > SMALLEST
    size = np.sqrt(np.where(held, squares, np.inf))
    lowest = np.linalg.eigvalsh(gram / size[..., :, None] / size[..., None, :])[..., 0]
    possible: BoolMatrix = (lowest > -1e-7 * gram.shape[-1]) & (squares >= 0).all(axis=-1)
    return possible


def _moment_matrices(sums: PairSums, monomials: list[Power]) -> Matrix:
    """Matrices of sums of pairwise products of monomials, shape (p, p, m, m)."""
    p, m = sums.p, len(monomials)
    gram = np.empty((p, p, m, m))
    for r, (a, b) in enumerate(monomials):
        for c, (d, e) in enumerate(monomials):
            power = (a + d, b + e)
            gram[:, :, r, c] = sums.count if power == (0, 0) else sums.at(*power)
    return gram


def pair_sums_with_gaps(blocks: Iterable[Matrix], p: int, order: int) -> PairSums:
    """Pair sums of rows with missing values, NaN: each pair over the rows in which both variables are observed."""
    total: dict[Power, Any] = {power: np.zeros((p, p)) for power in POWERS[order]}
    count = np.zeros((p, p))
    for z in blocks:
        observed = np.isfinite(z).astype(float)
        filled = np.where(observed > 0, z, 0.0)
        power_of = {0: observed, 1: filled, 2: filled**2, 3: filled**3, 4: filled**4}
        count += observed.T @ observed
        for a, b in total:
            total[a, b] += power_of[a].T @ power_of[b]
    return PairSums(order, np.rint(count).astype(np.int64), total)


def pair_sums(blocks: Iterable[Matrix], p: int, order: int) -> PairSums:
    """Pair sums of complete rows that arrive in blocks of shape (n, p), in the frame.

    One pass; beyond the current block it holds two more of the same size and the sums. Four matrix products per
    block at order 4 are all the arithmetic that counts.
    """
    powers = POWERS[order]
    total: dict[Power, Any] = {power: np.zeros((p, p if power[1] else 1)) for power in powers}
    count = 0
    buffer = np.empty((0, p))
    for z in blocks:
        count += len(z)
        if order > 2 and len(buffer) < 2 * len(z):
            buffer = np.empty((2 * len(z), p))
        power_of = {1: z}
        if order > 2:
            power_of[2] = np.multiply(z, z, out=buffer[: len(z)])
        if order > 3:
            power_of[3] = np.multiply(power_of[2], z, out=buffer[len(z) : 2 * len(z)])
        total[1, 0] += z.sum(axis=0)[:, None]
        for a, b in powers:
            if b:
                total[a, b] += power_of[a].T @ power_of[b]
    for a, b in powers:  # a diagonal of products is the sum of a power of one variable
        if b == 0 and a > 1:
            total[a, b] = np.diagonal(total[a - a // 2, a // 2])[:, None].copy()
    return PairSums(order, np.full((1, 1), count, dtype=np.int64), total)
