"""FedRCD-SP: scale-free where the sites cover pairs of variables only."""

from __future__ import annotations

from fedrcd.methods.card import ONE_ROUND, Auto, Coverage, Payload, register
from fedrcd.methods.costs import of_pair_fit
from fedrcd.methods.deflations.algebraic import Algebraic
from fedrcd.methods.refinements.pair_fit import PairFitRefinement
from fedrcd.methods.scores.negentropy import NegentropyGap
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants


@register(
    "fedrcd-sp",
    score="negentropy gap, joint fit",
    deflation="coordinator, source condition",
    rounds=ONE_ROUND,
    payload=Payload(2),
    coverage=Coverage.PAIRS,
    scale_free=True,
    erasable=True,
    auto=Auto(rank=5),
    cost=of_pair_fit,
)
def fedrcd_sp(*, largest_fit: int = 40, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """A joint fit of all pairwise cumulants over orders, from a source-condition start; one round."""
    return Parts(NegentropyGap("edgeworth"), Algebraic("source-condition", estimator), PairFitRefinement(largest_fit))
