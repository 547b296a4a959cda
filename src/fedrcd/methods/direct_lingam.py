"""DirectLiNGAM on one table, and the same order from sums over sites."""

from __future__ import annotations

from fedrcd.methods.card import Auto, Coverage, Payload, RoundCount, register
from fedrcd.methods.costs import of_entropies
from fedrcd.methods.deflations.entropies import Entropies
from fedrcd.methods.scores.charge import least_charge
from fedrcd.methods.skeleton import Parts
from fedrcd.typing import Vector

CARD = {
    "score": "pairwise entropies",
    "deflation": "site residuals",
    "coverage": Coverage.ALL_COLUMNS,
    "scale_free": True,
    "erasable": False,
}


@register(
    "fed-direct",
    cost=of_entropies(lazily=False),
    rounds=RoundCount(1, 0),
    payload=Payload(2, times=2),
    replayed=True,
    auto=Auto(rank=2, few_rows=True),
    **CARD,
)
def fed_direct(*, layers: bool = False) -> Parts[Vector]:
    """The order of DirectLiNGAM from entropy sums over sites; p rounds."""
    return Parts(least_charge, Entropies(), layers=layers)


@register(
    "direct-lingam",
    cost=of_entropies(lazily=True),
    rounds=RoundCount(1, 0),
    payload=Payload(2, times=2),
    counterpart="fed-direct",
    **CARD,
)
def direct_lingam() -> Parts[Vector]:
    """DirectLiNGAM (Shimizu et al. 2011, pairwise measure): fed-direct on one table, with less work."""
    return Parts(least_charge, Entropies(lazily=True))
