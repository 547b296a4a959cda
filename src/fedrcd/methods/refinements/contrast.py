r"""Refinement by a contrast of all errors at once, from the cumulant tensors.

In the true order the errors e = W x are independent and as far from Gaussian as they can be together. The order is
moved uphill on

.. math:: F(\pi) = \sum_m \sqrt{J(\kappa_3(e_m), \kappa_4(e_m))},

where the cumulants of an error are contractions of the tensors with its row of W. In the population the true order is a
maximum for the Edgeworth J and every power of at least 1/3; the square root also tames the heaviest tails.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.methods.deflations.tensors import TensorEvidence
from fedrcd.methods.refinements.insertion import Key, climb, insertion_residuals
from fedrcd.methods.scores.negentropy import Negentropy, negentropy_of
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import IntVector, Matrix, Vector

FUTILE = 1e-4
"""A move must gain more than this share of F, and than one part in the number of rows if that is less: unrelated
variables would else keep changing places by chance, sweep after sweep."""


@dataclass(frozen=True, slots=True)
class ContrastRefinement:
    """Moves variables of an order to where the errors' summed contrast is largest."""

    negentropy: Negentropy = "boundary"

    def __call__(self, evidence: TensorEvidence, order: IntVector, constraints: Constraints | None = None) -> IntVector:
        """The refined order."""
        terms = _Terms(evidence.tensors, self.negentropy)
        gain = min(FUTILE, 1 / evidence.tensors.count)
        return np.array(climb(order.tolist(), terms.places, constraints, gain), dtype=np.int64)

    def contrast(self, evidence: TensorEvidence, order: IntVector) -> float:
        """F of an order."""
        terms = _Terms(evidence.tensors, self.negentropy)
        _, values = terms.places(order.tolist(), int(order[0]))
        return float(values[0])


@dataclass(slots=True)
class _Terms:
    """Terms of the contrast, each computed once per variable and set of predecessors; variables have unit variance."""

    tensors: TensorCumulants
    negentropy: Negentropy
    known: dict[Key, float] = field(default_factory=dict)

    def places(self, order: list[int], v: int) -> tuple[list[int], Vector]:
        """The others in their order, and the contrast with v at each of the p places."""
        residuals = insertion_residuals(self.tensors.cov, order, v)
        terms = self._terms(residuals.W, residuals.keys)
        others = len(residuals.rest)
        before, after, own = np.split(terms, [others, 2 * others])
        up_to = np.concatenate([[0.0], np.cumsum(before)])
        from_on = np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
        return residuals.rest, own + up_to + from_on

    def _terms(self, W: Matrix, keys: list[Key]) -> Vector:
        new = [k for k, key in enumerate(keys) if key not in self.known]
        if new:
            third, fourth = self.tensors.of_combinations(W[new])
            values = np.sqrt(negentropy_of(self.negentropy, third, fourth, self.tensors.count))
            self.known.update(zip((keys[k] for k in new), values.tolist(), strict=True))
        return np.array([self.known[key] for key in keys])
