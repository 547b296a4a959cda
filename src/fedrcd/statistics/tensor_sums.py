r"""Sums of all products of up to four variables: the statistic of the one-round exact methods.

With a constant :math:`z_0 = 1` in front, the sums of :math:`z_a z_b z_c z_d` over :math:`a \le b \le c \le d` hold
every moment of order 0 to 4 once: C(p + 4, 4) numbers, the count among them. They are kept packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.limbs import LIMB, split
from fedrcd.statistics.packed_tensor import pack, packed_degrees, unpack
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import is_moment_matrix, whole_ratio
from fedrcd.statistics.sums import FloatSums, Moments
from fedrcd.statistics.tensor_products import workspace
from fedrcd.typing import BoolMatrix, Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class TensorSums(FloatSums):
    """Packed sums of one or several tables over the same complete variables; `+` pools them, `-` undoes `+`."""

    p: int
    packed: Vector
    counts: Vector | None = None
    """Rows behind each entry, where not all entries have the same."""

    kind: ClassVar[str] = "tensor"

    @property
    def count(self) -> int:
        """Number of rows behind the entry that has fewest."""
        return round(float(self.packed[0] if self.counts is None else self.counts.min()))

    @property
    def numbers(self) -> int:
        """How many numbers travel; entries without rows do not."""
        return len(self.packed) if self.counts is None else 2 * int(np.count_nonzero(self.counts))

    @property
    def most_rows(self) -> int:
        """The largest number of rows behind any entry."""
        return round(float(self.entry_counts().max(initial=0)))

    def entry_counts(self) -> Vector:
        """Rows behind each entry."""
        return np.full(len(self.packed), self.packed[0]) if self.counts is None else self.counts

    @property
    def counted(self) -> Vector:
        """Rows behind each entry that has any."""
        counts = self.entry_counts()
        return counts[counts > 0]

    def arrays(self) -> dict[str, Any]:
        """The array of numbers, by what messages call it."""
        return {"tensor sums": self.packed}

    def with_arrays(self, values: Iterable[Any]) -> TensorSums:
        """The same counts with other numbers."""
        (packed,) = values
        return TensorSums(self.p, packed, None if self.counts is None else self.counts.astype(packed.dtype))

    @property
    def own_counts(self) -> Vector | None:
        """Counts that are kept apart from the numbers; None where the first number is the count of all."""
        return self.counts

    def with_own_counts(self, counts: Vector) -> TensorSums:
        """The same numbers with other counts."""
        return TensorSums(self.p, self.packed, counts)

    def degrees(self) -> list[Any]:
        """How many factors the products have."""
        return [packed_degrees(self.p)]

    def counts_by_array(self) -> list[Any]:
        """Rows behind each entry."""
        return [self.entry_counts()]

    def powers(self) -> dict[int, Matrix]:
        """Sums of powers of single variables."""
        number = pair_index(self.p + 1).number
        own, with_one = np.diagonal(number)[1:], number[0, 1:]
        places: dict[int, Any] = {1: (0, with_one), 2: (0, own), 3: (with_one, own), 4: (own, own)}
        moments = self.moments()
        return {power: moments[place] for power, place in places.items()}

    def moments_of_variables(self) -> Moments:
        """Those of single variables among the sums."""
        counts = TensorSums(self.p, self.entry_counts()).powers()  # in the arrangement of the sums
        sums = self.powers()
        with np.errstate(invalid="ignore"):
            return Moments.of(counts[2], sums[1] * counts[2] / np.maximum(counts[1], 1), sums[2])

    def flat(self, total: TensorSums) -> Vector:  # noqa: ARG002 - all have the same shapes
        """Sums and counts as one vector."""
        return np.concatenate([self.packed, self.entry_counts()])

    def restored(self, values: Vector) -> TensorSums:
        """Sums of this size from what `flat` gives; counts are whole, and sums brought along with them."""
        packed, counts = np.split(values, 2)
        whole = np.rint(counts)
        packed = packed * whole_ratio(whole, counts)
        return TensorSums(self.p, packed, None if self.counts is None else whole)

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
        counts[place] = np.where(owned[place], unpack(self.p, self.entry_counts()), 0)
        packed = pack(p, moments)
        return TensorSums(p, packed, pack(p, counts))

    @classmethod
    def from_moments(cls, p: int, matrix: Matrix) -> Self:
        """The sums that `moments` shows as a matrix over pairs."""
        return cls(p, pack(p, matrix))

    def __add__(self, other: Self) -> Self:
        """Sums of both tables stacked."""
        self._require_like(other)
        counts = None if self.counts is None and other.counts is None else self.entry_counts() + other.entry_counts()
        return type(self)(self.p, self.packed + other.packed, counts)

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        self._require_like(part)
        counts = self.entry_counts() - part.entry_counts()
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
            and np.array_equal(self.entry_counts(), other.entry_counts())
        )

    __hash__ = None  # type: ignore[assignment]

    def _require_like(self, other: TensorSums) -> None:
        if self.p != other.p:
            raise StatisticError(f"tensor sums over {self.p} and over {other.p} variables do not add")

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless the size is right and all sums are finite; `names` label the variables."""
        if self.packed.shape != (comb(self.p + 4, 4),):
            raise StatisticError(f"tensor sums of {self.p} variables must have {comb(self.p + 4, 4)} numbers")
        counts = self.entry_counts()
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
        return unpack(self.p, self.packed)

    def means(self) -> Vector:
        """Means instead of sums, packed, each entry over its own rows."""
        counts = self.entry_counts()
        if (counts == 0).any():
            raise StatisticError("some combination of four variables was never observed together")
        return self.packed / counts

    def mean_moments(self) -> Matrix:
        """These as a matrix as `moments` has it."""
        return unpack(self.p, self.means())


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
    work = workspace(p, 1)
    [totals] = work.totals
    for products in work.row_products(blocks):
        totals.add(products)
    return TensorSums(p, totals.packed())


def tensor_limb_sums(blocks: Iterable[Matrix], p: int) -> list[tuple[Vector, int]]:
    """Packed sums of whole rows of at most 20 bits, as limbs: parts (values, k), multiples of 2^(20 k), to be added.

    Products of two values are split into two limbs u + v; with w = u + v / 2^20, three sums of products give all four:
    the mixed ones are those of w w' less those of u u' and v v'. At most `limbs.ROWS_PER_SUM` rows.
    """
    work = workspace(p, 3)
    for products in work.row_products(blocks):
        _, upper, mixed = work.shaped_products(products.shape[1])
        split(products, 0, upper)
        np.multiply(upper, 2.0**-LIMB, out=mixed)
        mixed += products
        for limb, totals in zip((products, upper, mixed), work.totals, strict=True):
            totals.add(limb)
    low, high, both = (totals.packed() for totals in work.totals)
    return [(low, 0), ((both - low - high * 2.0 ** (-2 * LIMB)) * 2.0**LIMB, 1), (high, 2)]
