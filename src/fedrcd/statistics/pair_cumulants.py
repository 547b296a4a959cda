r"""Cumulants of every pair of variables, from pair sums.

:math:`\kappa_{a,b}(x_i, x_j)` takes a copies of :math:`x_i` and b copies of :math:`x_j`; the array `k13` holds
:math:`\kappa_{1,3}(x_i, x_j)` at [i, j], and so on. Two estimators are offered:

- `plug-in`: the cumulants of the empirical distribution (ddof 0), what `lingam` and the centralised baselines use;
- `unbiased`: multivariate k-statistics, the unbiased aggregated estimators that the paper's propositions assume.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.typing import IntMatrix, IntVector, Matrix, Vector

Estimator = Literal["plug-in", "unbiased"]


def _empty() -> Matrix:
    return np.empty((0, 0))


@dataclass(frozen=True, slots=True, eq=False)
class PairCumulants:
    """Cumulants up to order 2, 3 or 4 of all pairs; arrays above the order are empty.

    `k2`, `k3` and `k4` are the cumulants of x_i over the rows of the pair (i, j): shape (p, 1) where all rows are
    complete, else (p, p). The others have shape (p, p).
    """

    count: IntMatrix
    k2: Matrix
    cov: Matrix
    k3: Matrix = field(default_factory=_empty)
    k12: Matrix = field(default_factory=_empty)
    k4: Matrix = field(default_factory=_empty)
    k13: Matrix = field(default_factory=_empty)
    k22: Matrix = field(default_factory=_empty)

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.cov)

    @property
    def k21(self) -> Matrix:
        """Two copies of x_i and one of x_j."""
        return self.k12.T

    @property
    def k31(self) -> Matrix:
        """Three copies of x_i and one of x_j."""
        return self.k13.T

    def keep(self, chosen: Sequence[int]) -> PairCumulants:
        """The cumulants of some of the variables, in the order given."""
        index = np.asarray(chosen)
        return PairCumulants(*(_take(getattr(self, each.name), index) for each in fields(self)))

    def scaled(self, factor: Vector) -> PairCumulants:
        """The cumulants of x_i * factor_i; `factor` has shape (p,)."""
        return self._rescaled(factor[:, None], factor[None, :])

    def _rescaled(self, f: Matrix, g: Matrix) -> PairCumulants:
        """The cumulants at [i, j] of x_i * f[i, j] and x_j * g[i, j]."""
        scaled: list[Any] = [self.count, self.k2 * f**2, self.cov * (f * g)]
        if self.k12.size:
            scaled += [self.k3 * f**3, self.k12 * (f * g**2)]
        if self.k13.size:
            scaled += [self.k4 * f**4, self.k13 * (f * g**3), self.k22 * (f * g) ** 2]
        return PairCumulants(*scaled)

    def standardised(self) -> PairCumulants:
        """The cumulants of the variables divided by their standard deviation."""
        return self.scaled(1 / np.sqrt(np.diagonal(self.cov)))

    def harmonised(self) -> PairCumulants:
        """The same in common units where pairs come from different rows.

        The cumulants of a pair are divided by the standard deviations over the pair's own rows and multiplied by those
        over all rows of each variable: correlations stay within one, and the cumulants of x_i alone stay those of the
        rows it is paired on.
        """
        f = np.sqrt(np.diagonal(self.cov)[:, None] / self.k2)
        return self._rescaled(f, f.T)


def _take(array: Any, index: IntVector) -> Any:
    if array.size == 0 or array.shape == (1, 1):
        return array
    return array[index] if array.shape[1] == 1 else array[np.ix_(index, index)]


def pair_cumulants(sums: PairSums, frame: Frame, estimator: Estimator = "plug-in") -> PairCumulants:
    """Cumulants in the units of the data, from sums in the frame.

    Parameters
    ----------
    sums : PairSums
        Of any order >= 2.
    frame : Frame
        The frame in which the sums were taken; for residuals, the frame of the variables they belong to.
    estimator : {"plug-in", "unbiased"}
        Cumulants of the empirical distribution, or k-statistics.
    """
    if (sums.count < sums.order).any():
        raise StatisticError(f"cumulants of order {sums.order} need at least {sums.order} rows for every pair")
    moments = _central_moments(sums)
    in_frame = _k_statistics(sums, moments) if estimator == "unbiased" else _plug_in(sums, moments)
    return in_frame.scaled(frame.scale)


def _central_moments(sums: PairSums) -> dict[tuple[int, int], Matrix]:
    """Moments about the mean of each pair's own rows, ddof 0, keyed by (a, b) for i^a j^b."""
    n = sums.count

    def raw(a: int, b: int) -> Matrix:
        moment: Matrix = sums.at(a, b) / n
        return moment

    u, v = raw(1, 0), raw(0, 1)
    central = {(2, 0): raw(2, 0) - u**2, (1, 1): raw(1, 1) - u * v}
    if sums.order >= 3:
        central[3, 0] = raw(3, 0) - 3 * u * raw(2, 0) + 2 * u**3
        central[1, 2] = raw(1, 2) - u * raw(0, 2) - 2 * v * raw(1, 1) + 2 * u * v**2
    if sums.order >= 4:
        central[4, 0] = raw(4, 0) - 4 * u * raw(3, 0) + 6 * u**2 * raw(2, 0) - 3 * u**4
        central[1, 3] = (
            raw(1, 3) - u * raw(0, 3) - 3 * v * raw(1, 2) + 3 * v**2 * raw(1, 1) + 3 * u * v * raw(0, 2)
        ) - 3 * u * v**3
        central[2, 2] = (raw(2, 2) - 2 * v * raw(2, 1) - 2 * u * raw(1, 2) + v**2 * raw(2, 0) + u**2 * raw(0, 2)) + (
            4 * u * v * raw(1, 1) - 3 * (u * v) ** 2
        )
    return central


