r"""Refinement by a fit of all pairwise cumulants at once, for federations that cover pairs only.

Given an order, the loadings :math:`A = \operatorname{cov}(x, e)` of unit-variance errors follow from the correlations,
and

.. math:: \kappa_{1,2}(i,j) = \sum_m A_{im} A_{jm}^2 \kappa_3(e_m), \quad
          \kappa_{1,3}(i,j) = \sum_m A_{im} A_{jm}^3 \kappa_4(e_m), \quad
          \kappa_{2,2}(i,j) = \sum_m A_{im}^2 A_{jm}^2 \kappa_4(e_m)

are linear in the errors' cumulants. An order is as good as the generalised sum of squares that its columns explain,
:math:`h^\top M^{-1} h` with :math:`M = F^\top G^{-1} F` and :math:`h = F^\top G^{-1} t`. The covariance G of the
cumulants t does not depend on the order, so one Cholesky factor serves a whole search; a column depends on a variable
and the set of its predecessors only and is whitened once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.methods.refinements.insertion import Key, climb, insertion_residuals, keys_along
from fedrcd.methods.refinements.pair_covariances import (
    Covariances,
    excess_covariances,
    gaussian_covariances,
    patterns,
)
from fedrcd.statistics.pair_cumulants import PairCumulants
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.typing import IntVector, Matrix, Vector

RIDGE = 1e-10
"""Added to G, in mean diagonals. Tiny, because cumulants of the same rows cancel exactly."""

SCATTERED_RIDGE = 1e-3
"""The same where pairs come from different rows, and nothing cancels exactly."""

KNOWN_BYTES = 4e8
"""Whitened columns kept at most."""


@dataclass(frozen=True, slots=True)
class PairFitRefinement:
    """Moves variables of an order to where it explains the pair cumulants best.

    The fit is weighted as for Gaussian rows first, then once more as for the errors it found. Beyond `largest`
    variables it would take too long, and the order is left as it is.
    """

    largest: int = 40

    def __call__(self, evidence: PairCumulants, order: IntVector, constraints: Constraints | None = None) -> IntVector:
        """The refined order."""
        if evidence.p > self.largest:
            return order
        k = evidence.standardised()
        gaussian = gaussian_covariances(k.cov)
        ridge = RIDGE if evidence.count.min() == evidence.count.max() else SCATTERED_RIDGE
        fit = _Fit.weighted(k, gaussian, ridge)
        found = climb(order.tolist(), fit.places, constraints)
        third, fourth = fit.noise_cumulants(found)
        excess = excess_covariances(k.cov, k.cov @ residual_rows(k.cov, found).T, third, fourth)
        both = Covariances(gaussian.third + excess.third, gaussian.fourth + excess.fourth)
        again = _Fit.weighted(k, both, ridge)
        return np.array(climb(found, again.places, constraints), dtype=np.int64)


@dataclass(slots=True)
class _Fit:
    """The fit under one weighting: Cholesky factors of G and whitened cumulants, of third and of fourth order."""

    S: Matrix
    factors: tuple[Matrix, Matrix]
    targets: tuple[Vector, Vector]
    known: dict[Key, tuple[Vector, Vector]] = field(default_factory=dict)

    @classmethod
    def weighted(cls, k: PairCumulants, weighting: Covariances, ridge: float = RIDGE) -> _Fit:
        """The fit of standardised pair cumulants with a given covariance of them."""
        i, j = np.triu_indices(k.p, 1)
        cumulants = k.k12.ravel(), np.concatenate([k.k13.ravel(), k.k22[i, j]])
        factors = _factor(weighting.third, ridge), _factor(weighting.fourth, ridge)
        targets = [_whiten(L, t[:, None])[:, 0] for L, t in zip(factors, cumulants, strict=True)]
        return cls(k.cov, factors, (targets[0], targets[1]))

    def places(self, order: list[int], v: int) -> tuple[list[int], Vector]:
        """The others in their order, and the explained sum of squares with v at each of the p places."""
        residuals = insertion_residuals(self.S, order, v)
        p = len(order)
        place = np.arange(p)
        # Columns in use with v at each place: others before it, others after it, v itself.
        others = np.where(place[:-1] < place[:, None], place[:-1], place[:-1] + p - 1)
        chosen = np.concatenate([others, (2 * p - 2 + place)[:, None]], axis=1)
        explained = np.zeros(p)
        for Y, t in zip(self._columns(residuals.W, residuals.keys), self.targets, strict=True):
            M, h = (Y @ Y.T)[chosen[:, :, None], chosen[:, None, :]], (Y @ t)[chosen]
            M[:, place, place] *= 1 + 1e-12
            explained += np.einsum("qm,qm->q", h, np.linalg.solve(M, h[..., None])[..., 0])
        return residuals.rest, explained

    def noise_cumulants(self, order: Sequence[int]) -> list[Any]:
        """Fitted third and fourth cumulants of the errors, in causal order."""
        designs = self._columns(residual_rows(self.S, order), keys_along(order))
        return [np.linalg.lstsq(Y.T, t, rcond=None)[0] for Y, t in zip(designs, self.targets, strict=True)]

    def _columns(self, W: Matrix, keys: list[Key]) -> tuple[Matrix, Matrix]:
        """Whitened columns of the design, third and fourth order, one row each."""
        new = [k for k, key in enumerate(keys) if key not in self.known]
        if new:
            if len(self.known) * 8 * sum(map(len, self.targets)) > KNOWN_BYTES:
                self.known.clear()
                new = list(range(len(keys)))
            columns = patterns(self.S @ W[new].T)
            whitened = [_whiten(L, F).T for L, F in zip(self.factors, columns, strict=True)]
            self.known.update(zip((keys[k] for k in new), zip(*whitened, strict=True), strict=True))
        third, fourth = zip(*(self.known[key] for key in keys), strict=True)
        return np.stack(third), np.stack(fourth)


def _factor(G: Matrix, share: float) -> Matrix:
    """Lower Cholesky factor of a covariance plus a share of its mean diagonal, which grows until there is one."""
    ridge = share * float(np.mean(np.diagonal(G)))
    if not np.isfinite(ridge):
        raise StatisticError("the covariances of pair cumulants overflow")
    while True:
        try:
            factor: Any = np.linalg.cholesky(G + ridge * np.eye(len(G)))
        except np.linalg.LinAlgError:
            ridge *= 10
        else:
            return np.asarray(factor)


def _whiten(L: Matrix, columns: Matrix) -> Matrix:
    from scipy.linalg import solve_triangular

    whitened: Matrix = solve_triangular(L, columns, lower=True, check_finite=False)
    return whitened
