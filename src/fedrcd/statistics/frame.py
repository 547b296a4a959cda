r"""The public reference frame in which every sum is taken.

Sites never sum powers of raw values: the fourth moment of a variable with mean 1e4 and standard deviation 1
has no correct digit left in float64 once it is centred. They sum powers of

.. math:: z_j = (x_j - c_j) / s_j

with a centre and a scale per variable that are agreed before the first round. In float arithmetic results do not
depend on the frame beyond rounding; it only has to be roughly right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.order_statistics import Counted, Stream, quantiles, together
from fedrcd.typing import Matrix, Vector

SAMPLED_ROWS = 8192
"""How many rows of a table `propose_frame` looks at."""

TAIL = 32
"""Scales within which all rows lie, if they can: half of what the grid holds."""

WIDEST = 64
"""Robust scales that a proposed scale is at most."""

MOMENTS = Grid(21, 64)
"""The grid on which standard deviations are taken, so that they have the same bits in any order of the rows."""

ROWS_PER_SUM = 8192
"""Rows whose squares on that grid float64 sums exactly: 40 bits and 13."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Centre and scale of every variable, both of shape (p,)."""

    centre: Vector
    scale: Vector

    def __post_init__(self) -> None:
        if self.centre.shape != self.scale.shape or self.centre.ndim != 1:
            raise ConfigError("a frame needs one centre and one scale per variable")
        if not (np.isfinite(self.centre).all() and np.isfinite(self.scale).all() and (self.scale > 0).all()):
            raise ConfigError("centres of a frame must be finite and scales must be positive")

    @classmethod
    def identity(cls, p: int) -> Frame:
        """The frame in which z is x."""
        return cls(np.zeros(p), np.ones(p))

    def keep(self, chosen: Sequence[int]) -> Frame:
        """The frame of some of the variables."""
        return Frame(self.centre[list(chosen)], self.scale[list(chosen)])

    def within(self, own: Frame) -> Frame:
        """The frame in which raw rows are what rows first expressed in `own` are in this one."""
        return Frame(own.centre + own.scale * self.centre, own.scale * self.scale)

    def expressed_in(self, other: Frame) -> Frame:
        """The centre and scale of this frame for rows that are expressed in another."""
        return Frame((self.centre - other.centre) / other.scale, self.scale / other.scale)

    def express(self, rows: Matrix, out: Matrix | None = None) -> Matrix:
        """Rows in this frame, z; written to `out` if given."""
        z = np.subtract(rows, self.centre, out=out)
        return np.divide(z, self.scale, out=z)


class Proposed(NamedTuple):
    """A frame, and the medians and robust scales that it was made from."""

    frame: Frame
    robust: Frame


def propose_frame(tables: Sequence[Stream], rows: Sequence[int], held: Sequence[Sequence[int]] | None = None) -> Frame:
    """The frame of `propose`."""
    return propose(tables, rows, held).frame


def propose(tables: Sequence[Stream], rows: Sequence[int], held: Sequence[Sequence[int]] | None = None) -> Proposed:
    """A frame for float64 sums over tables in one process, from evenly spaced rows of each.

    Evenly spaced rather than first rows: tables are often sorted. Scales are rounded to powers of two, so that
    expressing a value in the frame rounds once, not twice. `rows` says how many rows each table has, `held` which
    variables its columns are, if not all.
    """
    return propose_from([evenly_spaced(table, n) for table, n in zip(tables, rows, strict=True)], held)


def propose_from(samples: Sequence[Matrix], held: Sequence[Sequence[int]] | None = None) -> Proposed:
    """As `propose`, from the rows that it would look at."""
    robust = robust_frame([partial(iter, [one]) for one in samples], held)
    return Proposed(_in_powers_of_two(robust), robust)


def propose_exact_frame(tables: Sequence[Stream], held: Sequence[Sequence[int]] | None = None) -> Frame:
    """The frame of `propose_exact`."""
    return propose_exact(tables, held).frame


def propose_exact(
    tables: Sequence[Stream],
    held: Sequence[Sequence[int]] | None = None,
    counted: Sequence[Counted] | None = None,
) -> Proposed:
    """A frame for sums on a grid: from all rows, with the same bits however they are split and ordered.

    Scales are standard deviations, and all rows lie within `TAIL` of them: a cubed Gaussian has values 200 robust
    scales out. But at most `WIDEST` robust scales, so that one gross error does not leave all other rows without
    digits. What is `counted` of each table need not be read.
    """
    stream, p = _together(tables, held)
    found = _summary(stream, p, None if counted is None else together(counted, held, p))
    deviation = exact_moments(stream, found.robust, found.farthest).scale
    scale = np.clip(np.maximum(deviation, found.farthest / TAIL), found.robust.scale, WIDEST * found.robust.scale)
    return Proposed(_in_powers_of_two(Frame(found.robust.centre, scale)), found.robust)


