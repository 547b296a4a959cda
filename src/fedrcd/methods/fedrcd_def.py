"""FedRCD-Def."""

from __future__ import annotations

from fedrcd.methods.card import PAIRS_ONCE, register
from fedrcd.methods.deflations.algebraic import Algebraic, MarginalUpdate
from fedrcd.methods.scores.tau import tau4
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants


@register("fedrcd-def", score="tau4", deflation="coordinator, algebraic", **PAIRS_ONCE)
def fedrcd_def(*, marginals: MarginalUpdate = "printed", estimator: Estimator = "plug-in") -> Parts[PairCumulants]:
    """Fourth-order scores with algebraic deflation at the coordinator; one round [P, Appendix B]."""
    return Parts(tau4, Algebraic(marginals=marginals, estimator=estimator))
