"""DirectLiNGAM on one table, and the same order from sums over sites."""

from __future__ import annotations

from fedrcd.methods.deflations.entropies import Entropies
from fedrcd.methods.registry import register
from fedrcd.methods.scores.charge import least_charge
from fedrcd.methods.skeleton import Parts
from fedrcd.typing import Vector

CARD = {
    "score": "pairwise entropies",
    "deflation": "site residuals",
    "coverage": "all columns",
    "scale_free": True,
    "erasable": False,
}


@register("fed-direct", rounds="p", payload="2 p^2 a round", **CARD)
def fed_direct() -> Parts[Vector]:
    """The order of DirectLiNGAM from entropy sums over sites; p rounds."""
    return Parts(least_charge, Entropies())


@register("direct-lingam", rounds="-", payload="-", counterpart="fed-direct", **CARD)
def direct_lingam() -> Parts[Vector]:
    """DirectLiNGAM (Shimizu et al. 2011, pairwise measure): fed-direct on one table, with less work."""
    return Parts(least_charge, Entropies(lazily=True))
