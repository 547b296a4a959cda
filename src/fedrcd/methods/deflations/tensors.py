"""Exact deflation at the coordinator: the full cumulant tensors follow every residual (T, S)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import ClassVar

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.methods.doubt import Doubt, independence_of_errors
from fedrcd.methods.gaussianity import distance_from_gaussian
from fedrcd.methods.regularity import require_regular, require_rows, require_units
from fedrcd.methods.skeleton import Evidence, Marginals, local
from fedrcd.protocol.questions import Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.accelerated_tensors import AcceleratedTensors
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants
from fedrcd.statistics.repair import positive_definite
from fedrcd.statistics.tensor_cumulants import TensorCumulants, tensor_cumulants
from fedrcd.typing import IntVector, Vector

LARGEST = 150
"""Variables whose tensors fit a coordinator: 0.2 GB on the way, 1 GB per matrix in memory."""


def regress_out(
    _deflation: object,
    setting: Setting,  # noqa: ARG001
    marginals: Marginals,  # noqa: ARG001
    evidence: Evidence[TensorEvidence],
    sources: tuple[int, ...],
) -> Rounds[Evidence[TensorEvidence]]:
    """Replace all remaining variables by their residuals given the sources: how deflations of tensors remove."""
    return local(without(evidence, sources))


@dataclass(frozen=True, slots=True)
class Tensors:
    """One round; evidence is what fresh sums of residuals at the sites would give, with no approximation.

    Tensors are kept in standard deviations of the variables, which keeps their entries comparable; scores that depend
    on units get the pairs back in units of the data.
    """

    least_squares: ClassVar[bool] = True

    estimator: Estimator = "plug-in"
    card: Accelerator | None = None
    """Where the tensors of all steps are, if not in memory."""

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[TensorEvidence], Marginals]]:
        """Ask for the tensor sums once."""
        require_few(len(setting.variables))
        require_units(setting.frame, setting.variables)
        sums = yield from ask(setting.tensor())
        require_rows(sums.count, setting.variables)
        tensors, repaired, even = tensor_cumulants(sums, setting.frame, self.estimator), False, True
        if sums.counts is not None:
            even = bool((sums.counts == sums.count).all())
            cov, repaired = positive_definite(tensors.cov)
            tensors = replace(tensors, cov=cov)
        require_regular(tensors.cov, setting.variables)
        distance = distance_from_gaussian(tensors.pairs())
        marginals = Marginals(tensors.count, tensors.mean, tensors.cov, distance, repaired, even)
        found = in_own_units(tensors)
        if self.card is not None:
            there = AcceleratedTensors.of(self.card, tensors.scaled(1 / found.statistic.unit))
            found = replace(found, statistic=replace(found.statistic, tensors=there))
        return found, marginals

    remove = regress_out


@dataclass(frozen=True, slots=True, eq=False)
class TensorEvidence:
    """Cumulant tensors of variables measured in `unit`, shape (p,)."""

    tensors: TensorCumulants | AcceleratedTensors
    unit: Vector


def in_own_units(tensors: TensorCumulants) -> Evidence[TensorEvidence]:
    """The evidence about all variables, in their standard deviations."""
    unit = np.sqrt(np.diagonal(tensors.cov))
    return Evidence(tuple(range(tensors.p)), TensorEvidence(tensors.scaled(1 / unit), unit))


def without(evidence: Evidence[TensorEvidence], sources: Sequence[int]) -> Evidence[TensorEvidence]:
    """The evidence about the residuals of all others given some sources, of which some may be taken out already."""
    for source in sources:
        if source in evidence.variables:
            at, known = evidence.variables.index(source), evidence.statistic
            rest = tuple(variable for variable in evidence.variables if variable != source)
            evidence = Evidence(rest, TensorEvidence(known.tensors.remove(at), np.delete(known.unit, at)))
    return evidence


def judged(evidence: TensorEvidence, order: IntVector) -> Doubt:
    """Whether the errors along an order of all variables are independent."""
    return independence_of_errors(evidence.tensors, order)


def require_few(p: int) -> None:
    """Raise for more variables than whose tensors a coordinator can hold."""
    if p > LARGEST:
        raise ConfigError(
            f"the full tensor of {p} variables has {8 * comb(p + 4, 4) / 1e6:,.0f} MB; above {LARGEST} variables "
            "take fedrcd-sx"
        )


def on_pairs(score: Callable[[PairCumulants], Vector]) -> Callable[[TensorEvidence], Vector]:
    """A score of pair cumulants, applied to the pairs of tensors in units of the data."""

    def scored(evidence: TensorEvidence) -> Vector:
        return score(evidence.tensors.pairs().scaled(evidence.unit))

    return scored
