"""Sums that are exact to the bit: pair sums and tensor sums of whole numbers on a grid.

Addition is associative and subtraction undoes it, on any machine, for any number of threads and any split of the rows.
Methods never meet these: once pooled they are read as ordinary float64 sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.entropy_sums import EntropySums
from fedrcd.statistics.grid import EXACT_UP_TO, Grid
from fedrcd.statistics.limbs import PLANE, ROWS_PER_SUM, as_float, batches, carried, joined, times
from fedrcd.statistics.noisy_sums import NoisySums
from fedrcd.statistics.pair_sums import POWERS, PairSums, Power, pair_sums, pair_sums_with_gaps
from fedrcd.statistics.sums import Moments
from fedrcd.statistics.tensor_sums import TensorSums, tensor_limb_sums, tensor_sums
from fedrcd.typing import IntMatrix, Matrix

MOST_ROWS = 2**36
"""Rows a federation may have: their sums of order 4 stay below 2^118, well inside two times 56 and 63 bits."""

SMALL_COUNT = 11
"""Counts of clipped values below this are not told exactly."""

LIMB_ROWS = 512
"""Rows whose limbs are in work at a time: 1.2 MB at p = 50."""

Plane = PairSums | TensorSums | EntropySums | NoisySums
"""One half of the numbers, int64 in the arrangement of the ordinary sums."""


@dataclass(frozen=True, slots=True)
class Clipped:
    """How many values were clipped: at least, at most. A site tells no more than 0, "< 11" or a rounded count."""

    least: int = 0
    most: int = 0

    def __add__(self, other: Clipped) -> Clipped:
        """Of both tables."""
        return Clipped(self.least + other.least, self.most + other.most)

    def __str__(self) -> str:
        """As reports show it."""
        if self.most == 0:
            return "0"
        if self.most < SMALL_COUNT:
            return f"< {SMALL_COUNT}"
        return f"{self.least} to {self.most}"

    def coarse(self) -> Clipped:
        """What may be told of an exact count: 0, 1 to 10, or the power of two it lies below."""
        if self.least == 0 == self.most:
            return self
        if self.most < SMALL_COUNT:
            return Clipped(1, SMALL_COUNT - 1)
        below = 1 << self.most.bit_length()
        return Clipped(max(SMALL_COUNT, below // 2), below - 1)


@dataclass(frozen=True, slots=True, eq=False)
class ExactSums:
    """Whole sums low + 2^56 high; both halves are arranged like the ordinary sums. `+` pools, `-` undoes `+`.

    Counts stand in `low`. Numbers are in steps of the grid to the power of each entry's degree.
    """

    grid: Grid
    low: Plane
    high: Plane
    clipped: Clipped | None = Clipped()
    """Not part of equality: it is told coarsely, so it depends on how rows are split; None where nobody knows
    it, as under masks."""

    kind: ClassVar[str] = "exact"

    @property
    def planes(self) -> tuple[Plane, Plane]:
        """Both halves."""
        return self.low, self.high

    @property
    def most_rows(self) -> int:
        """The largest number of rows behind any entry."""
        return int(self.low.counted.max(initial=0))

    @property
    def numbers(self) -> int:
        """How many numbers of 8 bytes these take: two for each entry; of high parts below 128 a byte each is enough."""
        narrow = all(
            values.min(initial=0) >= -128 and values.max(initial=0) < 128 for values in self.high.arrays().values()
        )
        return self.low.numbers + (-(-self.low.numbers // 8) if narrow else self.low.numbers)

    @property
    def entries(self) -> int:
        """How many numbers about rows these tell: an exact one is a single number, however many bytes it takes."""
        return self.low.entries

    @property
    def counted(self) -> Any:
        """Rows behind each entry that has any."""
        return self.low.counted

    def __add__(self, other: Self) -> Self:
        """Sums of both tables stacked."""
        self._require_like(other)
        if self.most_rows + other.most_rows > MOST_ROWS:
            raise StatisticError(f"exact sums hold at most {MOST_ROWS} rows")
        return self._carried(self.low + other.low, self.high + other.high, _added(self.clipped, other.clipped))  # type: ignore[operator]

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        self._require_like(part)
        clipped = None
        if self.clipped and part.clipped:
            least = max(0, self.clipped.least - part.clipped.most)
            clipped = Clipped(least, max(least, self.clipped.most - part.clipped.least))
        return self._carried(self.low - part.low, self.high - part.high, clipped)  # type: ignore[operator]

    def __eq__(self, other: object) -> bool:
        """Equality to the last bit."""
        if not isinstance(other, ExactSums):
            return NotImplemented
        return self.grid == other.grid and self.low == other.low and self.high == other.high

    __hash__ = None  # type: ignore[assignment]

    def _require_like(self, other: ExactSums) -> None:
        if self.grid != other.grid or self.low.arrays().keys() != other.low.arrays().keys():
            raise StatisticError("exact sums of different kinds, or on different grids, do not add")

    def _carried(self, low: Plane, high: Plane, clipped: Clipped | None) -> Self:
        halves = zip(low.arrays().values(), high.arrays().values(), strict=True)
        pairs = [carried(one, two) for one, two in halves]
        lows, highs = [one for one, _ in pairs], [two for _, two in pairs]
        return type(self)(self.grid, low.with_arrays(lows), high.with_arrays(highs), clipped)

    def arranged(self, change: Callable[[Any], Any]) -> ExactSums:
        """The same numbers in another arrangement, that of `change` of ordinary sums."""
        return replace(self, low=change(self.low), high=change(self.high))

    def coarse(self) -> ExactSums:
        """These sums as they may leave a site."""
        return replace(self, clipped=self.clipped and self.clipped.coarse())

    def moments_of_variables(self) -> Moments | None:
        """Those of the sums as methods read them."""
        return self.floats().moments_of_variables()

    def total(self) -> ExactSums:
        """These sums: they have no groups."""
        return self

    def without_clipped(self) -> ExactSums:
        """These sums without the coarse count of clipped values, which is no sum."""
        return replace(self, clipped=Clipped())

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless some whole rows can have these sums, as far as single entries and their parities tell."""
        if self.low.arrays().keys() != self.high.arrays().keys():
            raise StatisticError("the halves of exact sums are of different kinds")
        for plane in (self.low, self.high):
            plane.check(names)
            if any(values.dtype != np.int64 for values in plane.arrays().values()):
                raise StatisticError("exact sums must be whole numbers")
        for values in self.low.arrays().values():
            if (values < 0).any() or (values >> PLANE).any():
                raise StatisticError("exact sums are not in their normal form")
        if self.most_rows > MOST_ROWS:
            raise StatisticError(f"exact sums hold at most {MOST_ROWS} rows")
        self._check_bounds()
        self._check_remainders()

    def _check_bounds(self) -> None:
        """No sum of d factors exceeds the number of rows times the largest value to the power d."""
        floats = replace(self, grid=replace(self.grid, limit=self.grid.largest)).floats()  # in steps
        largest = float(self.grid.largest)
        entries = zip(floats.arrays().items(), floats.degrees(), floats.counts_by_array(), strict=True)
        for (label, values), degree, counts in entries:
            if (np.abs(values) > counts * largest**degree * (1 + 1e-12)).any():
                raise StatisticError(f"{label} are larger than any rows of this grid give")

    def _check_remainders(self) -> None:
        """Powers of whole numbers leave related remainders: q^2 = q mod 2, q^3 = q mod 6, q^4 = q^2 mod 12.

        So do their sums, and a flipped bit or a wrong unit mostly breaks one of these.
        """
        low, high = self.low.powers(), self.high.powers()
        for above, below, divisor in ((2, 1, 2), (3, 1, 6), (4, 2, 12)):
            if above in low:
                left, right = (_remainder((low[power], high[power]), divisor) for power in (above, below))
                if (left != right).any():
                    raise StatisticError(f"no whole numbers have these sums of powers {below} and {above}")

    def check_possible(self) -> None:
        """Raise unless some rows can have these sums: what `check` cannot see in a contribution from elsewhere."""
        self.floats().check_possible()

    def floats(self) -> Plane:
        """The sums in the frame, as methods read them; the same bits on any machine."""
        halves = zip(self.low.arrays().values(), self.high.arrays().values(), self.low.degrees(), strict=True)
        return self.low.with_arrays([as_float(low, high) * self.grid.step**degree for low, high, degree in halves])


