r"""Edge weights along an order, from the pooled covariance and the number of rows alone.

For each variable j with predecessors P the adaptive lasso minimises

.. math:: \tfrac12 b^\top \Sigma_{PP} b - b^\top \Sigma_{Pj} + \lambda \sum_k |b_k| / |b_k^{ols}|

and what it keeps is fitted again by least squares. `adaptive-lasso` has the paper's fixed
:math:`\lambda = 0.01\bar\sigma` with :math:`\bar\sigma` the mean standard deviation; `bic` chooses
:math:`\lambda` per variable on standardised data, as `lingam` does. `correlation=True` solves the first
on the correlation matrix, so that the edges do not depend on units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

Selection = Literal["adaptive-lasso", "bic", "none"]


@dataclass(frozen=True, slots=True)
class Weights:
    """How edges are selected and weighted once the order is known."""

    selection: Selection = "adaptive-lasso"
    penalty: float = 0.01
    correlation: bool = False

    def __post_init__(self) -> None:
        if self.selection not in get_args(Selection):
            raise ConfigError(f"weights must be one of {', '.join(get_args(Selection))}, got {self.selection!r}")
        if not self.penalty >= 0:
            raise ConfigError(f"penalty must be at least 0, got {self.penalty!r}")

    def along(self, order: IntVector, cov: Matrix, rows: int) -> Matrix:
        """Effects B, shape (p, p), with B[i, j] the effect of j on i; zero where j does not precede i."""
        sd = np.sqrt(np.diagonal(cov))
        unit = sd if self.correlation or self.selection == "bic" else np.ones(len(cov))
        S = cov / np.outer(unit, unit)
        lam = self.penalty * float(np.mean(sd / unit))
        B = np.zeros_like(cov)
        for position in range(1, len(order)):
            target, given = order[position], order[:position]
            gram, s = S[np.ix_(given, given)], S[given, target]
            kept = self._select(gram, s, float(S[target, target]), lam, rows)
            if kept.any():
                B[target, given[kept]] = np.linalg.solve(gram[np.ix_(kept, kept)], s[kept])
        scaled: Matrix = B * unit[:, None] / unit[None, :]
        return scaled

    def _select(self, gram: Matrix, s: Vector, variance: float, lam: float, rows: int) -> BoolMatrix:
        """Which predecessors are parents, a mask of shape (|P|,)."""
        if self.selection == "none":
            return np.ones(len(s), dtype=bool)
        ols = np.abs(np.linalg.solve(gram, s))
        weighted_gram, weighted_s = gram * np.outer(ols, ols), s * ols
        if self.selection == "bic":
            return _choose_by_bic(weighted_gram, weighted_s, variance, rows)
        path = _lasso_path(weighted_gram, weighted_s, stop=lam)
        kept: BoolMatrix = path[:, -1] != 0
        return kept


def _lasso_path(gram: Matrix, s: Vector, stop: float) -> Matrix:
    """Coefficients along the lasso path down to a penalty, one column per knot."""
    from sklearn.linear_model import lars_path_gram

    _, _, path = lars_path_gram(s, gram, n_samples=1, method="lasso", alpha_min=stop, copy_X=True)
    coefficients: Matrix = path
    return coefficients


def _choose_by_bic(gram: Matrix, s: Vector, variance: float, rows: int) -> BoolMatrix:
    """The knot of the lasso path with the least BIC, as scikit-learn's `LassoLarsIC` computes it from data."""
    path = _lasso_path(gram, s, stop=0.0)
    residual = np.maximum(variance - 2 * s @ path + np.einsum("ik,ij,jk->k", path, gram, path), 0)
    freedom = np.count_nonzero(np.abs(path) > np.finfo(path.dtype).eps, axis=0)
    ols_residual = variance - s @ np.linalg.solve(gram, s)
    noise = ols_residual * rows / (rows - len(s) - 1)
    criterion = rows * residual / noise + np.log(rows) * freedom
    kept: BoolMatrix = path[:, np.argmin(criterion)] != 0
    return kept
