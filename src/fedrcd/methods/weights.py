r"""Edge weights along an order, from the pooled covariance and the number of rows alone.

For each variable j with predecessors P the adaptive lasso minimises

.. math:: \tfrac12 b^\top \Sigma_{PP} b - b^\top \Sigma_{Pj} + \lambda \sum_k |b_k| / |b_k^{ols}|

and what it keeps is fitted again by least squares. `adaptive-lasso` has the paper's fixed
:math:`\lambda = 0.01\bar\sigma` with :math:`\bar\sigma` the mean standard deviation; as printed, it changes with a
common unit of all variables. `bic` chooses :math:`\lambda` per variable on standardised data, as `lingam` does.
`guarded` takes the least significant candidate away, again and again, until all others have
:math:`t^2 \ge \log N + 2 \log p`, the extended BIC (Chen and Chen, 2008); where the data speak against the model, of
these it keeps what `adaptive-lasso` keeps too, for there every small bias is significant.
`correlation=True` solves the first on the correlation matrix, so that the edges do not depend on units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

Selection = Literal["adaptive-lasso", "bic", "guarded", "none"]
SELECTIONS: tuple[str, ...] = get_args(Selection)

MANY = 150
"""Candidates from which those that the lasso keeps are taken before all others are compared."""

NEGLIGIBLE = 1e-12
"""A predictor that accounts for less than this share of a variance is no parent, whatever the penalty."""

ROUNDING = 1e-9
"""By which a penalty may be exceeded in shares of itself."""

STEPS = 20
"""How often a candidate may enter on average; more would be rounding that never settles."""

TINY = np.finfo(float).tiny


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

    def along(
        self,
        order: IntVector,
        cov: Matrix,
        rows: int,
        constraints: Constraints | None = None,
        *,
        doubted: bool = False,
    ) -> Matrix:
        """Effects B, shape (p, p), with B[i, j] the effect of j on i; zero where j does not precede i.

        Edges that `constraints` require are never selected away, forbidden ones never offered. `doubted` says that the
        data speak against the model.
        """
        sd = np.sqrt(np.diagonal(cov))
        unit = sd if self.correlation or self.selection == "bic" else np.ones(len(cov))
        S = cov / np.outer(unit, unit)
        lam = self.penalty * float(np.mean(sd / unit))
        on_all_before = _regressions(S, order)
        if self.selection == "none" and constraints is None:
            B = np.zeros_like(S)
            for k, target in enumerate(order):
                B[target, order[:k]] = on_all_before[int(target)]
            in_units: Matrix = B * unit[:, None] / unit[None, :]
            return in_units

        def pick(target: int, required: IntVector, free: IntVector) -> BoolMatrix:
            everything = len(free) == len(on_all_before[target])
            candidates = Candidates.of(S, target, required, free, on_all_before[target] if everything else None)
            return self._select(candidates, lam, rows, doubted=doubted)

        edges = (constraints or Constraints.none(len(cov))).grow(order, pick)
        scaled: Matrix = refit(S, edges) * unit[:, None] / unit[None, :]
        return scaled

    def _select(self, candidates: Candidates, lam: float, rows: int, *, doubted: bool) -> BoolMatrix:
        """Which predecessors are parents, a mask of shape (|P|,)."""
        kept = np.ones(len(candidates.b), dtype=bool)
        if len(kept) == 0 or self.selection == "none" or (self.selection == "adaptive-lasso" and lam == 0):
            return kept
        kept = candidates.diagonal > NEGLIGIBLE
        if kept.any():
            some = candidates.keep(kept)
            if self.selection == "bic":
                noise = (1 - candidates.share.sum()) * rows / (rows - len(candidates.b) - 1)
                kept[kept] = _choose_by_bic(some.shares(np.arange(len(some.b))), some.share, float(noise), rows)
            else:
                careful = self.selection == "adaptive-lasso" or doubted or len(some.b) > MANY
                if careful:
                    kept[kept] = _lasso(some, stop=lam / some.variance)
                if self.selection == "guarded":
                    kept[kept] = _significant(candidates, kept, rows)
        return kept


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Possible parents of a target: their covariances, and the coefficients b of least squares on all of them.

    In shares of the target's variance the problem has no units, and neither have the solver's tolerances. The matrix
    of shares is not made as a whole: few candidates come near to being parents.
    """

    S: Matrix
    places: IntVector
    """Where the candidates stand in S."""
    b: Vector
    share: Vector
    pull: Vector
    """Their covariances with the target."""
    variance: float
    given: int = 0
    """How many are regressed out."""

    @classmethod
    def of(cls, S: Matrix, target: int, given: IntVector, others: IntVector, b: Vector | None) -> Candidates:
        """The others once `given` are regressed out; b where it is known already."""
        if len(given):
            gram, s, variance = partial_out(S, target, given, others)
            places = np.arange(len(others))
        else:
            gram, places, s, variance = S, others, S[others, target], float(S[target, target])
        if b is None:
            solved: Any = np.linalg.solve(gram[np.ix_(places, places)], s)
            b = np.asarray(solved)
        return cls(gram, places, b, s * b / variance, s, variance, len(given))

    @property
    def diagonal(self) -> Vector:
        """The shares of single candidates."""
        return self.S[self.places, self.places] * self.b**2 / self.variance

    def keep(self, kept: BoolMatrix) -> Candidates:
        """Some of them, with their coefficients among all."""
        return replace(self, places=self.places[kept], b=self.b[kept], share=self.share[kept], pull=self.pull[kept])

    def shares(self, some: IntVector) -> Matrix:
        """The matrix of shares of some of them."""
        places, b = self.places[some], self.b[some]
        return self.S[np.ix_(places, places)] * np.outer(b, b) / self.variance

    def explained(self, some: IntVector, weight: Vector) -> Vector:
        """The matrix of shares of all with some, times weights of these."""
        pull = self.S[self.places[some]].T @ (self.b[some] * weight)
        return pull[self.places] * self.b / self.variance


