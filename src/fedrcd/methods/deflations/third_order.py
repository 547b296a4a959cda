r"""FedISHC's deflation of third-order cumulants at the coordinator [P, Eqs. alpha_ishc, ishc_update].

`coefficient="published"` is the equation as printed, :math:`\alpha_j = \kappa_{2,1}(x_j, x_s)/\kappa_3(x_s)`: two
copies of x_j. Under LiNGAM that estimates :math:`\beta_{js}^2`, as the paper's own Proposition 1 says, though it is
used as :math:`\beta_{js}`. `"corrected"` takes one copy of x_j and two of x_s,
:math:`\kappa_{1,2}(x_j, x_s)/\kappa_3(x_s)`, which is consistent for :math:`\beta_{js}`.

`update="all"` also updates the cross cumulants,
:math:`\kappa_{1,2}(i,j)' = \kappa_{1,2}(i,j) - \alpha_i \alpha_j^2 \kappa_3(s)`; `"marginal"`
changes :math:`\kappa_3` alone, as the printed update does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from fedrcd.methods.deflations.pairs import ask_pairs, drop_source
from fedrcd.methods.skeleton import Evidence, Marginals, local
from fedrcd.protocol.questions import Rounds
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants
from fedrcd.typing import Matrix

Coefficient = Literal["published", "corrected"]
Update = Literal["all", "marginal"]

LARGEST = 2.0**100
"""Coefficients are cut off there, and arrays beyond it are scaled down: cubes and products stay finite."""


@dataclass(frozen=True, slots=True)
class ThirdOrder:
    """One round; later steps change third-order arrays only, whatever the score reads."""

    least_squares: ClassVar[bool] = False

    order: int
    coefficient: Coefficient = "published"
    update: Update = "all"
    estimator: Estimator = "plug-in"

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[PairCumulants], Marginals]]:
        """Ask for pair sums once."""
        return ask_pairs(setting, self.order, self.estimator)

    def remove(
        self,
        setting: Setting,  # noqa: ARG002
        marginals: Marginals,  # noqa: ARG002
        evidence: Evidence[PairCumulants],
        sources: tuple[int, ...],
    ) -> Rounds[Evidence[PairCumulants]]:
        """Update the third-order arrays and drop the source."""

        def deflate(k: PairCumulants, s: int) -> PairCumulants:
            return deflate_third_order(k, s, self.coefficient, self.update)

        return local(drop_source(evidence, sources[-1], deflate))


def deflate_third_order(k: PairCumulants, s: int, coefficient: Coefficient, update: Update) -> PairCumulants:
    """Third-order cumulants after variable s is taken out; row and column s become meaningless.

    Where the skewness of s is exactly zero there is nothing third-order to take out. Coefficients divide by a
    skewness that may be tiny, so arrays can grow by many orders of magnitude in a long iteration; they are then
    divided by one power of two, which changes neither the coefficients nor which row sum is least.
    """
    skew = k.k3[s, 0] if k.k3.shape[1] == 1 else k.k3[s, s]
    numerator = k.k21[:, s] if coefficient == "published" else k.k12[:, s]
    with np.errstate(over="ignore"):
        a = np.clip(numerator / skew if skew != 0 else np.zeros_like(numerator), -LARGEST, LARGEST)[:, None]
    k3 = k.k3 - a**3 * skew
    k12 = k.k12 - a * a.T**2 * skew if update == "all" else k.k12
    factor = _shrink(k3, k12)
    return replace(k, k3=k3 * factor, k12=k12 * factor)


def _shrink(*arrays: Matrix) -> float:
    """One, or the power of two that brings the largest entry back to about one."""
    largest = max(float(np.max(np.abs(array))) for array in arrays)
    return 1.0 if largest < LARGEST else float(np.exp2(-np.ceil(np.log2(largest))))
