r"""The grid of whole numbers on which sums are exact.

In float64 the sum of a table depends on the order in which rows are added, so what is taken away is never quite what
was put in. Whole numbers have no such trouble: with

.. math:: q = \mathrm{clip}(\mathrm{round}(z / \text{step}), -2^{b-1}, 2^{b-1}), \qquad \text{step} = c / 2^{b-1},

every sum of products of q is a whole number that any machine finds to the bit, however rows are split. The frame and
the grid must be fixed in advance: derived from the rows, they would change when a row leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.typing import Matrix

MAP_BITS = 20
"""Residual maps are rounded to multiples of 2^-20."""

MOST_BITS = 21
"""With more the square of a value would not split into two limbs."""

EXACT_UP_TO = 2.0**53
"""Whole numbers beyond this are not all float64."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Values are clipped at `limit` scales and rounded to one of 2^bits steps."""

    bits: int = 21
    limit: int = 64

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= MOST_BITS:
            raise ConfigError(f"a grid has 2 to {MOST_BITS} bits")
        if self.limit < 1 or self.limit & (self.limit - 1):
            raise ConfigError("the limit of a grid must be a power of two")

    @property
    def largest(self) -> int:
        """The largest whole number of the grid."""
        return 1 << (self.bits - 1)

    @property
    def step(self) -> float:
        """How far apart values are, in scales; a power of two, so that dividing by it rounds nothing."""
        return self.limit / self.largest

    def whole(self, z: Matrix, out: Matrix | None = None) -> tuple[Matrix, int]:
        """Values in the frame as whole numbers, kept as float64, and how many were clipped; NaN stays NaN."""
        return self._clipped(np.multiply(z, 1 / self.step, out=out))

    def snapped(self, z: Matrix) -> Matrix:
        """Values in the frame, clipped and rounded to the grid."""
        return self.whole(z)[0] * self.step

    def whole_residuals(self, q: Matrix, R: Matrix) -> tuple[Matrix, int]:
        """Residuals R q of whole rows as whole numbers of the same grid, and how many were clipped.

        R must be on the grid of maps: then R q is exact in float64 before it is rounded, on any machine.
        """
        largest = float(np.abs(R).sum(axis=1).max(initial=0.0)) * self.largest * 2.0**MAP_BITS
        if not (rounded_map(R) == R).all() or not largest <= EXACT_UP_TO:
            raise ProtocolError("the residual map is not on the exact grid, or its coefficients are too large for it")
        return self._clipped(q @ R.T)

    def _clipped(self, q: Matrix) -> tuple[Matrix, int]:
        """Round and clip in place."""
        np.rint(q, out=q)
        largest = self.largest
        if not q.size or (np.fmax.reduce(q, axis=None) <= largest and np.fmin.reduce(q, axis=None) >= -largest):
            return q, 0
        beyond = int(np.count_nonzero(np.abs(q) > largest))
        return np.clip(q, -largest, largest, out=q), beyond


ARITHMETIC: Mapping[str, Grid | None] = {"float": None, "exact": Grid(21, 64), "compact": Grid(11, 64)}
"""Names of the ways to sum: in float64; exactly; exactly in half the bytes, on a coarser grid."""


def rounded_map(R: Matrix) -> Matrix:
    """A residual map on the grid of maps."""
    return np.rint(R * 2.0**MAP_BITS) / 2.0**MAP_BITS
