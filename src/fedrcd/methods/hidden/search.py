r"""Which pairs of variables share a hidden cause, and what stands of the order and the effects, from cumulant tensors.

The order that was found as if nothing were hidden is explained variable by variable (`explanations`), and improved
where it was turned. What is claimed of the result, and what not:

- A pair with a hidden cause has no identified effect, in either direction: one may be there beside the hidden cause.
- If m and k share a hidden cause, an effect of j on one may reach the other by an effect between the two. So j is an
  ancestor of both where both have an effect of it, but the sizes of the direct ones are not identified.
- Between two errors that pass for Gaussian nothing tells an effect from its reverse or from a hidden cause: it is left
  open, and no ancestor is claimed.

`alarm` first asks for strong evidence of any hidden cause; only if there is some it looks for others as `screen` does.
So a data set without hidden causes is left alone, however many pairs it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedrcd.errors import ConfigError, StatisticError
from fedrcd.graphs.dag import ancestry
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.methods.deflations.tensors import TensorEvidence
from fedrcd.methods.hidden.explanations import EFFECT, HIDDEN, Explained, WholeTensors, explain, improve
from fedrcd.methods.hidden.found import HiddenCauses
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import BoolMatrix, IntVector, Matrix

Caution = Literal["alarm", "screen"]

CAUTIONS: dict[str, float] = {"screen": 6.0, "alarm": 24.0}
"""What a hidden cause must explain beyond an effect, in twice the logarithm of a likelihood ratio."""

SURE = CAUTIONS["alarm"] - CAUTIONS["screen"]
"""Evidence, beyond the caution of a screen, at which a pair sounds an alarm by itself."""

LEAST_ROWS = 100
ROWS_PER_VARIABLE = 10

GAUSSIAN = 9.0
"""Chi-squared of skewness and kurtosis of an error below which it passes for Gaussian."""


@dataclass(frozen=True, slots=True)
class HiddenSearch:
    """The search, at a caution."""

    caution: Caution = "alarm"

    def __call__(
        self, evidence: TensorEvidence, order: IntVector, constraints: Constraints | None = None
    ) -> tuple[IntVector, Matrix, HiddenCauses]:
        """The order, the effects that are identified, in units of the data, and what is hidden."""
        if not isinstance(evidence.tensors, TensorCumulants):
            raise ConfigError("hidden=True does not work on a graphics card; leave the card out")
        rows = evidence.tensors.count
        require_rows_for(len(order), rows)
        if constraints is not None and (constraints.required_paths & ~constraints.required).any():
            raise ConfigError("with hidden=True knowledge may require edges and forbid, but not require paths")
        found = search(WholeTensors.of(evidence.tensors, rows), order, self.caution, constraints)
        B, hidden = claims(found)
        return np.array(found.order, dtype=np.int64), B * evidence.unit[:, None] / evidence.unit, hidden


def require_rows_for(p: int, rows: float) -> None:
    """Raise for rows too few to tell a hidden cause from an effect."""
    least = max(LEAST_ROWS, ROWS_PER_VARIABLE * p)
    if rows < least:
        raise StatisticError(
            f"{rows:.0f} rows are too few to tell hidden causes of {p} variables from effects; {least} are needed"
        )


def search(
    tensors: WholeTensors, order: IntVector, caution: Caution, constraints: Constraints | None = None
) -> Explained:
    """The explanation of all variables."""
    found = improve(explain(tensors, order, CAUTIONS[caution], constraints))
    if caution == "screen" or not found.hidden.any():
        return found
    again = np.array(found.order, dtype=np.int64)
    return improve(explain(tensors, again, CAUTIONS["screen"], constraints))


def claims(found: Explained) -> tuple[Matrix, HiddenCauses]:
    """Effects of variables of unit variance, zero where they are not identified, and what is hidden."""
    p = len(found.order)
    place = np.array(found.order)
    edges, hidden = _along(found, EFFECT), _along(found, HIDDEN)
    evidence, B = np.zeros((p, p)), np.zeros((p, p))
    for k, (gains, effects) in enumerate(zip(found.evidence, found.effects, strict=True)):
        evidence[place[k], place[:k]] = evidence[place[:k], place[k]] = gains
        B[place[k], place[:k]] = effects
    near = _near_gaussian(found)
    untold = edges & near[:, None] & near
    open_effects = hidden | hidden.T | untold | untold.T
    shared = (hidden | hidden.T).astype(int)
    open_effects |= edges & (shared @ edges.astype(int) > 0)
    ancestors = ancestry(edges & ~untold)
    return np.where(edges & ~open_effects, B, 0.0), HiddenCauses(evidence, ancestors, open_effects)


def _along(found: Explained, state: int) -> BoolMatrix:
    """Pairs in a state, [later, earlier]."""
    p = len(found.order)
    mask = np.zeros((p, p), dtype=bool)
    for k, states in enumerate(found.states):
        mask[found.order[k], np.array(found.order[:k], dtype=np.int64)] = states == state
    return mask


def _near_gaussian(found: Explained) -> BoolMatrix:
    """Which variables have an error that passes for Gaussian."""
    n = found.tensors.rows
    near = np.zeros(len(found.order), dtype=bool)
    near[found.order] = n * (found.third**2 / 6 + (found.fourth - 3) ** 2 / 24) < GAUSSIAN
    return near