def _added(one: Clipped | None, two: Clipped | None) -> Clipped | None:
    return one + two if one and two else None


def _remainder(number: tuple[Any, Any], divisor: int) -> IntMatrix:
    low, high = number
    remainder: IntMatrix = (low % divisor + high % divisor * (2**PLANE % divisor)) % divisor
    return remainder


Halves = tuple[Plane, Plane]
Kernel = Callable[[Iterable[Matrix]], Halves]
"""Low and high half of the sums of a batch of whole rows."""


def exact_pair_sums(
    blocks: Iterable[Matrix], p: int, order: int, grid: Grid, *, residuals: Matrix | None = None, gaps: bool = False
) -> ExactSums:
    """Exact pair sums of rows that arrive in blocks, in the frame, or of their residuals on the same grid."""
    width = p if residuals is None else len(residuals)
    if _needs_limbs(grid):
        return _summed(blocks, lambda batch: _limb_pair_sums(batch, width, order, gaps=gaps), grid, residuals)
    kernel = pair_sums_with_gaps if gaps else pair_sums
    return _summed(blocks, lambda batch: _halves(kernel(batch, width, order)), grid, residuals)


def exact_tensor_sums(blocks: Iterable[Matrix], p: int, grid: Grid, *, gaps: bool = False) -> ExactSums:
    """Exact tensor sums of rows that arrive in blocks, in the frame."""
    return _summed(blocks, lambda batch: _tensor_sums(batch, p, grid, gaps=gaps), grid)


