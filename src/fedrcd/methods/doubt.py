"""Whether errors along an order are independent of each other, from the tensors of one round.

The tests of `fedrcd check` see more, and ask another round for it.

With heavy tails and few rows a handful of rows decides such a statistic. A pair is judged only where there are
`ENOUGH` rows for its tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedrcd.statistics.accelerated_tensors import AcceleratedTensors
from fedrcd.statistics.accelerator import host
from fedrcd.statistics.dependence import Dependence, ErrorMoments, kinds_of_dependence
from fedrcd.statistics.packed_tensor import unpack_symmetric
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import IntVector, Matrix, Vector

LEVEL = 2e-4
"""P-value under which a model is doubted. Heavy tails make it many times as likely on valid models."""

ENOUGH = 1.0
"""Rows for each unit of the product of two errors' fourth moments, from which a pair can be judged."""

BENT = 1.5
"""Times the evidence of the other kind, from which a dependence is that of bent effects."""

WILD = 30.0
"""Mean excess kurtosis from which tails are wild."""

SURE = 30.0
"""Evidence for one of two directions beyond which more is not told apart."""

LEAST_JUDGED = 0.25
"""Share of the pairs that must be judged before all is said to be fine."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The p-value of the worst pair, corrected for their number; how many of how many were judged; and which it is."""

    p_value: float
    judged: int
    pairs: int
    worst: tuple[int, int]
    """The earlier and the later of the two."""
    bent: float = 0.0
    """Evidence that squares of causes go along with errors, over all pairs."""
    uneven: float = 0.0
    """Evidence that squares of errors go along with causes."""
    tails: float = 0.0
    """Mean excess kurtosis of the errors."""
    level: float = LEVEL
    """P-value under which the model is doubted."""
    bent_effect: bool = False
    """Whether the worst pair is an edge with a quadratic part, and not two errors."""
    neighbours: tuple[float, ...] = ()
    """How sure it is that each variable of the order and the next stand this way round; nothing where it is not known.
    0.5 if the data do not tell, or it does not matter."""

    @property
    def doubtful(self) -> bool:
        """Whether some errors depend on each other, or some effect is bent, beyond chance."""
        return self.p_value < self.level

    @property
    def of_bent_effects(self) -> bool:
        """Whether the doubt looks as after effects that are bent, with errors whose tails are wild: as squares have."""
        return self.doubtful and self.bent > BENT * self.uneven and self.tails > WILD

    @property
    def of_uneven_errors(self) -> bool:
        """Whether it looks as after errors whose size follows a cause, as it may where tails are wild."""
        looks = self.uneven > self.bent or self.tails > WILD
        return looks and not self.of_bent_effects and (self.doubtful or not self.tells)

    def beside(self, other: Doubt) -> Doubt:
        """What these tests and others of the same errors say together."""
        worse = min(self, other, key=lambda one: one.p_value / one.level)
        return replace(
            self,
            p_value=worse.p_value,
            level=worse.level,
            worst=worse.worst,
            bent_effect=worse.bent_effect,
            judged=max(self.judged, other.judged),
        )

    def says(self, names: Sequence[str]) -> str:
        """The verdict, and what it rests on, in one line."""
        of = f"{self.judged} of {self.pairs} pairs of errors"
        if self.doubtful:
            cause, effect = (repr(names[k]) for k in self.worst)
            found = (
                f"the effect of {cause} on {effect} has a quadratic part (p = {self.p_value:.1g})"
                if self.bent_effect
                else f"the errors of {cause} and {effect} depend on each other (p = {self.p_value:.1g}, {of} judged)"
            )
            return (
                f"doubtful: {found}, as after {self._causes()}a cause that was not measured, rows that follow each "
                "other, or a wrong order; fedrcd check says more"
            )
        if self.tells:
            return f"fine: no dependence between errors beyond chance in {of}"
        return f"cannot tell: tails are too heavy for the rows in all but {of}"

    def _causes(self) -> str:
        """What the dependence looks like, if it looks like something."""
        if self.bent_effect or self.of_bent_effects:
            return "a bent effect, which it looks like, "
        return (
            "errors whose size follows a cause, which it looks like, " if self.of_uneven_errors else "a bent effect, "
        )

    @property
    def tells(self) -> bool:
        """Whether enough pairs were judged to say that nothing was found."""
        return self.doubtful or self.judged >= LEAST_JUDGED * self.pairs


