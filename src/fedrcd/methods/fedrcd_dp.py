"""FedRCD-DP: differentially private; sums over the directions of whitened rows leave with noise on them."""

from __future__ import annotations

from fedrcd.methods.card import Coverage, Payload, RoundCount, register
from fedrcd.methods.costs import of_directions
from fedrcd.methods.deflations.noisy_directions import WHITENINGS, NoisyDirections
from fedrcd.methods.deflations.tensors import TensorEvidence, on_pairs
from fedrcd.methods.refinements.contrast import ContrastRefinement
from fedrcd.methods.scores.negentropy import NegentropyGap
from fedrcd.methods.skeleton import Parts

RESTARTS = 12
"""Of the search: it costs no privacy, whatever it finds in sums that have left."""


@register(
    "fedrcd-dp",
    score="negentropy gap",
    deflation="coordinator, exact",
    rounds=RoundCount(0, len(WHITENINGS) + 1),
    payload=Payload(4, over=24),
    coverage=Coverage.ALL_COLUMNS,
    scale_free=True,
    erasable=False,
    replayed=True,
    private=True,
    cost=of_directions(len(WHITENINGS)),
)
def fedrcd_dp(*, epsilon: float = 1.0, delta: float = 1e-6) -> Parts[TensorEvidence]:
    """Negentropy gaps of the directions of whitened rows, from sums with noise; four rounds."""
    return Parts(
        on_pairs(NegentropyGap("as measured")),
        NoisyDirections(epsilon, delta),
        ContrastRefinement("as measured", RESTARTS),
    )
