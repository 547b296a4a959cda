r"""Edge weights along an order, from the pooled covariance and the number of rows alone.

For each variable j with predecessors P the adaptive lasso minimises

.. math:: \tfrac12 b^\top \Sigma_{PP} b - b^\top \Sigma_{Pj} + \lambda \sum_k |b_k| / |b_k^{ols}|

and what it keeps is fitted again by least squares. `adaptive-lasso` has the paper's fixed
:math:`\lambda = 0.01\bar\sigma` with :math:`\bar\sigma` the mean standard deviation; as printed, it changes with a
common unit of all variables. `bic` chooses :math:`\lambda` per variable on standardised data, as `lingam` does.
`correlation=True` solves the first on the correlation matrix, so that the edges do not depend on units.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

Selection = Literal["adaptive-lasso", "bic", "none"]
SELECTIONS: tuple[str, ...] = get_args(Selection)

NEGLIGIBLE = 1e-12
"""A predictor that accounts for less than this share of a variance is no parent, whatever the penalty."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How edges are selected and weighted once the order is known."""

    selection: Selection = "adaptive-lasso"
    penalty: float = 0.01
    correlation: bool = False

    def __post_init__(self) -> None:
        if self.selection not in SELECTIONS:
            raise ConfigError(
                f"weights must be one of {', '.join(SELECTIONS)}, "
                f"or bootstrap (only discover and FedLiNGAM take it), got {self.selection!r}"
            )
        number = isinstance(self.penalty, Real) and not isinstance(self.penalty, bool)
        if not number or not 0 <= self.penalty < np.inf:
            raise ConfigError(f"penalty must be a number of at least 0, got {self.penalty!r}")

    def along(self, order: IntVector, cov: Matrix, rows: int, constraints: Constraints | None = None) -> Matrix:
        """Effects B, shape (p, p), with B[i, j] the effect of j on i; zero where j does not precede i.

        Edges that `constraints` require are never selected away, forbidden ones never offered.
        """
        sd = np.sqrt(np.diagonal(cov))
        unit = sd if self.correlation or self.selection == "bic" else np.ones(len(cov))
        S = cov / np.outer(unit, unit)
        lam = self.penalty * float(np.mean(sd / unit))

        def pick(target: int, required: IntVector, free: IntVector) -> BoolMatrix:
            return self._select(*partial_out(S, target, required, free), lam, rows)

        edges = (constraints or Constraints.none(len(cov))).grow(order, pick)
        scaled: Matrix = refit(S, edges) * unit[:, None] / unit[None, :]
        return scaled

    def _select(self, gram: Matrix, s: Vector, variance: float, lam: float, rows: int) -> BoolMatrix:
        """Which predecessors are parents, a mask of shape (|P|,)."""
        if len(s) == 0 or self.selection == "none" or (self.selection == "adaptive-lasso" and lam == 0):
            return np.ones(len(s), dtype=bool)
        b = np.linalg.solve(gram, s)
        # In shares of the target's variance the problem has no units, and neither have the solver's tolerances.
        share_gram, share = gram * np.outer(b, b) / variance, s * b / variance
        kept = np.diagonal(share_gram) > NEGLIGIBLE
        if kept.any():
            share_gram, share = share_gram[np.ix_(kept, kept)], share[kept]
            if self.selection == "bic":
                noise = (1 - s @ b / variance) * rows / (rows - len(s) - 1)
                kept[kept] = _choose_by_bic(share_gram, share, float(noise), rows)
            else:
                kept[kept] = _lasso_path(share_gram, share, stop=lam / variance)[:, -1] != 0
        return kept


def refit(cov: Matrix, edges: BoolMatrix) -> Matrix:
    """Least-squares effects B of an acyclic graph: every variable on its parents, ``edges[i, j]`` for j -> i."""
    B = np.zeros(cov.shape)
    for target in np.flatnonzero(edges.any(axis=1)):
        parents = np.flatnonzero(edges[target])
        B[target, parents] = np.linalg.solve(cov[np.ix_(parents, parents)], cov[parents, target])
    return B


def partial_out(S: Matrix, target: int, given: IntVector, others: IntVector) -> tuple[Matrix, Vector, float]:
    """Covariance of `others`, their covariances with the target and its variance, once `given` are regressed out."""
    gram, s, variance = S[np.ix_(others, others)], S[others, target], float(S[target, target])
    if len(given) == 0:
        return gram, s, variance
    cross = S[np.ix_(given, others)]
    weight = np.linalg.solve(S[np.ix_(given, given)], np.column_stack([cross, S[given, target]]))
    gram, s = gram - cross.T @ weight[:, :-1], s - cross.T @ weight[:, -1]
    return gram, s, variance - float(S[given, target] @ weight[:, -1])


def _lasso_path(gram: Matrix, s: Vector, stop: float) -> Matrix:
    """Coefficients along the lasso path down to a penalty, one column per knot."""
    from sklearn.linear_model import lars_path_gram

    _, _, path = lars_path_gram(s, gram, n_samples=1, method="lasso", alpha_min=stop, copy_X=True)
    coefficients: Matrix = path
    return coefficients


def _choose_by_bic(gram: Matrix, s: Vector, noise: float, rows: int) -> BoolMatrix:
    """The knot of the lasso path with the least BIC, as scikit-learn's `LassoLarsIC` computes it from data.

    Everything is in shares of the target's variance; `noise` is the residual variance of least squares, with rows less
    predictors less one degrees of freedom.
    """
    path = _lasso_path(gram, s, stop=0.0)
    residual = np.maximum(1 - 2 * s @ path + np.einsum("ik,ij,jk->k", path, gram, path), 0)
    freedom = np.count_nonzero(np.abs(path) > np.finfo(path.dtype).eps, axis=0)
    criterion = rows * residual / noise + np.log(rows) * freedom
    kept: BoolMatrix = path[:, np.argmin(criterion)] != 0
    return kept
