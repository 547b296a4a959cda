r"""Tests of a model's assumptions from sums of its residuals.

Residuals u are those of every variable given all that precede it in the order, standardised; in the sample they have
mean 0, variance 1 and no correlation. If the model holds they are independent in the population. Sampling errors take
into account that the regressions were fitted to the same rows: with u_i before u_j and moments
:math:`\mu_k`, the statistics behave as the mean over rows of

==========================  =============================================================
mean of :math:`u_i^2 u_j`   :math:`(u_i^2 - 1 - \mu_{3,i} u_i)\, u_j`
mean of :math:`u_j^2 u_i`   :math:`u_i\, (u_j^2 - 1)`
mean of :math:`u_i^3 u_j`   :math:`(u_i^3 - \mu_{3,i} - \mu_{4,i} u_i)\, u_j`
mean of :math:`u_j^3 u_i`   :math:`u_i\, (u_j^3 - \mu_{3,j} - 3 u_j)`
mean of :math:`u_i^2 u_j^2` :math:`(u_i^2 - 1)(u_j^2 - 1)`, less one
==========================  =============================================================

all products of a function of u_i and one of u_j, so that under independence their covariances are products of moments
of single residuals up to order 6. The quadratic form T in the five has mean d, their number, but with few rows or heavy
tails a larger variance than chi-squared: by the fourth moment of the whitened five over n. It is compared with the
scaled F distribution of that mean and variance, which needs moments of single residuals up to order 12; where the
variance is more than `TOO_WILD` times that of chi-squared, nothing is said.

A quadratic test of linearity asks whether :math:`u_j` goes along with :math:`y_a^2`, which behaves as :math:`u_j` times
the residual of :math:`y_a^2` given all that precedes j.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.statistics.site_moments import SiteMoments
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

TOO_WILD = 1.6
"""Times the variance of chi-squared from which a statistic is not relied on: a handful of rows would decide."""

DEGENERATE = 1e-8
"""Share of the largest eigenvalue below which a direction of the five statistics has no variance (two-point noise)."""


class NonGaussianity(NamedTuple):
    """Skewness and excess kurtosis of each residual with standard errors, and p-values of a Gaussian one."""

    skewness: Vector
    skewness_error: Vector
    kurtosis: Vector
    kurtosis_error: Vector
    p_values: Vector


def non_gaussianity(sums: ResidualSums) -> NonGaussianity:
    """How far each residual is from Gaussian: a chi-squared statistic of both cumulants, as for Gaussian rows."""
    from scipy.stats import chi2

    n, m = sums.count, _moments(sums)
    skew, kurt = m[3], m[4] - 3
    # Influence of a row: u³ - 3u - g - 1.5 g (u² - 1), and u⁴ - 4 g u - m4 - 2 m4 (u² - 1).
    skew_variance = _variance_of(m, {3: 1.0, 2: -1.5 * skew, 1: -3.0})
    kurt_variance = _variance_of(m, {4: 1.0, 2: -2 * m[4], 1: -4 * skew})
    statistic = n * (skew**2 / 6 + kurt**2 / 24)
    return NonGaussianity(skew, np.sqrt(skew_variance / n), kurt, np.sqrt(kurt_variance / n), chi2.sf(statistic, 2))


class Tests(NamedTuple):
    """P-values, shape (p, p), ones where nothing is tested.

    `wildness` is how many times the variance of chi-squared each statistic has.
    """

    p_values: Matrix
    wildness: Matrix

    @property
    def tells(self) -> BoolMatrix:
        """Pairs whose p-value can be relied on."""
        tells: BoolMatrix = self.wildness <= TOO_WILD
        return tells


def independence(sums: ResidualSums, order: IntVector) -> Tests:
    """Tests of all pairs of residuals by their cross cumulants of order 3 and 4."""
    n, m = sums.count, _moments(sums)
    p = len(order)
    earlier, later = (_feature_moments(features, m) for features in _features(m))
    p_values, wildness = np.ones((p, p)), np.ones((p, p))
    for place, j in enumerate(order[1:], 1):
        i = order[:place]
        seen = np.stack([sums.c21[i, j], sums.c21[j, i], sums.c31[i, j], sums.c31[j, i], sums.c22[i, j] - n], axis=1)
        inverse, d = _inverses(earlier.second[i] * later.second[j])
        flat = inverse.reshape(place, -1)
        fourth = np.einsum("ka,kab,kb->k", flat, earlier.fourth[i] * later.fourth[j], flat, optimize=True)
        spread = np.maximum(1.0, 1 + (fourth - d * d - 2 * d) / (2 * d * n))
        statistic = np.einsum("ka,kab,kb->k", seen, inverse, seen) / n
        p_values[i, j] = p_values[j, i] = _tail(statistic, d, spread)
        wildness[i, j] = wildness[j, i] = spread
    return Tests(p_values, wildness)


def linearity(sums: ResidualSums, order: IntVector, edges: BoolMatrix) -> Tests:
    """Tests for a quadratic part of each edge, [i, j] for j -> i; ones where there is no edge."""
    n, m = sums.count, _moments(sums)
    fourth, sixth, eighth = sums.even / n
    along = sums.squares / n  # mean of y_a² u_k at [a, k]
    explained = np.zeros(along.shape)
    explained[:, order[1:]] = np.cumsum(along[:, order] ** 2, axis=1)[:, :-1]  # by all that precedes k
    left = (fourth - 1)[:, None] - explained
    usable = left > 1e-6 * fourth[:, None]  # a variable of two values is its own square
    statistic = np.divide(n * along**2, left, out=np.zeros_like(along), where=usable)
    kurtosis = (eighth - 4 * sixth + 6 * fourth - 3) / np.maximum(fourth - 1, DEGENERATE) ** 2
    wildness = np.maximum(1.0, 1 + (np.outer(kurtosis, m[4]) - 3) / (2 * n))
    p_values = _tail(statistic, 1, wildness)
    return Tests(np.where(edges, p_values.T, 1.0), np.where(edges, wildness.T, 1.0))


def sites_alike(moments: SiteMoments) -> tuple[Vector, Vector]:
    """P-values that all sites share the mean, and the variance, of each residual; ones for a single site.

    Residuals rather than variables: they are uncorrelated, and a cause that differs does not implicate its effects.
    """
    from scipy.stats import chi2

    sites = moments.sums[0]
    freedom = np.maximum(sites - 1, 1)
    means, variances = (excess * np.sqrt(2 * freedom) + freedom for excess in moments.excess())
    alone = sites < 2
    return np.where(alone, 1.0, chi2.sf(means, freedom)), np.where(alone, 1.0, chi2.sf(variances, freedom))


def at_least_one(p_values: Vector) -> float:
    """P-value of the smallest of several, under independence (Sidak)."""
    if len(p_values) == 0:
        return 1.0
    return float(-np.expm1(len(p_values) * np.log1p(-min(float(np.min(p_values)), 1 - 1e-16))))


def _tail(statistic: Any, freedom: Any, wildness: Any) -> Any:
    """Upper tail of the F distribution, scaled to the mean of chi-squared and `wildness` times its variance."""
    from scipy.stats import f

    # A hair above one stands for chi-squared itself, which is F with infinitely many degrees of freedom.
    spread = np.maximum(wildness, 1 + 1e-6)
    second = (freedom - 2 + 4 * spread) / (spread - 1)
    return f.sf(statistic / freedom * second / (second - 2), freedom, second)


def _moments(sums: ResidualSums) -> Matrix:
    """Means of u^0 to u^12, shape (13, p)."""
    moments: Matrix = sums.powers / sums.count
    return moments


def _variance_of(m: Matrix, terms: dict[int, float | Vector]) -> Vector:
    """Variance over rows of a sum of powers of each residual, with coefficients of shape (p,)."""
    mean = np.sum([a * m[k] for k, a in terms.items()], axis=0)
    second = np.sum([a * b * m[k + j] for k, a in terms.items() for j, b in terms.items()], axis=0)
    variance: Vector = np.maximum(second - mean**2, 0.0)
    return variance


def _features(m: Matrix) -> tuple[Matrix, Matrix]:
    """Coefficients of 1, u, u², u³ in the five functions of an earlier and of a later residual, (p, 5, 4) each."""
    one, zero = np.ones(m.shape[1]), np.zeros(m.shape[1])
    first = [
        (-one, -m[3], one, zero),
        (zero, one, zero, zero),
        (-m[3], -m[4], zero, one),
        (zero, one, zero, zero),
        (-one, zero, one, zero),
    ]
    second = [
        (zero, one, zero, zero),
        (-one, zero, one, zero),
        (zero, one, zero, zero),
        (-m[3], -3 * one, zero, one),
        (-one, zero, one, zero),
    ]
    return np.array(first).transpose(2, 0, 1), np.array(second).transpose(2, 0, 1)


class _FeatureMoments(NamedTuple):
    """Mean products of two and of four of the five functions, (p, 5, 5) and (p, 25, 25)."""

    second: Matrix
    fourth: Matrix


def _feature_moments(features: Matrix, m: Matrix) -> _FeatureMoments:
    pairs = np.zeros((len(features), 25, 7))
    for a in range(4):
        for b in range(4):
            pairs[:, :, a + b] += (features[:, :, None, a] * features[:, None, :, b]).reshape(-1, 25)
    return _FeatureMoments(_mean_products(features, m), _mean_products(pairs, m))


def _mean_products(polynomials: Matrix, m: Matrix) -> Matrix:
    """Mean products of all pairs of polynomials of each residual, given by coefficients, shape (p, k, degree + 1)."""
    size = polynomials.shape[-1]
    hankel = np.stack([m[a : a + size] for a in range(size)]).transpose(2, 0, 1)  # [residual, a, b]: moment a + b
    products: Matrix = polynomials @ hankel @ polynomials.transpose(0, 2, 1)
    return products


def _inverses(covariances: Matrix) -> tuple[Matrix, IntVector]:
    """Inverses of covariances, shape (k, m, m), and their ranks; directions without variance are left out."""
    scale = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    held = scale > DEGENERATE * scale.max(axis=1, keepdims=True)
    safe = np.where(held, scale, 1.0)
    both = held[:, :, None] & held[:, None, :]
    correlations = np.where(both, covariances / (safe[:, :, None] * safe[:, None, :]), 0.0)
    values, vectors = np.linalg.eigh(correlations)
    kept = values > DEGENERATE * values[:, -1:]
    root = vectors * np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)[:, None, :] / safe[:, :, None]
    return root @ root.transpose(0, 2, 1), kept.sum(axis=1)
