r"""Standard errors of effects from the pooled covariance and the number of rows, by the delta method.

Given the graph, the effects on a variable are a least-squares fit on its parents P. Errors are independent of earlier
variables, so in large samples

.. math:: \operatorname{cov}(\hat b_t) = \frac{\omega_t}{N}\, \Sigma_{PP}^{-1},

whatever the errors' distribution, and fits of different variables are uncorrelated. The total effects are
:math:`A - I` with :math:`A = (I - B)^{-1}`; their change is :math:`A\, dB\, A`, hence

.. math:: \operatorname{var}(\hat A_{ij}) = \sum_t A_{it}^2\; A_{Pj}^\top \operatorname{cov}(\hat b_t)\, A_{Pj}.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedrcd.graphs.dag import total_effects
from fedrcd.methods.weights import refit
from fedrcd.typing import BoolMatrix, Matrix


class EffectErrors(NamedTuple):
    """Standard errors of direct and of total effects, [i, j] for j on i; zero where there is no effect."""

    direct: Matrix
    total: Matrix


def effect_errors(cov: Matrix, rows: int, edges: BoolMatrix) -> EffectErrors:
    """Standard errors for the least-squares effects of a graph, ``edges[i, j]`` for j -> i."""
    B = refit(cov, edges)
    A = total_effects(B) + np.eye(len(B))
    direct, spread = np.zeros(B.shape), np.zeros(B.shape)
    for target in np.flatnonzero(edges.any(axis=1)):
        parents = np.flatnonzero(edges[target])
        residual = cov[target, target] - B[target, parents] @ cov[parents, target]
        freedom = max(rows - len(parents) - 1, 1)
        covariance = max(residual, 0.0) / freedom * np.linalg.inv(cov[np.ix_(parents, parents)])
        direct[target, parents] = np.sqrt(np.diagonal(covariance))
        along = A[parents]
        spread[target] = np.einsum("aj,ab,bj->j", along, covariance, along)
    return EffectErrors(direct, np.sqrt(np.maximum(A**2 @ spread, 0.0)))
