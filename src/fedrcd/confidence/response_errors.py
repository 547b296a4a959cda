r"""Standard errors of total effects over time, by the delta method.

With :math:`\Psi_h` the responses after h steps, a change of the effects on variable t changes them by

.. math:: d\Psi_h[i, c] = \sum_{(j, l)} db_t[j, l] \sum_{s=0}^{h-l} \Psi_{h-l-s}[i, t]\, \Psi_s[j, c],

where (j, l) are the parents of t, l steps before. Fits of different variables are uncorrelated, as in
`standard_errors`, and rows count as independent given their past: where they are not, a bootstrap by subjects says how
responses vary.
"""

from __future__ import annotations

import numpy as np

from fedrcd.graphs.over_time import responses
from fedrcd.methods.past import by_lag, now
from fedrcd.methods.weights import refit
from fedrcd.typing import BoolMatrix, Matrix

HORIZON = 10
"""Steps up to which a result has errors of responses."""


def response_errors(cov: Matrix, rows: int, edges: BoolMatrix, lags: int, steps: int = HORIZON) -> list[Matrix]:
    """Standard errors of `responses`, by step; `edges` are those among the variables of now and of the steps before."""
    B = refit(cov, edges)
    p = len(B) // (lags + 1)
    known = responses(now(B, lags), by_lag(B, lags), steps)
    variance = np.zeros((steps + 1, p, p))
    for target in range(p):
        parents = np.flatnonzero(edges[target])
        if not len(parents):
            continue
        left = cov[target, target] - B[target, parents] @ cov[parents, target]
        own = max(left, 0.0) / max(rows - len(parents) - 1, 1) * np.linalg.inv(cov[np.ix_(parents, parents)])
        for step in range(steps + 1):
            slopes = np.zeros((len(parents), p, p))
            for k, (lag, j) in enumerate(divmod(int(parent), p) for parent in parents):
                for s in range(step - lag + 1):
                    slopes[k] += np.outer(known[step - lag - s][:, target], known[s][j])
            variance[step] += np.einsum("aic,ab,bic->ic", slopes, own, slopes)
    return [np.sqrt(np.maximum(one, 0.0)) for one in variance]
