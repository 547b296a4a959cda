r"""How every variable of an order is explained by those before it: by effects, or by hidden causes shared with them.

Variables come in an order; each has an error e that is a combination of the variables up to it. A pair of an earlier
variable m and a later one k is in one of three states: *nothing*, an *effect* of :math:`x_m`, or a *hidden cause* that
both share. Let :math:`e` be the errors before k, :math:`O` their covariance with zeros at pairs without a hidden cause,
and :math:`Z = O^{-1} e`. Then :math:`x_k` is regressed on the variables with an effect and on the :math:`Z_m` of those
with a hidden cause, which gives consistent effects wherever no pair has both (Drton, Eichler and Richardson 2009), and
:math:`e_k` is :math:`x_k` less its effects: what comes from hidden causes stays in it. The states minimise

.. math:: n \log \mathrm{RSS} + \lambda\, \#\mathrm{effects} + (\lambda + c)\, \#\mathrm{hidden}
          + \sum_{m\ \text{not hidden}} \tilde Q(e_m, e_k), \qquad \lambda = 1.6 \log n,

with :math:`\tilde Q` of `fedrcd.statistics.dependence`: errors of a pair without a hidden cause must be independent.
The caution c is what a hidden cause must explain beyond an effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedrcd.graphs.dag import ancestry
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.statistics.dependence import ErrorMoments, dependence
from fedrcd.statistics.packed_tensor import unpack_symmetric
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import BoolMatrix, IntMatrix, IntVector, Matrix, Vector

NOTHING, EFFECT, HIDDEN = 0, 1, 2
"""States of a pair."""

PENALTY = 1.6
"""Times log n that an effect costs."""

ROUNDING = 1e-12
"""Share of what is minimised by which it must fall: two machines agree on what is better."""

MOST_ROWS = 1e8
"""As which more rows count: float64 does not hold differences as small as more of them could tell."""

RIDGE = 1e-12
"""Added to the variances of predictors, so that two that are nearly the same have a solution."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeTensors:
    """The cumulants of variables of unit variance, laid out for contractions: over pairs of variables."""

    rows: float
    cov: Matrix
    third: Matrix
    """Shape (p, pairs)."""
    fourth: Matrix
    """Shape (pairs, pairs)."""

    @classmethod
    def of(cls, tensors: TensorCumulants, rows: float) -> WholeTensors:
        """From packed tensors."""
        index = pair_index(tensors.p)
        third = tensors.third[:, index.first, index.second]
        return cls(min(rows, MOST_ROWS), tensors.cov, third, unpack_symmetric(tensors.p, tensors.fourth))


@dataclass(slots=True, eq=False)
class Explained:
    """Variables explained so far, in their order: their errors e = W x of unit variance."""

    tensors: WholeTensors
    caution: float
    constraints: Constraints | None = None
    order: list[int] = field(default_factory=list)
    states: list[IntVector] = field(default_factory=list)
    """Of each variable with all before it."""
    effects: list[Vector] = field(default_factory=list)
    evidence: list[Vector] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    W: Matrix = field(init=False)
    third: Vector = field(init=False)
    fourth: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.W = np.empty((0, len(self.tensors.cov)))
        self.third = self.fourth = np.empty(0)

    def upto(self, place: int) -> Explained:
        """What is explained of the first variables of the order."""
        some = Explained(self.tensors, self.caution, self.constraints)
        for name in ("order", "states", "effects", "evidence", "costs"):
            setattr(some, name, getattr(self, name)[:place])
        some.W, some.third, some.fourth = self.W[:place], self.third[:place], self.fourth[:place]
        return some

    @property
    def cost(self) -> float:
        """What is minimised, over all variables."""
        return sum(self.costs)

    def explain(self, k: int, like: Explained | None = None) -> None:
        """Explain one variable more; where it was explained before in much the same way, from there on."""
        next_one = Next(self, k)
        states, cost = next_one.best() if like is None else next_one.descend(like.states_of(k, self.order))
        w, b, third, fourth = next_one.error(states)
        self.evidence.append(next_one.evidence(states, cost))
        self.order.append(k)
        self.states.append(states)
        self.effects.append(b)
        self.costs.append(cost)
        self.W = np.vstack([self.W, w])
        self.third, self.fourth = np.append(self.third, third), np.append(self.fourth, fourth)

    def states_of(self, k: int, others: list[int]) -> IntVector:
        """The states of a variable with some others, nothing where they were not before it."""
        place = self.order.index(k)
        known = dict(zip(self.order[:place], self.states[place].tolist(), strict=True))
        return np.array([known.get(m, NOTHING) for m in others], dtype=np.int64)

    @property
    def hidden(self) -> BoolMatrix:
        """Which pairs of places share a hidden cause, a symmetric mask."""
        size = len(self.order)
        mask = np.zeros((size, size), dtype=bool)
        for k, states in enumerate(self.states):
            mask[k, :k] = mask[:k, k] = states == HIDDEN
        return mask

    @property
    def edges(self) -> BoolMatrix:
        """Effects, by variable: [i, j] for j on i."""
        mask = np.zeros(self.tensors.cov.shape, dtype=bool)
        for k, states in zip(self.order, self.states, strict=True):
            mask[k, np.array(self.order[: len(states)], dtype=np.int64)] = states == EFFECT
        return mask

    def pseudo(self) -> Matrix:
        """The combinations of variables that stand for shared hidden causes, Z = O^-1 e."""
        size = len(self.order)
        if size == 0:
            return self.W
        cov = self.W @ self.tensors.cov @ self.W.T
        sparse = np.where(self.hidden | np.eye(size, dtype=bool), cov, 0.0)
        values, vectors = np.linalg.eigh(sparse)
        kept = np.maximum(values, 1e-3)
        Z: Matrix = (vectors / kept) @ vectors.T @ self.W
        return Z


