r"""Refinement by a contrast of all errors at once, from the cumulant tensors.

In the true order the errors e = W x are independent and as far from Gaussian as they can be together. The order is
moved uphill on

.. math:: F(\pi) = \sum_m \sqrt{J(\kappa_3(e_m), \kappa_4(e_m))},

where the cumulants of an error are contractions of the tensors with its row of W. In the population the true order is a
maximum for the Edgeworth J and every power of at least 1/3; the square root also tames the heaviest tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.methods.deflations.tensors import TensorEvidence
from fedrcd.methods.refinements.insertion import GAIN, climb
from fedrcd.methods.scores.negentropy import Contrast, negentropy_of
from fedrcd.statistics.accelerated_tensors import AcceleratedResiduals, AcceleratedTensors
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.residual_tensors import Cumulants34, ResidualTensors
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import IntVector, Vector

FUTILE = 1e-4
"""A move must gain more than this share of F, and than one part in the number of rows if that is less: unrelated
variables would else keep changing places by chance, sweep after sweep."""

DISTURBED = 3
"""Variables that are moved before the climb is tried again."""


@dataclass(frozen=True, slots=True)
class ContrastRefinement:
    """Moves variables of an order to where the errors' summed contrast is largest."""

    negentropy: Contrast = "boundary"
    restarts: int = 0
    """How often the climb is tried again from near the best order so far: noise makes many places look like the top."""

    def __call__(self, evidence: TensorEvidence, order: IntVector, constraints: Constraints | None = None) -> IntVector:
        """The refined order."""
        best = self._climbed(evidence, order, constraints)
        reached = self.contrast(evidence, best) if self.restarts else 0.0
        rng = np.random.default_rng(len(order))  # the same tries at every site that replays the method
        for _ in range(self.restarts):
            other = self._climbed(evidence, disturbed(best, constraints, rng), constraints)
            found = self.contrast(evidence, other)
            if found > reached * (1 + GAIN):
                best, reached = other, found
        return best

    def _climbed(self, evidence: TensorEvidence, order: IntVector, constraints: Constraints | None) -> IntVector:
        """Where the climb from an order ends."""
        terms = ContrastTerms(_along(evidence.tensors, order), evidence.tensors.count, self.negentropy)
        gain = min(FUTILE, 1 / evidence.tensors.count)
        return np.array(climb(order.tolist(), terms.places, constraints, gain, terms.residuals.move), dtype=np.int64)

    def contrast(self, evidence: TensorEvidence, order: IntVector) -> float:
        """F of an order."""
        W = residual_rows(evidence.tensors.cov, order.tolist())
        residuals = Cumulants34(*evidence.tensors.of_combinations(W))
        return float(contrasts(residuals, self.negentropy, evidence.tensors.count).sum())


def disturbed(order: IntVector, constraints: Constraints | None, rng: np.random.Generator) -> IntVector:
    """An order in which a few variables have other places, at random, that are allowed."""
    changed = order.tolist()
    for v in rng.choice(order, size=min(DISTURBED, len(order)), replace=False).tolist():
        changed.remove(v)
        allowed = np.ones(len(order), dtype=bool) if constraints is None else constraints.places(changed, v)
        changed.insert(int(rng.choice(np.flatnonzero(allowed))), v)
    return np.array(changed, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ContrastTerms:
    """The contrast with a variable at each place, from the residuals along an order of variables of unit variance."""

    residuals: ResidualTensors | AcceleratedResiduals
    rows: int
    negentropy: Contrast

    def places(self, order: list[int], v: int) -> tuple[list[int], Vector]:
        """The others in their order, that of the residuals, and the contrast with v at each of the p places."""
        before, after, own = (contrasts(some, self.negentropy, self.rows) for some in self.residuals.insertions(v))
        up_to = np.concatenate([[0.0], np.cumsum(before)])
        from_on = np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
        return [u for u in order if u != v], own + up_to + from_on


def _along(tensors: TensorCumulants | AcceleratedTensors, order: IntVector) -> ResidualTensors | AcceleratedResiduals:
    """The residuals along an order, where the tensors are."""
    return tensors.along(order) if isinstance(tensors, AcceleratedTensors) else ResidualTensors(tensors, order)


def contrasts(residuals: Cumulants34, negentropy: Contrast, rows: int) -> Vector:
    """The term of each residual."""
    terms: Vector = np.sqrt(negentropy_of(negentropy, residuals.third, residuals.fourth, rows))
    return terms
