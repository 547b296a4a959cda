r"""Sums over sites, not rows, that tell whether sites differ by more than sampling error.

Every site sends, per variable, powers of its own mean m and variance v weighted by its rows n. From the pooled sums

.. math:: Q_m = \sum_k n_k (m_k - \bar m)^2 / \bar v, \qquad Q_v = \sum_k n_k (v_k - \bar v)^2 / \overline{\mu_4 - v^2}

are near K - 1 for K alike sites, whatever the shape of the variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.sums import Moments, OneArray
from fedrcd.typing import Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class SiteMoments(OneArray):
    """Sums over sites per variable, shape (7, p): 1, n, n m, n m², n v, n v², n μ₄; `+` pools them."""

    sums: Matrix

    kind: ClassVar[str] = "site moments"

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        return int(np.count_nonzero(self.sums[0])) * len(self.sums)

    @property
    def most_rows(self) -> int:
        """The largest number of rows behind any variable."""
        return round(float(self.sums[1].max(initial=0)))

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless all sums are finite."""
        finite = np.isfinite(self.sums).all(axis=0)
        if not finite.all():
            where = int(np.argmin(finite))
            raise StatisticError(f"powers of column {names[where]!r} overflow" if names else "sums overflow")

    def moments_of_variables(self) -> Moments:
        """Of all rows, within and between sites."""
        _, n, nm, nm2, nv, *_ = self.sums
        return Moments.of(n, nm, nv + nm2)

    def site_moments(self) -> SiteMoments:
        """These moments: they left a site."""
        return self

    def spread(self, chosen: Sequence[int], p: int) -> SiteMoments:
        """These sums as those of variables `chosen` among p."""
        sums = np.zeros((len(self.sums), p))
        sums[:, list(chosen)] = self.sums
        return SiteMoments(sums)

    def excess(self) -> tuple[Vector, Vector]:
        """How far means and variances differ between sites beyond sampling error, in standard deviations of Q."""
        sites, n, nm, nm2, nv, nv2, n4 = self.sums
        mean, variance = nm / n, nv / n
        freedom = np.maximum(sites - 1, 1)
        means = (nm2 - n * mean**2) / variance
        variances = (nv2 - n * variance**2) / np.maximum(n4 / n - variance**2, 1e-12 * variance**2)
        scale = np.sqrt(2 * freedom)
        alone = sites < 2
        return (
            np.where(alone, 0.0, (means - freedom) / scale),
            np.where(alone, 0.0, (variances - freedom) / scale),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PowerSums(OneArray):
    """Sums over rows of powers 0 to 4 of each variable, shape (5, p): what a site's moments are computed from."""

    sums: Matrix

    kind: ClassVar[str] = "power sums"

    @property
    def numbers(self) -> int:
        """How many numbers these are; they do not travel."""
        return self.sums.size

    @property
    def most_rows(self) -> int:
        """The largest number of rows behind any variable."""
        return round(float(self.sums[0].max(initial=0)))

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless all sums are finite."""
        SiteMoments(self.sums).check(names)

    def site_moments(self) -> SiteMoments:
        """Powers of the mean, the variance and the fourth central moment, weighted by rows."""
        n = self.sums[0]
        m, m2, m3, m4 = self.sums[1:] / n
        v = m2 - m**2
        fourth = m4 - 4 * m * m3 + 6 * m**2 * m2 - 3 * m**4
        return SiteMoments(np.stack([np.ones_like(n), n, n * m, n * m**2, n * v, n * v**2, n * fourth]))


def power_sums(blocks: Iterable[Matrix], p: int) -> PowerSums:
    """Power sums of rows that arrive in blocks; missing values, NaN, are passed over."""
    total = np.zeros((5, p))
    for z in blocks:
        observed = np.isfinite(z)
        filled = np.where(observed, z, 0.0)
        total += [observed.sum(axis=0), *((filled**power).sum(axis=0) for power in range(1, 5))]
    return PowerSums(total)
