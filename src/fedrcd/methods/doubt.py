"""Whether errors along an order are independent of each other, from the tensors of one round.

The tests of `fedrcd check` see more, and ask another round for it.

With heavy tails and few rows a handful of rows decides such a statistic. A pair is judged only where there are
`ENOUGH` rows for its tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedrcd.statistics.accelerated_tensors import AcceleratedTensors
from fedrcd.statistics.accelerator import host
from fedrcd.statistics.dependence import ErrorMoments, kinds_of_dependence
from fedrcd.statistics.packed_tensor import unpack_symmetric
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import IntVector, Matrix, Vector

LEVEL = 0.002
"""P-value under which a model is doubted. Heavy tails make it several times as likely on valid models."""

ENOUGH = 3.0
"""Rows for each unit of the product of two errors' fourth moments, from which a pair can be judged."""

BENT = 1.5
"""Times the evidence of the other kind, from which a dependence is that of bent effects."""

LEAST_JUDGED = 0.25
"""Share of the pairs that must be judged before all is said to be fine."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The p-value of the worst pair, corrected for their number; how many of how many were judged; and which it is."""

    p_value: float
    judged: int
    pairs: int
    worst: tuple[int, int]
    bent: float = 0.0
    """Evidence that squares of causes go along with errors, over all pairs."""
    uneven: float = 0.0
    """Evidence that squares of errors go along with causes."""

    @property
    def of_bent_effects(self) -> bool:
        """Whether the doubt looks as after effects that are bent: what is a cause, its squares tell."""
        return self.doubtful and self.bent > BENT * self.uneven

    @property
    def of_uneven_errors(self) -> bool:
        """Whether it looks as after errors whose size follows a cause."""
        return self.doubtful and self.uneven > self.bent

    @property
    def doubtful(self) -> bool:
        """Whether some errors depend on each other beyond chance."""
        return self.judged > 0 and self.p_value < LEVEL

    def says(self, names: Sequence[str]) -> str:
        """The verdict, and what it rests on, in one line."""
        of = f"{self.judged} of {self.pairs} pairs of errors"
        if self.doubtful:
            pair = " and ".join(repr(names[k]) for k in self.worst)
            return (
                f"doubtful: the errors of {pair} depend on each other (p = {self.p_value:.1g}, {of} judged), as after "
                "a bent or uneven effect, a cause that was not measured, rows that follow each other, or a wrong "
                "order; fedrcd check says more"
            )
        if self.tells:
            return f"fine: no dependence between errors beyond chance in {of}"
        return f"cannot tell: tails are too heavy for the rows in all but {of}"

    @property
    def tells(self) -> bool:
        """Whether enough pairs were judged to say that nothing was found."""
        return self.doubtful or self.judged >= LEAST_JUDGED * self.pairs


def independence_of_errors(tensors: TensorCumulants | AcceleratedTensors, order: IntVector) -> Doubt:
    """What the tensors say of the errors along an order."""
    from scipy.stats import chi2

    W = residual_rows(tensors.cov, order.tolist())
    products = pair_index(len(W)).products(W)
    if isinstance(tensors, AcceleratedTensors):
        third, put = host(tensors.third), tensors.acc.put
        k22: Matrix = host(put(products) @ tensors.fourth @ put(np.ascontiguousarray(products.T)))
    else:
        third, k22 = tensors.third, products @ unpack_symmetric(len(W), tensors.fourth) @ products.T
    k12 = np.einsum("ai,bj,bk,ijk->ab", W, W, W, third, optimize=True)
    moments = ErrorMoments(np.diagonal(k12), np.diagonal(k22) + 3)
    kinds = kinds_of_dependence(moments, moments, (np.zeros_like(k12), k12, k12.T, k22), tensors.count)
    q = kinds.evidence
    enough = tensors.count >= ENOUGH * np.outer(moments.fourth, moments.fourth)
    later, earlier = np.tril_indices(len(W), -1)
    judged = enough[later, earlier]
    values: Vector = np.where(judged, q[later, earlier], 0.0)
    if not judged.any():
        return Doubt(1.0, 0, len(later), (0, 0))
    bent, uneven = (float(some[later, earlier].sum()) for some in (kinds.bent, kinds.uneven))
    at, number = int(np.argmax(values)), int(judged.sum())
    p_value = float(-np.expm1(number * np.log1p(-min(float(chi2.sf(values[at], 3)), 1 - 1e-16))))
    worst = int(order[earlier[at]]), int(order[later[at]])
    return Doubt(p_value, number, len(later), worst, bent, uneven)
