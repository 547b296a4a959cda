"""FedRCD-T: the order of FedRCD-X in one round."""

from __future__ import annotations

from fedrcd.methods.card import ONE_ROUND, Coverage, Payload, register
from fedrcd.methods.costs import of_tensor
from fedrcd.methods.deflations.tensors import TensorEvidence, Tensors, on_pairs
from fedrcd.methods.scores.tau import tau4
from fedrcd.methods.skeleton import Parts
from fedrcd.statistics.pair_cumulants import Estimator


@register(
    "fedrcd-t",
    score="tau4",
    deflation="coordinator, exact",
    rounds=ONE_ROUND,
    payload=Payload(4, over=24),
    coverage=Coverage.QUADRUPLES,
    scale_free=False,
    erasable=True,
    cost=of_tensor(refined=False),
)
def fedrcd_t(*, estimator: Estimator = "plug-in") -> Parts[TensorEvidence]:
    """Fourth-order scores with exact deflation of the full tensors: fedrcd-x in one round."""
    return Parts(on_pairs(tau4), Tensors(estimator))
