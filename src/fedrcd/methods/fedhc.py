"""FedHC: the third-order counterpart of FedRCD-NI."""

from __future__ import annotations

from fedrcd.methods.card import PAIRS_ONCE, register
from fedrcd.methods.costs import of_pairs
from fedrcd.methods.deflations.none import NoDeflation
from fedrcd.methods.scores.tau import tau3
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants


@register("fedhc", score="tau3", deflation="none", **{**PAIRS_ONCE, "cost": of_pairs(3)})
def fedhc(*, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Third-order scores, sorted once; one round [P, Section 2.3]."""
    return Parts(tau3, NoDeflation(order=3, estimator=estimator))
