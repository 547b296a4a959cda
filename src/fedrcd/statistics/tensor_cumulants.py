r"""Cumulant tensors of order 2, 3 and 4, and their exact change when variables are replaced by residuals.

A symmetric tensor of order 4 is kept as a symmetric matrix over pairs, one of order 3 as a matrix of pairs by
variables. Cumulants are multilinear: replacing :math:`x_j` by :math:`x_j - b_j x_s` changes the row of a pair (i, j) to

.. math:: G_{ij} - b_j G_{is} - b_i G_{sj} + b_i b_j G_{ss},

and columns likewise, which is two matrix products and no approximation. Centring is the same operation with the
constant 1 in the place of the source and the means as coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class TensorCumulants:
    """All joint cumulants up to order 4 of p variables.

    `cov` has shape (p, p); `third[(i, j), k]` shape (m, p) and `fourth[(i, j), (k, l)]` shape (m, m), with the
    m = p (p + 1) / 2 pairs numbered by `pair_index`. `mean` has shape (p,).
    """

    count: int
    mean: Vector
    cov: Matrix
    third: Matrix
    fourth: Matrix

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.cov)

    def pairs(self) -> PairCumulants:
        """The cumulants of pairs among them."""
        number = pair_index(self.p).number
        twice = np.diagonal(number)
        k2 = np.diagonal(self.cov)[:, None]
        k12 = self.third[twice].T
        k13 = self.fourth[number, twice[None, :]]
        k22 = self.fourth[np.ix_(twice, twice)]
        k3, k4 = np.diagonal(k12)[:, None], np.diagonal(k13)[:, None]
        return PairCumulants(np.full((1, 1), self.count, dtype=np.int64), k2, self.cov, k3, k12, k4, k13, k22)

    def remove(self, s: int) -> TensorCumulants:
        """Cumulants of the residuals of all other variables given variable s, by least squares."""
        index = pair_index(self.p)
        b = self.cov[:, s] / self.cov[s, s]
        rest = np.flatnonzero(np.arange(self.p) != s)
        kept = index.number[np.ix_(rest, rest)][np.triu_indices(len(rest))]
        with_s = index.number[s]
        A = _pair_map(b, s)[kept]
        third = self.third[kept] + A @ self.third[with_s]
        third = third[:, rest] - np.outer(third[:, s], b[rest])
        fourth = self.fourth[kept] + A @ self.fourth[with_s]
        fourth = fourth[:, kept] + fourth[:, with_s] @ A.T
        cov = self.cov[np.ix_(rest, rest)] - np.outer(b[rest], b[rest]) * self.cov[s, s]
        return TensorCumulants(self.count, self.mean[rest] - b[rest] * self.mean[s], cov, third, fourth)

    def of_combinations(self, W: Matrix) -> tuple[Vector, Vector]:
        """Third and fourth cumulant of w'x for each row w of W, both of shape (rows,)."""
        V = pair_index(self.p).products(W)
        third = np.einsum("rm,rm->r", V, W @ self.third.T)
        fourth = np.einsum("rm,rm->r", V, V @ self.fourth)
        return third, fourth

    def scaled(self, factor: Vector) -> TensorCumulants:
        """The cumulants of x_i * factor_i; `factor` has shape (p,)."""
        index = pair_index(self.p)
        f = factor[index.first] * factor[index.second]
        return TensorCumulants(
            self.count,
            self.mean * factor,
            self.cov * np.outer(factor, factor),
            self.third * np.outer(f, factor),
            self.fourth * f[:, None] * f[None, :],
        )


def _pair_map(b: Vector, s: int) -> Matrix:
    """Matrix A, shape (m, p), with new row (i, j) = old row + A[(i, j)] @ old rows (s, 0), ..., (s, p - 1).

    Rows of pairs that contain s are not meant to be used.
    """
    index = pair_index(len(b))
    A = np.zeros((index.size, len(b)))
    pair = np.arange(index.size)
    np.add.at(A, (pair, index.first), -b[index.second])
    np.add.at(A, (pair, index.second), -b[index.first])
    A[pair, s] += b[index.first] * b[index.second]
    return A


def tensor_cumulants(sums: TensorSums, frame: Frame, estimator: Estimator = "plug-in") -> TensorCumulants:
    """Cumulants in the units of the data, from sums in the frame; the estimators are those of `pair_cumulants`."""
    n, p = sums.count, sums.p
    if n < 4:
        raise StatisticError("cumulants of order 4 need at least 4 rows")
    mean, cov, third, fourth = _central_moments(sums)
    products = products_of_covariances(cov)
    if estimator == "unbiased":
        fourth *= n**2 * (n + 1) / ((n - 1) * (n - 2) * (n - 3))
        products *= n**2 / ((n - 2) * (n - 3))
        third *= n**2 / ((n - 1) * (n - 2))
        cov *= n / (n - 1)
    fourth -= products
    in_frame = TensorCumulants(n, mean, cov, third, fourth).scaled(frame.scale)
    return TensorCumulants(
        n, frame.centre + frame.scale * mean, in_frame.cov, in_frame.third.reshape(-1, p), in_frame.fourth
    )


def _central_moments(sums: TensorSums) -> tuple[Vector, Matrix, Matrix, Matrix]:
    """Mean, and moments of order 2, 3 and 4 about it, the last two over pairs."""
    p = sums.p
    raw = sums.mean_moments()
    index = pair_index(p + 1)
    mean = raw[0, index.number[0, 1:]].copy()
    b = np.concatenate([[0.0], mean])
    with_one = index.number[0]
    A = _pair_map(b, 0)
    # A pair of the constant with x_j changes by its mean only, and the constant with itself not at all.
    A[with_one] = 0.0
    A[with_one[1:], 0] = -mean
    central = raw + A @ raw[with_one]
    central = central + central[:, with_one] @ A.T
    inner = index.number[1:, 1:][np.triu_indices(p)]
    cov = central[0, index.number[1:, 1:]].copy()
    third = central[np.ix_(inner, index.number[0, 1:])]
    return mean, cov, third, central[np.ix_(inner, inner)]


def products_of_covariances(cov: Matrix) -> Matrix:
    """Sum of the three products of covariances in which four variables can be paired, over pairs of pairs."""
    index = pair_index(len(cov))
    i, j = index.first, index.second
    pairs = index.gather(cov)
    total = np.outer(pairs, pairs)
    total += cov[np.ix_(i, i)] * cov[np.ix_(j, j)]
    total += cov[np.ix_(i, j)] * cov[np.ix_(j, i)]
    return total