def _regressions(S: Matrix, order: IntVector) -> dict[int, Vector]:
    """Coefficients of every variable on all that precede it, in their order: one factor gives all of them."""
    from scipy.linalg import solve_triangular

    factor = np.linalg.cholesky(S[np.ix_(order, order)])
    W = solve_triangular(factor, np.eye(len(order)), lower=True, check_finite=False)
    return {int(variable): -W[k, :k] / W[k, k] for k, variable in enumerate(order)}


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


def _lasso(candidates: Candidates, stop: float) -> BoolMatrix:
    """Which candidates the lasso keeps at a penalty, by the active-set method.

    The candidate that the solution so far holds out least enters with the sign of its pull; those that would change
    their sign leave on the way to the next solution. It ends when all others are held out, at the one solution there
    is, and takes a small system for every candidate that comes or goes.
    """
    size = len(candidates.b)
    weight, sign, pull = np.zeros(size), np.zeros(size), candidates.share
    for _ in range(STEPS * size + STEPS):
        held_out = np.where(sign == 0, np.abs(pull), 0.0)
        enters = int(np.argmax(held_out))
        if held_out[enters] <= stop * (1 + ROUNDING):
            break
        sign[enters] = np.sign(pull[enters])
        active = _settle(candidates, weight, sign, stop)
        pull = candidates.share - candidates.explained(active, weight[active])
    kept: BoolMatrix = sign != 0
    return kept


def _settle(candidates: Candidates, weight: Vector, sign: Vector, stop: float) -> IntVector:
    """Move the weights of those that have a sign to where they are best with that sign, and name them.

    Who reaches zero on the way loses the sign.
    """
    while True:
        active = np.flatnonzero(sign)
        s, w = sign[active], weight[active]
        best = np.linalg.solve(candidates.shares(active), candidates.share[active] - stop * s)
        wrong = best * s <= 0
        if not wrong.any():
            weight[active] = best
            return active
        steps = np.where(wrong, np.abs(w) / np.maximum(np.abs(w) + np.abs(best), TINY), np.inf)
        first = int(np.argmin(steps))
        weight[active] = w + steps[first] * (best - w)
        weight[active[first]] = sign[active[first]] = 0.0


def _significant(candidates: Candidates, some: BoolMatrix, rows: int) -> BoolMatrix:
    """Which of some candidates are left once the least significant one has gone, again and again."""
    places = candidates.places[some]
    gram, s = candidates.S[np.ix_(places, places)], candidates.pull[some]
    least = np.log(rows) + 2 * np.log(len(candidates.b) + 1)
    inverse: Any = np.linalg.inv(gram)
    b = inverse @ s
    rest = candidates.variance - float(s @ b)
    left = np.arange(len(places))
    while len(left):
        freedom = max(rows - candidates.given - len(left) - 1, 1)
        loss = b**2 / np.diagonal(inverse)
        k = int(np.argmin(loss))
        if loss[k] * freedom >= least * max(rest, TINY):
            break
        column = inverse[:, k] / inverse[k, k]
        rest += float(loss[k])
        b = np.delete(b - column * b[k], k)
        inverse = np.delete(np.delete(inverse - np.outer(column, inverse[k]), k, axis=0), k, axis=1)
        left = np.delete(left, k)
    kept: BoolMatrix = np.isin(np.arange(len(places)), left)
    return kept


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