class Next:
    """The variable to be explained next, beside those explained before it."""

    def __init__(self, before: Explained, k: int) -> None:
        self.before, self.k = before, k
        T = before.tensors
        self.n, self.m = T.rows, len(before.order)
        p = len(T.cov)
        predictors = np.zeros((2 * self.m, p))
        predictors[np.arange(self.m), before.order] = 1.0
        predictors[self.m :] = before.pseudo()
        along = predictors @ T.cov
        self.gram, self.pull, self.variance = along @ predictors.T, along[:, k], float(T.cov[k, k])
        self.gram[np.diag_indices(2 * self.m)] *= 1 + RIDGE
        self.penalty = PENALTY * np.log(self.n)
        index = pair_index(p)
        products = index.products(before.W)
        self.k22 = products @ T.fourth
        # third cumulants with one earlier error twice, and with each earlier error once
        self.k21 = products @ T.third.T
        self.k12 = before.W @ T.third
        self.required, self.banned = self._known()

    def _known(self) -> tuple[BoolMatrix, BoolMatrix]:
        """Which of those before must, and must not, have an effect."""
        known, order = self.before.constraints, np.array(self.before.order, dtype=np.int64)
        if known is None:
            return np.zeros(self.m, dtype=bool), np.zeros(self.m, dtype=bool)
        ancestors = ancestry(self.before.edges)
        return known.required[self.k, order], known.banned(self.k, ancestors)[order]

    def allows(self, states: IntMatrix) -> BoolMatrix:
        """Which of several states agree with what is known."""
        lacking, wrong = self.required & (states != EFFECT), self.banned & (states == EFFECT)
        allowed: BoolMatrix = ~(lacking | wrong).any(axis=1)
        return allowed

    def solve(self, states: IntMatrix) -> tuple[Matrix, Vector]:
        """Coefficients of effects and of hidden causes under several states, and the residual sums of squares."""
        used = np.concatenate([states == EFFECT, states == HIDDEN], axis=1)
        gram = np.where(used[:, :, None] & used[:, None, :], self.gram, 0.0)
        diagonal = np.arange(gram.shape[1])
        gram[:, diagonal, diagonal] += ~used
        b = np.linalg.solve(gram, np.where(used, self.pull, 0.0)[:, :, None])[:, :, 0]
        return b, np.maximum(self.variance - b @ self.pull, 1e-12)

    def costs(self, states: IntMatrix) -> Vector:
        """What is minimised, under several states, shape (states,)."""
        b, left = self.solve(states)
        Q = self.dependences(b)
        counted = (states == EFFECT).sum(axis=1) + (states == HIDDEN).sum(axis=1)
        total: Vector = self.n * np.log(left) + self.penalty * counted
        total += self.before.caution * (states == HIDDEN).sum(axis=1)
        total += np.where(states == HIDDEN, 0.0, Q).sum(axis=1)
        return np.where(self.allows(states), total, np.inf)

    def errors(self, b: Matrix) -> tuple[Matrix, Vector, Matrix, ErrorMoments]:
        """Errors under several coefficients, standardised: combinations, sds, products of pairs, moments."""
        T, m = self.before.tensors, self.m
        W = np.zeros((len(b), len(T.cov)))
        W[:, self.before.order] = -b[:, :m]
        W[:, self.k] = 1.0
        sd = np.sqrt(np.maximum(np.einsum("ci,ij,cj->c", W, T.cov, W), 1e-12))
        W /= sd[:, None]
        products = pair_index(len(T.cov)).products(W)
        third = np.einsum("ci,ij,cj->c", W, T.third, products, optimize=True)
        fourth = np.einsum("ci,ci->c", products @ T.fourth, products) + 3
        return W, sd, products, ErrorMoments(third, np.maximum(fourth, third**2 + 1.01))

    def dependences(self, b: Matrix) -> Matrix:
        """Evidence of dependence of each earlier error with the error under several coefficients."""
        W, _, products, moments = self.errors(b)
        before = self.before
        joint = (
            W @ before.tensors.cov @ before.W.T,
            W @ self.k21.T,
            products @ self.k12.T,
            products @ self.k22.T,
        )
        return dependence(ErrorMoments(before.third, before.fourth), moments, joint, self.n)

    def error(self, states: IntVector) -> tuple[Vector, Vector, float, float]:
        """The error under some states: its combination, the effects, its third and fourth moment."""
        b, _ = self.solve(states[None])
        W, _, _, moments = self.errors(b)
        return W[0], b[0, : self.m], float(moments.third[0]), float(moments.fourth[0])

    def best(self) -> tuple[IntVector, float]:
        """The states of least cost that greedy changes of single pairs find, from two starts."""
        if self.m == 0:
            return np.zeros(0, dtype=np.int64), float(self.n * np.log(self.variance))
        regressed = self.by_regression()
        found = [self.descend(regressed)]
        everything = np.full((1, self.m), EFFECT)
        Q = self.dependences(self.solve(everything)[0])
        size = len(self.before.tensors.cov)
        limit = _quantile(0.05 / (size * (size - 1) / 2))
        doubtful = (Q[0] > limit) & ~self.required
        if doubtful.any():
            found.append(self.descend(np.where(doubtful, HIDDEN, self.by_regression(~doubtful))))
        return min(found, key=lambda one: one[1])

    def by_regression(self, allowed: BoolMatrix | None = None) -> IntVector:
        """Effects by BIC alone: backward from all that are allowed."""
        free = np.ones(self.m, dtype=bool) if allowed is None else allowed
        states = np.where(self.required | (free & ~self.banned), EFFECT, NOTHING)
        _, left = self.solve(states[None])
        cost = self.n * np.log(left[0]) + self.penalty * (states == EFFECT).sum()
        while ((states == EFFECT) & ~self.required).any():
            at = np.flatnonzero((states == EFFECT) & ~self.required)
            tries = np.repeat(states[None], len(at), axis=0)
            tries[np.arange(len(at)), at] = NOTHING
            _, left = self.solve(tries)
            costs = self.n * np.log(left) + self.penalty * ((states == EFFECT).sum() - 1)
            if costs.min() >= cost:
                break
            states, cost = tries[np.argmin(costs)], float(costs.min())
        return states

    def descend(self, states: IntVector) -> tuple[IntVector, float]:
        """Change the state of one pair at a time while that lowers the cost."""
        cost = float(self.costs(states[None])[0])
        while True:
            tries = self.neighbours(states)
            costs = self.costs(tries)
            if not costs.min() < cost - ROUNDING * abs(cost):
                return states, cost
            states, cost = tries[np.argmin(costs)], float(costs.min())

    def neighbours(self, states: IntVector) -> IntMatrix:
        """All states that differ at one pair."""
        tries = np.repeat(states[None], 2 * self.m, axis=0)
        at = np.arange(self.m)
        tries[at, at] = (states + 1) % 3
        tries[self.m + at, at] = (states + 2) % 3
        return tries

    def evidence(self, states: IntVector, cost: float) -> Vector:
        """By how much explaining every pair that has a hidden cause without it costs more, at the least; else 0."""
        gains = np.zeros(self.m)
        at = np.flatnonzero(states == HIDDEN)
        if len(at):
            tries = np.repeat(states[None], 2 * len(at), axis=0)
            tries[np.arange(len(at)), at] = NOTHING
            tries[len(at) + np.arange(len(at)), at] = EFFECT
            gains[at] = self.costs(tries).reshape(2, -1).min(axis=0) - cost
        return gains