def robust_frame(
    tables: Sequence[Stream],
    held: Sequence[Sequence[int]] | None = None,
    counted: Sequence[Counted] | None = None,
) -> Frame:
    """Medians, and interquartile ranges in standard deviations of a Gaussian, over the rows of all tables.

    `held` says which variables the columns of each table are, if not all; what is `counted` of each need not be read.
    Missing values, NaN, are passed over.
    """
    if counted is None:
        return _summary(*_together(tables, held)).robust
    stream, p = _together(tables, held or [range(len(counted[0].present))] * len(tables))
    return _summary(stream, p, together(counted, held, p)).robust


def exact_moments(stream: Stream, frame: Frame, farthest: Vector) -> Frame:
    """Means and standard deviations, with the same bits in any order of the rows; `frame` must be about right.

    Values are summed on a grid that reaches to the farthest of them.
    """
    p = len(frame.centre)
    reach = np.maximum(frame.scale, farthest / MOMENTS.limit)
    wide = Frame(frame.centre, np.exp2(np.ceil(np.log2(reach))))
    count, total, squares = np.zeros(p, dtype=np.int64), [0] * p, [0] * p
    for chunk in stream():
        for first in range(0, len(chunk), ROWS_PER_SUM):
            q, _ = MOMENTS.whole(wide.express(chunk[first : first + ROWS_PER_SUM]))
            missing = np.isnan(q)
            count += len(q) - missing.sum(axis=0)
            q[missing] = 0.0
            total = [a + int(b) for a, b in zip(total, q.sum(axis=0), strict=True)]
            squares = [a + int(b) for a, b in zip(squares, np.einsum("np,np->p", q, q), strict=True)]
    n = np.maximum(count, 1)
    mean, square = (np.array([float(one) for one in sums]) / n for sums in (total, squares))
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0)) * MOMENTS.step * wide.scale
    return Frame(wide.centre + wide.scale * MOMENTS.step * mean, _positive(deviation))


def own_moments(stream: Stream, p: int) -> Frame:
    """As `exact_moments`, of rows of which nothing is known."""
    found = _summary(stream, p)
    return exact_moments(stream, found.robust, found.farthest)


class _Summary(NamedTuple):
    """Medians and robust scales, and the largest distances from the median."""

    robust: Frame
    farthest: Vector


def _summary(stream: Stream, p: int, counted: Counted | None = None) -> _Summary:
    found = quantiles(stream, p, (0.25, 0.5, 0.75), counted)
    low, centre, high = found.values
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (high - low) / 1.349
        farthest = np.where(found.counted > 0, np.maximum(found.high - centre, centre - found.low), 1.0)
    robust = Frame(centre, _positive(spread))
    flat = ~(spread > 0)  # more than half of the rows may share one value
    if flat.any():
        deviation = exact_moments(stream, robust, _positive(farthest)).scale
        robust = Frame(centre, np.where(flat & (found.counted > 0), deviation, robust.scale))
    return _Summary(robust, _positive(farthest))


def _together(tables: Sequence[Stream], held: Sequence[Sequence[int]] | None) -> tuple[Stream, int]:
    """All rows with all variables, NaN where a table lacks one; and the number of variables."""
    if held is None:
        return (lambda: (chunk for table in tables for chunk in table())), width_of(tables[0])
    p = 1 + max(max(columns) for columns in held)

    def chunks() -> Iterator[Matrix]:
        for table, columns in zip(tables, held, strict=True):
            for chunk in table():
                if list(columns) == list(range(p)):
                    yield chunk
                else:
                    wide = np.full((len(chunk), p), np.nan)
                    wide[:, list(columns)] = chunk
                    yield wide

    return chunks, p


def width_of(table: Stream) -> int:
    """How many columns there are, by the first chunk."""
    return int(next(iter(table())).shape[1])


def spacing(rows: int) -> int:
    """Of how many rows one is looked at."""
    return max(1, rows // SAMPLED_ROWS)


def evenly_spaced(table: Stream, rows: int) -> Matrix:
    """Some thousand of the rows, from the first to the last: tables are often sorted."""
    step, taken, seen = spacing(rows), [], 0
    for chunk in table():
        taken.append(chunk[-seen % step :: step].copy())  # a view would keep the whole chunk in memory
        seen += len(chunk)
    return np.concatenate(taken)


def _in_powers_of_two(frame: Frame) -> Frame:
    return Frame(frame.centre, np.exp2(np.round(np.log2(frame.scale))))


def _positive(scale: Vector) -> Vector:
    """Scales that can be divided by."""
    usable: Vector = np.where((scale > 0) & (scale < np.inf), scale, 1.0)
    return usable