def _plug_in(sums: PairSums, m: dict[tuple[int, int], Matrix]) -> PairCumulants:
    r"""Cumulants of the empirical distribution, e.g. :math:`\kappa_{1,3} = m_{13} - 3 m_{11} m_{02}`."""
    parts: list[Any] = [sums.count, m[2, 0], m[1, 1]]
    if sums.order >= 3:
        parts += [m[3, 0], m[1, 2]]
    if sums.order >= 4:
        m02 = m[2, 0].T
        parts += [
            m[4, 0] - 3 * m[2, 0] ** 2,
            m[1, 3] - 3 * m[1, 1] * m02,
            m[2, 2] - m[2, 0] * m02 - 2 * m[1, 1] ** 2,
        ]
    return PairCumulants(*parts)


def _k_statistics(sums: PairSums, m: dict[tuple[int, int], Matrix]) -> PairCumulants:
    """Unbiased estimators; see Kendall and Stuart, The Advanced Theory of Statistics I, chapters 12 and 13."""
    n = sums.count.astype(float)
    second = n / (n - 1)
    parts: list[Any] = [sums.count, second * m[2, 0], second * m[1, 1]]
    if sums.order >= 3:
        third = n**2 / ((n - 1) * (n - 2))
        parts += [third * m[3, 0], third * m[1, 2]]
    if sums.order >= 4:
        m02 = m[2, 0].T
        fourth = n**2 / ((n - 1) * (n - 2) * (n - 3))
        parts += [
            fourth * ((n + 1) * m[4, 0] - 3 * (n - 1) * m[2, 0] ** 2),
            fourth * ((n + 1) * m[1, 3] - 3 * (n - 1) * m[1, 1] * m02),
            fourth * ((n + 1) * m[2, 2] - (n - 1) * (m[2, 0] * m02 + 2 * m[1, 1] ** 2)),
        ]
    return PairCumulants(*parts)
