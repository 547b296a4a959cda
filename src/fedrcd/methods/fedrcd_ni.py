"""FedRCD-NI and its centralised case HC-LiNGAM."""

from __future__ import annotations

from fedrcd.methods.card import ONE_ROUND, Coverage, Payload, register
from fedrcd.methods.deflations.none import NoDeflation
from fedrcd.methods.scores.tau import tau4
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants

CARD = {"score": "tau4", "deflation": "none", "coverage": Coverage.PAIRS, "scale_free": False, "erasable": True}


@register("fedrcd-ni", rounds=ONE_ROUND, payload=Payload(2), **CARD)
def fedrcd_ni(*, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Fourth-order scores, sorted once; one round [P, Section 3.2]."""
    return Parts(tau4, NoDeflation(order=4, estimator=estimator))


@register("hc-lingam", rounds=ONE_ROUND, payload=Payload(2), counterpart="fedrcd-ni", **CARD)
def hc_lingam(*, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Centralised fourth-order scores, sorted once (Chen et al. 2025): fedrcd-ni on one table."""
    return fedrcd_ni(estimator=estimator)