def independence_of_errors(tensors: TensorCumulants | AcceleratedTensors, order: IntVector) -> Doubt:
    """What the tensors say of the errors along an order."""
    from scipy.stats import chi2

    W, p = residual_rows(tensors.cov, order.tolist()), len(order)
    k12, k22 = _joint(tensors, np.concatenate([W, *_exchanged(W, tensors.cov, order)]))
    kinds = _kinds(k12, k22, np.arange(p), np.arange(p), tensors.count)
    then, first = np.split(np.arange(p, len(k12)), 2)
    turned = _kinds(k12, k22, then, first, tensors.count).evidence
    against = (np.diagonal(turned) - np.diagonal(kinds.evidence, -1)) / 2
    neighbours = tuple((1 / (1 + np.exp(-np.clip(against, -SURE, SURE)))).tolist())
    fourth = _moments(k12, k22)[1][:p]
    enough = tensors.count >= ENOUGH * np.outer(fourth, fourth)
    later, earlier = np.tril_indices(p, -1)
    judged = enough[later, earlier]
    values: Vector = np.where(judged, kinds.evidence[later, earlier], 0.0)
    tails = float(fourth.mean()) - 3
    bent, uneven = (float(some[later, earlier].sum()) for some in (kinds.bent, kinds.uneven))
    if not judged.any():
        return Doubt(1.0, 0, len(later), (0, 0), bent, uneven, tails, neighbours=neighbours)
    at, number = int(np.argmax(values)), int(judged.sum())
    p_value = float(-np.expm1(number * np.log1p(-min(float(chi2.sf(values[at], 3)), 1 - 1e-16))))
    worst = int(order[earlier[at]]), int(order[later[at]])
    return Doubt(p_value, number, len(later), worst, bent, uneven, tails, neighbours=neighbours)


def _exchanged(W: Matrix, cov: Matrix, order: IntVector) -> tuple[Matrix, Matrix]:
    """For each two neighbours, the errors that both would have in the other order: of the second, and of the first."""
    k = np.arange(len(W) - 1)
    along = W @ cov
    on_first, own = (along[rows, order[1:]][:, None] for rows in (k, k + 1))
    size = np.hypot(on_first, own)
    return (on_first * W[:-1] + own * W[1:]) / size, (own * W[:-1] - on_first * W[1:]) / size


def _joint(tensors: TensorCumulants | AcceleratedTensors, W: Matrix) -> tuple[Matrix, Matrix]:
    """Cumulants of each two combinations: of one with the square of the other, and of the squares of both."""
    products = pair_index(W.shape[1]).products(W)
    if isinstance(tensors, AcceleratedTensors):
        third, put = host(tensors.third), tensors.acc.put
        k22: Matrix = host(put(products) @ tensors.fourth @ put(np.ascontiguousarray(products.T)))
    else:
        third, k22 = tensors.third, products @ unpack_symmetric(W.shape[1], tensors.fourth) @ products.T
    return np.einsum("ai,bj,bk,ijk->ab", W, W, W, third, optimize=True), k22


def _moments(k12: Matrix, k22: Matrix) -> tuple[Vector, Vector]:
    """Third and fourth moments; the fourth is at least what the third asks for, whatever rounding says."""
    third = np.diagonal(k12)
    return third, np.maximum(np.diagonal(k22) + 3, 1 + third**2)


def _kinds(k12: Matrix, k22: Matrix, earlier: IntVector, later: IntVector, rows: int) -> Dependence:
    """Evidence that some later errors depend on earlier ones, of all that cumulants are there for."""
    third, fourth = _moments(k12, k22)
    first, second = (ErrorMoments(third[some], fourth[some]) for some in (earlier, later))
    at = np.ix_(later, earlier)
    return kinds_of_dependence(first, second, (np.zeros(k12[at].shape), k12[at], k12.T[at], k22[at]), rows)
