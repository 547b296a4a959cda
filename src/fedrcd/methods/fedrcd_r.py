"""FedRCD-R: robust; no row weighs more than another, whatever it holds."""

from __future__ import annotations

from fedrcd.methods.card import Auto, Coverage, Payload, RoundCount, register
from fedrcd.methods.costs import of_directions
from fedrcd.methods.deflations.directions import Directions
from fedrcd.methods.deflations.tensors import TensorEvidence, on_pairs
from fedrcd.methods.fedrcd_s import Refine
from fedrcd.methods.refinements.contrast import ContrastRefinement
from fedrcd.methods.scores.negentropy import NegentropyGap
from fedrcd.methods.skeleton import Parts

WHITENINGS = 5


@register(
    "fedrcd-r",
    score="negentropy gap",
    deflation="coordinator, exact",
    rounds=RoundCount(0, WHITENINGS + 1),
    more_rounds="whitenings",
    payload=Payload(4, over=24),
    coverage=Coverage.ALL_COLUMNS,
    scale_free=True,
    erasable=False,
    replayed=True,
    auto=Auto(rank=0, far_apart=True),
    cost=of_directions(WHITENINGS),
)
def fedrcd_r(*, whitenings: int = WHITENINGS, refine: Refine = "contrast") -> Parts[TensorEvidence]:
    """Negentropy gaps of the directions of whitened rows, where no row dominates; a round per whitening and one."""
    refinement = ContrastRefinement("edgeworth") if refine == "contrast" else None
    return Parts(on_pairs(NegentropyGap("edgeworth")), Directions(whitenings), refinement)
