"""The first round that all pair methods share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fedrcd.methods.gaussianity import distance_from_gaussian
from fedrcd.methods.regularity import require_regular, require_rows, require_units
from fedrcd.methods.skeleton import Evidence, Marginals
from fedrcd.protocol.questions import Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants, pair_cumulants
from fedrcd.statistics.repair import positive_definite


def drop_source(
    evidence: Evidence[PairCumulants], source: int, deflate: Callable[[PairCumulants, int], PairCumulants]
) -> Evidence[PairCumulants]:
    """Evidence about the others once a source is taken out; `deflate` changes the arrays given its place."""
    at = evidence.variables.index(source)
    rest = [k for k in range(len(evidence.variables)) if k != at]
    deflated = deflate(evidence.statistic, at)
    return Evidence(tuple(evidence.variables[k] for k in rest), deflated.keep(rest))


def ask_pairs(
    setting: Setting, order: int, estimator: Estimator, *, complete: bool = False
) -> Rounds[tuple[Evidence[PairCumulants], Marginals]]:
    """Pooled cumulants of all variables up to an order, and what later steps need of them.

    With `complete` only rows count of which one site holds all variables.
    """
    require_units(setting.frame, setting.variables)
    sums = yield from ask(setting.pairs(order, complete=complete))
    require_rows(int(sums.count.min()), setting.variables)
    cumulants, repaired = pair_cumulants(sums, setting.frame, estimator), False
    if not sums.is_complete:
        cumulants = cumulants.harmonised()
        cov, repaired = positive_definite(cumulants.cov)
        cumulants = replace(cumulants, cov=cov)
    require_regular(cumulants.cov, setting.variables)
    mean = np.diagonal(np.broadcast_to(sums.at(1, 0) / sums.count, cumulants.cov.shape))
    marginals = Marginals(
        rows=int(cumulants.count.min()),
        mean=setting.frame.centre + setting.frame.scale * mean,
        cov=cumulants.cov,
        distance=distance_from_gaussian(cumulants),
        repaired=repaired,
        even=int(sums.count.min()) == int(sums.count.max()),
    )
    return Evidence(tuple(range(cumulants.p)), cumulants), marginals
