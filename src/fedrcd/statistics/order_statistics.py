"""Quantiles of columns that arrive in chunks: exact, in bounded memory, whatever the order and the cut of the rows.

The bits of a float64, read as a whole number, order as the numbers do. So the value of a rank is found digit by digit:
a histogram of the highest 16 bits says which bucket holds it, a histogram inside that bucket the next 16 bits, until so
few values are left that they can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fedrcd.typing import Matrix, Vector

Stream: TypeAlias = Callable[[], Iterator[Matrix]]
"""Gives the chunks of some rows, (n, p) each, NaN where a value is missing, as often as it is called."""

FEW = 65_536
"""Values that are held at a time to be sorted."""

DIGIT = 16
"""Bits that are told apart in one pass."""


class Quantiles(NamedTuple):
    """Of each column: how many values are there, the smallest, the largest, and its quantiles, shape (shares, p)."""

    counted: Vector
    low: Vector
    high: Vector
    values: Matrix


class Counted(NamedTuple):
    """Of each column: how many values are there, the smallest and the largest."""

    present: Vector
    low: Vector
    high: Vector


def together(tables: Sequence[Counted], held: Sequence[Sequence[int]] | None, p: int) -> Counted:
    """The counts of all rows of some tables; `held` says which variables the columns of each are, if not all."""
    total = Counted(np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf))
    for place, one in enumerate(tables):
        chosen = list(range(p) if held is None else held[place])
        total.present[chosen] += one.present
        total.low[chosen] = np.fmin(total.low[chosen], one.low)
        total.high[chosen] = np.fmax(total.high[chosen], one.high)
    return total


@dataclass(slots=True)
class _Bucket:
    """The values of a column whose highest `known` bits are `prefix`, and the ranks among them that are wanted."""

    column: int
    prefix: int
    known: int
    before: int
    size: int
    ranks: list[int]
    held: Any = None

    def look(self, values: Vector, keys: Any) -> None:
        """Take a chunk of the column into account."""
        if self.known:
            mine = keys >> np.uint64(64 - self.known) == np.uint64(self.prefix)
            values, keys = values[mine], keys[mine]
        if self.size <= FEW:
            self.held = [*(self.held or ()), values]
        else:
            digits = keys >> np.uint64(64 - self.known - DIGIT) & np.uint64(2**DIGIT - 1)
            counts = np.bincount(digits.astype(np.int64), minlength=2**DIGIT)
            self.held = counts if self.held is None else self.held + counts

    def found(self) -> dict[int, float]:
        """The values of the wanted ranks, once all were held."""
        values = np.concatenate(self.held)
        places = [rank - self.before for rank in self.ranks]
        ordered = np.partition(values, places)
        return {rank: float(ordered[place]) for rank, place in zip(self.ranks, places, strict=True)}

    def parts(self) -> list[_Bucket]:
        """The smaller buckets that hold the wanted ranks."""
        ends = self.before + np.cumsum(self.held)
        inside: dict[int, list[int]] = {}
        for rank in self.ranks:
            inside.setdefault(int(np.searchsorted(ends, rank, side="right")), []).append(rank)
        return [
            _Bucket(
                self.column,
                (self.prefix << DIGIT) | digit,
                self.known + DIGIT,
                int(ends[digit] - self.held[digit]),
                int(self.held[digit]),
                ranks,
            )
            for digit, ranks in inside.items()
        ]


def quantiles(stream: Stream, p: int, shares: Sequence[float], counted: Counted | None = None) -> Quantiles:
    """Quantiles of all columns, interpolated as `numpy.quantile` does; those of an empty column are 0.

    What is `counted` already saves a pass.
    """
    count, low, high = count_values(stream, p) if counted is None else counted
    places = {j: [share * (int(count[j]) - 1) for share in shares] for j in range(p) if count[j]}
    buckets = [_Bucket(j, 0, 0, 0, int(count[j]), _ranks(places[j])) for j in places]
    found: dict[int, dict[int, float]] = {j: {} for j in places}
    while buckets:
        for chunk in stream():
            _look(buckets, chunk)
        narrower = []
        for bucket in buckets:
            if bucket.size <= FEW:
                found[bucket.column] |= bucket.found()
            elif bucket.known + DIGIT == 64:  # all values of a bucket are the same number
                found[bucket.column] |= {rank: _number(part.prefix) for part in bucket.parts() for rank in part.ranks}
            else:
                narrower += bucket.parts()
        buckets = narrower
    values = np.zeros((len(shares), p))
    for j, wanted in places.items():
        values[:, j] = [_interpolated(found[j], place) for place in wanted]
    return Quantiles(count, low, high, values)


def count_values(stream: Stream, p: int) -> Counted:
    """What there is of each column; takes a pass."""
    count, low, high = np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf)
    for chunk in stream():
        if len(chunk):
            count += len(chunk) - np.isnan(chunk).sum(axis=0)
            low = np.fmin(low, np.fmin.reduce(chunk, axis=0))
            high = np.fmax(high, np.fmax.reduce(chunk, axis=0))
    return Counted(count, low, high)


def _look(buckets: Sequence[_Bucket], chunk: Matrix) -> None:
    """Show a chunk to all buckets, the keys of each column made once."""
    shown = -1
    for bucket in buckets:  # in the order of columns
        if bucket.column != shown:
            shown = bucket.column
            values = chunk[:, shown]
            values = values[~np.isnan(values)] + 0.0  # of both zeros one
            keys = _keys(values)
        bucket.look(values, keys)


def _keys(values: Vector) -> Any:
    """Whole numbers in the order of the values."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def _number(key: int) -> float:
    """The value of a key."""
    bits = key & ~(1 << 63) if key >> 63 else ~key & (2**64 - 1)
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])


def _ranks(places: Sequence[float]) -> list[int]:
    """The ranks between which places lie."""
    return sorted({rank for place in places for rank in (int(np.floor(place)), int(np.ceil(place)))})


def _interpolated(found: dict[int, float], place: float) -> float:
    """The value between two ranks, rounded as `numpy.quantile` rounds."""
    below, above = found[int(np.floor(place))], found[int(np.ceil(place))]
    share = place - np.floor(place)
    step = above - below
    return float(above - step * (1 - share) if share >= 0.5 else below + step * share)
