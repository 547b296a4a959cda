"""FedRCD-S and its variants: scale-free, in one round from tensors, or in p - 1 rounds from pairs."""

from __future__ import annotations

from typing import Literal

from fedrcd.methods.card import ONE_ROUND, Auto, Coverage, OneRound, Payload, RoundCount, register
from fedrcd.methods.costs import of_residuals, of_tensor
from fedrcd.methods.deflations.site_residuals import SiteResiduals
from fedrcd.methods.deflations.tensors import TensorEvidence, Tensors, judged, on_pairs
from fedrcd.methods.hidden.search import Caution, HiddenSearch
from fedrcd.methods.refinements.contrast import ContrastRefinement
from fedrcd.methods.scores.negentropy import Negentropy, NegentropyGap
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants

Refine = Literal["contrast", "none"]


@register(
    "fedrcd-s",
    score="negentropy gap",
    deflation="coordinator, exact",
    rounds=ONE_ROUND,
    payload=Payload(4, over=24),
    coverage=Coverage.QUADRUPLES,
    scale_free=True,
    erasable=True,
    auto=Auto(rank=3),
    rivals=(OneRound("fedrcd-s"), OneRound("fedrcd-s", {"refine": "none"})),
    cost=of_tensor(refined=True),
)
def fedrcd_s(
    *,
    negentropy: Negentropy = "boundary",
    refine: Refine = "contrast",
    estimator: Estimator = "plug-in",
    hidden: bool = False,
    caution: Caution = "alarm",
) -> Parts[TensorEvidence]:
    """Negentropy gaps with exact deflation of the full tensors, then a refined order; one round."""
    refinement = ContrastRefinement(negentropy) if refine == "contrast" else None
    return Parts(
        on_pairs(NegentropyGap(negentropy)),
        Tensors(estimator),
        refinement,
        judge=judged,
        hidden=HiddenSearch(caution) if hidden else None,
    )


@register(
    "fedrcd-sx",
    score="negentropy gap",
    deflation="site residuals",
    rounds=RoundCount(1, -1),
    payload=Payload(2),
    coverage=Coverage.ALL_COLUMNS,
    scale_free=True,
    erasable=False,
    replayed=True,
    one_round=OneRound("fedrcd-s", {"refine": "none"}),
    auto=Auto(rank=4),
    cost=of_residuals,
)
def fedrcd_sx(
    *, negentropy: Negentropy = "boundary", estimator: Estimator = "plug-in", layers: bool = False
) -> Parts[PairCumulants]:
    """Negentropy gaps of residuals taken at the sites; p - 1 rounds, for many variables."""
    return Parts(NegentropyGap(negentropy), SiteResiduals(order=4, estimator=estimator), layers=layers)