def _needs_limbs(grid: Grid) -> bool:
    """Whether products of four values, summed over a batch, may exceed what float64 holds exactly."""
    return _rows_in_float(grid) < ROWS_PER_SUM


def _rows_in_float(grid: Grid) -> int:
    """How many products of four values float64 sums exactly."""
    return int(EXACT_UP_TO) // grid.largest**4


def _summed(blocks: Iterable[Matrix], kernel: Kernel, grid: Grid, residuals: Matrix | None = None) -> ExactSums:
    """Sums over all batches of the rows, which are rounded to the grid in place."""
    clipped = 0

    def whole(z: Matrix) -> Matrix:
        nonlocal clipped
        q, beyond = grid.whole(z, out=z)
        clipped += beyond
        if residuals is not None:
            q, beyond = grid.whole_residuals(q, residuals)
            clipped += beyond
        return q

    total: ExactSums | None = None
    for batch in batches(blocks, ROWS_PER_SUM if _needs_limbs(grid) else _rows_in_float(grid)):
        part = ExactSums(grid, *kernel(map(whole, batch)))
        total = part if total is None else total + part
    if total is None:
        total = ExactSums(grid, *kernel(()))
    return replace(total, clipped=Clipped(clipped, clipped))


def _halves(sums: PairSums) -> Halves:
    """Both halves of sums that float64 holds exactly."""
    return _pair_halves(sums.order, sums.count, {power: joined([(value, 0)]) for power, value in sums.sums.items()})


def _pair_halves(order: int, count: IntMatrix, numbers: Mapping[Power, tuple[IntMatrix, IntMatrix]]) -> Halves:
    low = PairSums(order, count, {power: numbers[power][0] for power in POWERS[order]})  # type: ignore[misc]
    high = PairSums(order, np.zeros_like(count), {power: numbers[power][1] for power in POWERS[order]})  # type: ignore[misc]
    return low, high


