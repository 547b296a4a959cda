r"""The public reference frame in which every sum is taken.

Sites never sum powers of raw values: the fourth moment of a variable with mean 1e4 and standard deviation 1
has no correct digit left in float64 once it is centred. They sum powers of

.. math:: z_j = (x_j - c_j) / s_j

with a centre and a scale per variable that are agreed before the first round. In float arithmetic results do not
depend on the frame beyond rounding; it only has to be roughly right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.typing import Matrix, Vector

SAMPLED_ROWS = 8192
"""How many rows of a table `propose_frame` looks at."""

TAIL = 32
"""Scales within which sampled rows lie: half of what the grid holds, for rows that were not sampled."""

WIDEST = 64
"""Robust scales that a proposed scale is at most."""


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

    def express(self, rows: Matrix, out: Matrix | None = None) -> Matrix:
        """Rows in this frame, z; written to `out` if given."""
        z = np.subtract(rows, self.centre, out=out)
        return np.divide(z, self.scale, out=z)


def propose_frame(
    tables: Sequence[Matrix], held: Sequence[Sequence[int]] | None = None, *, tails: bool = False
) -> Frame:
    """A frame for tables that lie in one process, from evenly spaced rows of each.

    Evenly spaced rather than first rows: tables are often sorted. Scales are rounded to powers of two, so that
    expressing a value in the frame rounds once, not twice. `held` is as in `robust_frame`.

    With `tails`, for sums that clip, scales are standard deviations and the sampled rows lie within `TAIL` of them: a
    cubed Gaussian has values 200 robust scales out. But at most `WIDEST` robust scales, so that one gross error does
    not leave all other rows without digits.
    """
    sampled = [rows[:: max(1, len(rows) // SAMPLED_ROWS)] for rows in tables]
    centre, scale, deviation, farthest = _summaries(sampled, held)
    if tails:
        scale = np.clip(np.maximum(deviation, farthest / TAIL), scale, WIDEST * scale)
    return Frame(centre, np.exp2(np.round(np.log2(scale))))


def robust_frame(tables: Sequence[Matrix], held: Sequence[Sequence[int]] | None = None) -> Frame:
    """Medians, and interquartile ranges in standard deviations of a Gaussian, over the rows of all tables.

    `held` says which variables the columns of each table are, if not all. Missing values, NaN, are passed over.
    """
    centre, scale, _, _ = _summaries(tables, held)
    return Frame(centre, scale)


def _summaries(tables: Sequence[Matrix], held: Sequence[Sequence[int]] | None) -> Matrix:
    """Median, robust scale, standard deviation and largest distance from the median of all variables, shape (4, p)."""
    if held is None:
        held = [range(rows.shape[1]) for rows in tables]
    p = 1 + max(max(columns) for columns in held)
    gathered: list[list[Vector]] = [[] for _ in range(p)]
    for rows, columns in zip(tables, held, strict=True):
        for j, values in zip(columns, rows.T, strict=True):
            gathered[j].append(values)
    return np.array([_summary(np.concatenate(parts)) for parts in gathered]).T


def _summary(values: Vector) -> tuple[float, float, float, float]:
    """The same of one variable."""
    observed = values[~np.isnan(values)]
    if len(observed) == 0:
        return 0.0, 1.0, 1.0, 1.0
    low, centre, high = np.quantile(observed, [0.25, 0.5, 0.75])
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = observed.std()
        spread = (high - low) / 1.349 or deviation  # more than half of the rows may share one value
        farthest = np.abs(observed - centre).max()
    return float(centre), _positive(spread), _positive(deviation), _positive(farthest)


def _positive(scale: float) -> float:
    return float(scale) if 0 < scale < np.inf else 1.0
