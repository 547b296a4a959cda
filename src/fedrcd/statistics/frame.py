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

    def express(self, rows: Matrix, out: Matrix | None = None) -> Matrix:
        """Rows in this frame, z; written to `out` if given."""
        z = np.subtract(rows, self.centre, out=out)
        return np.divide(z, self.scale, out=z)


def propose_frame(tables: Sequence[Matrix]) -> Frame:
    """A frame for tables that lie in one process: medians and robust scales of evenly spaced rows of each.

    Evenly spaced rather than first rows: tables are often sorted. Scales are the interquartile range of a Gaussian with
    standard deviation 1, rounded to powers of two so that expressing a value in the frame rounds once, not twice.
    """
    sample = np.concatenate([rows[:: max(1, len(rows) // SAMPLED_ROWS)] for rows in tables])
    low, centre, high = np.quantile(sample, [0.25, 0.5, 0.75], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (high - low) / 1.349
        spread = np.where(spread > 0, spread, sample.std(axis=0))  # more than half of the rows may share one value
    spread[~((spread > 0) & np.isfinite(spread))] = 1.0
    return Frame(centre, np.exp2(np.round(np.log2(spread))))