def _quantile(level: float) -> float:
    from scipy.stats import chi2

    return float(chi2.isf(level, 3))


def explain(
    tensors: WholeTensors, order: IntVector, caution: float, constraints: Constraints | None = None
) -> Explained:
    """All variables of an order explained, one after the other."""
    found = Explained(tensors, caution, constraints)
    for k in order.tolist():
        found.explain(k)
    return found


def improve(found: Explained) -> Explained:
    """The same with neighbours of the order swapped where that makes the whole cheaper.

    Hidden causes turn orders that were found as if there were none. The order of two neighbours matters where they have
    to do with each other; the others are only explained anew if the two themselves are explained better.
    """
    place = 0
    while place < len(found.order) - 1:
        better = swapped(found, place) if found.states[place + 1][place] != NOTHING else None
        if better is None:
            place += 1
        else:
            found, place = better, max(place - 1, 0)
    return found


def swapped(found: Explained, place: int) -> Explained | None:
    """The explanation with two neighbours swapped, if it is better."""
    order = [*found.order[:place], found.order[place + 1], found.order[place], *found.order[place + 2 :]]
    if found.constraints is not None and not found.constraints.allows(order):
        return None
    tried = found.upto(place)
    for k in (found.order[place + 1], found.order[place]):
        tried.explain(k)
    if tried.cost >= sum(found.costs[: place + 2]):
        return None
    for k in found.order[place + 2 :]:
        tried.explain(k, like=found)
    return tried if tried.cost < found.cost - ROUNDING * abs(found.cost) else None
