"""FedRCD-NI and its centralised case HC-LiNGAM."""

from __future__ import annotations

from fedrcd.methods.card import PAIRS_ONCE, register
from fedrcd.methods.deflations.none import NoDeflation
from fedrcd.methods.scores.tau import tau4
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants

CARD = {"score": "tau4", "deflation": "none", **PAIRS_ONCE}


@register("fedrcd-ni", **CARD)
def fedrcd_ni(*, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Fourth-order scores, sorted once; one round [P, Section 3.2]."""
    return Parts(tau4, NoDeflation(order=4, estimator=estimator))


@register("hc-lingam", counterpart="fedrcd-ni", **CARD)
def hc_lingam(*, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Centralised fourth-order scores, sorted once (Chen et al. 2025): fedrcd-ni on one table."""
    return fedrcd_ni(estimator=estimator)
