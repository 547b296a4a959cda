"""FedRCD-X and its centralised case HC."""

from __future__ import annotations

from fedrcd.methods.card import Coverage, OneRound, Payload, RoundCount, register
from fedrcd.methods.costs import of_residuals
from fedrcd.methods.deflations.site_residuals import SiteResiduals
from fedrcd.methods.scores.tau import tau4
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants

CARD = {
    "one_round": OneRound("fedrcd-t"),
    "score": "tau4",
    "deflation": "site residuals",
    "coverage": Coverage.ALL_COLUMNS,
    "scale_free": False,
    "erasable": False,
    "cost": of_residuals,
}


@register("fedrcd-x", rounds=RoundCount(1, -1), payload=Payload(2), replayed=True, **CARD)
def fedrcd_x(*, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Fourth-order scores of residuals taken at the sites; p - 1 rounds [P, Section 3.2]."""
    return Parts(tau4, SiteResiduals(order=4, estimator=estimator))


@register("hc", rounds=RoundCount(1, -1), payload=Payload(2), counterpart="fedrcd-x", **CARD)
def hc(*, estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Centralised fourth-order scores with least-squares deflation (Chen et al. 2025): fedrcd-x on one table."""
    return fedrcd_x(estimator=estimator)