def _limb_pair_sums(batch: Iterable[Matrix], p: int, order: int, *, gaps: bool) -> Halves:
    """Pair sums by products of limbs: nine matrix products at order 4 where float64 has four.

    Rows are turned into columns, so that every limb of every power is contiguous and all stand one above the other.
    """
    below = max(order - 1, 1)
    limbs = _PowerLimbs(p, order if gaps else below)
    count = np.zeros((p, p) if gaps else (1, 1))
    singles = np.zeros((limbs.size, p) if gaps else (p, 1))
    by_value = np.zeros((_limbs_up_to(below) * p, p))
    by_square = np.zeros((2 * p, 2 * p))
    for block in batch:
        for first in range(0, len(block), LIMB_ROWS):
            q = block[first : first + LIMB_ROWS].T
            if gaps:
                observed = np.isfinite(q).astype(float)
                q = np.where(observed > 0, q, 0.0)
            powers = limbs.of(q)
            if gaps:
                count += observed @ observed.T
                singles += powers @ observed.T
            else:
                count += q.shape[1]
                singles += q.sum(axis=1, keepdims=True)
            by_value += powers[: len(by_value)] @ powers[:p].T
            if order == 4:
                squares = powers[p : 3 * p]
                by_square += squares @ squares.T
    numbers = {}
    for a, b in POWERS[order]:
        if b == 1:
            numbers[a, b] = joined((by_value[limbs.place(a, k)], k) for k in range(a))
        elif b == 2:
            of_limbs = by_square.reshape(2, p, 2, p)
            numbers[a, b] = joined((of_limbs[k, :, m], k + m) for k in range(2) for m in range(2))
        elif gaps:
            numbers[a, b] = joined((singles[limbs.place(a, k)], k) for k in range(a))
    if not gaps:
        numbers[1, 0] = joined([(singles, 0)])
        for a in range(2, order + 1):  # a diagonal of products is the sum of a power of one variable
            low, high = (half.diagonal()[:, None].copy() for half in numbers[a - a // 2, a // 2])
            numbers[a, 0] = low, high
    return _pair_halves(order, count.astype(np.int64), numbers)


def _limbs_up_to(highest: int) -> int:
    """Limbs of all powers up to the highest: power a has a of them."""
    return highest * (highest + 1) // 2


class _PowerLimbs:
    """Limbs of the powers of p variables, one above the other: those of power a stand below all lower ones."""

    def __init__(self, p: int, highest: int) -> None:
        self.p, self.highest = p, highest
        self.size = _limbs_up_to(highest) * p
        self._limbs = np.empty(0)
        self._work = np.empty(0)

    def place(self, power: int, k: int) -> slice:
        """Where limb k of a power stands."""
        first = (_limbs_up_to(power - 1) + k) * self.p
        return slice(first, first + self.p)

    def of(self, q: Matrix) -> Matrix:
        """All limbs of whole values of shape (p, n), shape (size, n); valid until the next call."""
        n = q.shape[1]
        if self._limbs.size < self.size * n:
            self._limbs, self._work = np.empty(self.size * n), np.empty(self.p * n)
        limbs = self._limbs[: self.size * n].reshape(self.size, n)
        work = self._work[: self.p * n].reshape(self.p, n)
        value = limbs[: self.p]
        value[:] = q
        below = [value]
        for power in range(2, self.highest + 1):
            above = [limbs[self.place(power, k)] for k in range(power)]
            times(below, value, above, work)
            below = above
        return limbs


def _tensor_sums(batch: Iterable[Matrix], p: int, grid: Grid, *, gaps: bool) -> Halves:
    """Tensor sums of a batch; with gaps each entry over the rows in which its variables are observed."""
    counts: Any = None
    if gaps:
        kept = [q.copy() for q in batch]
        counts = tensor_sums((np.isfinite(q).astype(float) for q in kept), p).packed.astype(np.int64)
        batch = (np.nan_to_num(q, nan=0.0) for q in kept)
    parts = tensor_limb_sums(batch, p) if _needs_limbs(grid) else [(tensor_sums(batch, p).packed, 0)]
    low, high = joined(parts)
    none = None if counts is None else np.zeros_like(counts)
    return TensorSums(p, low, counts), TensorSums(p, high, none)  # type: ignore[arg-type]
