"""FedRCD-SE: the order of FedRCD-S, climbed on by entropies, and held back where the data speak against the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedrcd.errors import StatisticError
from fedrcd.methods.card import Auto, Coverage, OneRound, Payload, RoundCount, register
from fedrcd.methods.costs import of_climb
from fedrcd.methods.deflations.tensors import TensorEvidence
from fedrcd.methods.direct_lingam import fed_direct
from fedrcd.methods.doubt import Doubt
from fedrcd.methods.examination import examine as examine_errors
from fedrcd.methods.fedrcd_r import WHITENINGS, fedrcd_r
from fedrcd.methods.fedrcd_s import fedrcd_s
from fedrcd.methods.refinements.entropies import MOST_ROUNDS, EntropyRefinement
from fedrcd.methods.scores.negentropy import Negentropy
from fedrcd.methods.skeleton import Parts
from fedrcd.protocol.questions import Rounds
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.pair_cumulants import Estimator
from fedrcd.typing import IntVector


@register(
    "fedrcd-se",
    score="negentropy gap",
    deflation="coordinator, exact",
    rounds=RoundCount(1, 2 + MOST_ROUNDS + WHITENINGS + 1, at_most=True),
    payload=Payload(4, over=24),
    coverage=Coverage.ALL_COLUMNS,
    scale_free=True,
    erasable=False,
    auto=Auto(rank=1, free_rounds=True),
    rivals=(OneRound("fedrcd-s"), OneRound("fedrcd-s", {"refine": "none"})),
    cost=of_climb,
)
def fedrcd_se(
    *,
    negentropy: Negentropy = "boundary",
    estimator: Estimator = "plug-in",
    climbs: int = MOST_ROUNDS,
    examine: bool = True,
) -> Parts[TensorEvidence]:
    """The order of fedrcd-s, climbed on by the entropies of all errors at once, and held back where errors depend.

    One round and at most `climbs` more; with `examine` one of tests of the errors, and those of another method
    where the tensors speak against the model.
    """
    parts = replace(fedrcd_s(negentropy=negentropy, estimator=estimator), climb=EntropyRefinement(climbs))
    return replace(parts, reconsider=held_back, examine=examine_errors) if examine else parts


def held_back(setting: Setting, doubt: Doubt) -> Rounds[IntVector | None]:
    """The order of a method that stands what the doubt looks like, if it looks like something.

    After bent effects the tails of errors say least: directions of rows have none. Where the size of errors follows
    their causes, the sum over whole orders takes what is uneven for what is far from Gaussian; going from source to
    source does so less.
    """
    if not (doubt.of_bent_effects or doubt.of_uneven_errors):
        return None
    parts: Parts[Any] = fedrcd_r() if doubt.of_bent_effects else fed_direct()
    try:
        estimate = yield from parts.rounds(setting)
    except StatisticError:
        return None
    return estimate.order
