"""FedISHC in plain floating-point arithmetic, without the guard of `methods/deflations/third_order.py`.

Ratios of third cumulants are cubed at every step, so arrays grow past the largest number within p steps. Our
deflation scales them down by powers of two, which changes nothing else. Without that, infinities turn into NaN, and
`numpy.argmin` takes a NaN for the least: from there on sources are taken as they stand in the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.harness.cells import Row
from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.scores.tau import tau3_matrix
from fedrcd.protocol.changed_units import scaled_by_sd
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.pair_cumulants import PairCumulants, pair_cumulants


def unguarded(*, scaling: float, **data: Any) -> list[Row]:
    """Accuracy of FedISHC as printed, all third-order arrays updated, and whether its arrays overflowed."""
    model, tables = DataSetting(**data).draw()
    transport = scaled_by_sd(embed(tables, model.names), scaling)
    sums = transport.pool(PairQuestion(transport.setting.variables, transport.setting.frame, 3))
    with np.errstate(all="ignore"):
        order, overflowed = plain_order(pair_cumulants(sums, transport.setting.frame))
    return [{"accuracy": ancestral_accuracy(order, model.B), "overflowed": overflowed}]


def plain_order(k: PairCumulants) -> tuple[list[int], bool]:
    """The order, and whether any score on the way was not finite [P, Eqs. tau3, alpha_ishc, ishc_update]."""
    left, order, overflowed = list(range(k.p)), [], False
    while len(left) > 1:
        tau = tau3_matrix(k)
        np.fill_diagonal(tau, 0.0)
        scores = tau.sum(axis=1)
        overflowed |= not np.isfinite(scores).all()
        at = int(np.argmin(scores))
        alpha = (k.k21[:, at] / k.k3[at, 0])[:, None]
        k3 = k.k3 - alpha**3 * k.k3[at, 0]
        k12 = k.k12 - alpha * alpha.T**2 * k.k3[at, 0]
        order.append(left.pop(at))
        k = PairCumulants(k.count, k.k2, k.cov, k3, k12).keep([j for j in range(k.p) if j != at])
    return order + left, overflowed
