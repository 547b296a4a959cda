"""FedISHC, and the paper's ablation of it with the fourth-order score."""

from __future__ import annotations

from fedrcd.methods.card import PAIRS_ONCE, register
from fedrcd.methods.deflations.third_order import Coefficient, ThirdOrder, Update
from fedrcd.methods.scores.tau import tau3, tau4
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants

CARD = {"deflation": "coordinator, third order", **PAIRS_ONCE}


@register("fedishc", score="tau3", **CARD)
def fedishc(
    *, coefficient: Coefficient = "published", update: Update = "all", estimator: Estimator = "plug-in"
) -> Parts[PairCumulants]:
    """Third-order scores and third-order deflation; one round [P, Section 2.3]."""
    return Parts(tau3, ThirdOrder(order=3, coefficient=coefficient, update=update, estimator=estimator))


@register("fedishc-tau4", score="tau4", **CARD)
def fedishc_tau4(
    *, coefficient: Coefficient = "published", update: Update = "all", estimator: Estimator = "plug-in"
) -> Parts[PairCumulants]:
    """Fourth-order scores that FedISHC's deflation never touches: the ablation; one round [P, Section 4.4]."""
    return Parts(tau4, ThirdOrder(order=4, coefficient=coefficient, update=update, estimator=estimator))
