r"""Algebraic deflation at the coordinator with the least-squares coefficient (Def) [P, Appendix B].

The appendix updates the covariance, :math:`\kappa_3`, :math:`\kappa_4`, :math:`\kappa_{1,2}` and
:math:`\kappa_{2,1}`, but leaves out :math:`\kappa_{1,3}` and :math:`\kappa_{2,2}`, which the fourth-order score
needs most. They are updated here by the source condition, exact in population when s is a source:

.. math:: \kappa_{1,3}(i,j)' = \kappa_{1,3}(i,j) - b_i b_j^3 \kappa_4(s), \qquad
          \kappa_{2,2}(i,j)' = \kappa_{2,2}(i,j) - b_i^2 b_j^2 \kappa_4(s).

`marginals="printed"` updates :math:`\kappa_4(j)` from empirical cross cumulants as printed; `"source-condition"` by
:math:`\kappa_4(j)' = \kappa_4(j) - b_j^4 \kappa_4(s)`, which keeps all arrays consistent with one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fedrcd.methods.deflations.pairs import ask_pairs, drop_source
from fedrcd.methods.skeleton import Evidence, Marginals, local
from fedrcd.protocol.questions import Rounds
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants
from fedrcd.typing import Matrix

MarginalUpdate = Literal["printed", "source-condition"]


@dataclass(frozen=True, slots=True)
class Algebraic:
    """One round; every later step is arithmetic on the pooled cumulants."""

    least_squares: ClassVar[bool] = False

    marginals: MarginalUpdate = "printed"
    estimator: Estimator = "plug-in"

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[PairCumulants], Marginals]]:
        """Ask for pair sums once."""
        return ask_pairs(setting, 4, self.estimator)

    def remove(
        self,
        setting: Setting,  # noqa: ARG002
        marginals: Marginals,  # noqa: ARG002
        evidence: Evidence[PairCumulants],
        sources: tuple[int, ...],
    ) -> Rounds[Evidence[PairCumulants]]:
        """Update all arrays as if x_j were replaced by x_j - b_j x_s."""
        return local(drop_source(evidence, sources[-1], lambda k, s: deflate(k, s, self.marginals)))


def deflate(k: PairCumulants, s: int, marginals: MarginalUpdate) -> PairCumulants:
    """Cumulants after the effect of variable s is taken out of all others; row and column s become meaningless."""
    b = (k.cov[:, s] / k.cov[s, s])[:, None]
    k3, k4 = _at_diagonal(k.k12), _at_diagonal(k.k13)
    cov = k.cov - b * b.T * k.cov[s, s]  # [P, Eq. cov_update]
    k12 = k.k12 - b * b.T**2 * k3[s]  # [P, Eqs. fedrcd_c12, fedrcd_c21]
    k13 = k.k13 - b * b.T**3 * k4[s]
    k22 = k.k22 - b**2 * b.T**2 * k4[s]
    if marginals == "printed":
        with_s = slice(s, s + 1)
        new_k3 = k.k3 - b**3 * k3[s] - 3 * b * k.k21[:, with_s] + 3 * b**2 * k.k12[:, with_s]  # [P, Eq. fedrcd_c3]
        new_k4 = (
            k.k4 - 4 * b * k.k31[:, with_s] + 6 * b**2 * k.k22[:, with_s] - 4 * b**3 * k.k13[:, with_s] + b**4 * k4[s]
        )  # [P, Eq. fedrcd_c4]
    else:
        new_k3, new_k4 = k.k3 - b**3 * k3[s], k.k4 - b**4 * k4[s]
    for array, diagonal in ((k12, new_k3), (k13, new_k4), (k22, new_k4)):
        np.fill_diagonal(array, diagonal[:, 0] if diagonal.shape[1] == 1 else np.diagonal(diagonal))
    return PairCumulants(k.count, _at_diagonal(cov), cov, new_k3, k12, new_k4, k13, k22)


def _at_diagonal(array: Matrix) -> Matrix:
    """The diagonal as a column of shape (p, 1)."""
    return np.diagonal(array)[:, None].copy()
