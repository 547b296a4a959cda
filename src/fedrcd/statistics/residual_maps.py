"""Linear maps from variables to least-squares residuals, from their covariance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedrcd.typing import Matrix


def residual_map(cov: Matrix, given: tuple[int, ...]) -> tuple[Matrix, tuple[int, ...]]:
    r"""Matrix R with r = R x the least-squares residuals of all other variables on `given`; and which these are.

    :math:`r_U = x_U - \Sigma_{UP} \Sigma_{PP}^{-1} x_P`, the same residuals that successive regression on one source
    after another leaves [P, Algorithm 1, line 13].
    """
    rest = tuple(j for j in range(len(cov)) if j not in given)
    R = np.zeros((len(rest), len(cov)))
    R[np.arange(len(rest)), rest] = 1.0
    if given:
        P = list(given)
        R[:, P] = -np.linalg.solve(cov[np.ix_(P, P)], cov[np.ix_(P, rest)]).T
    return R, rest


def residual_rows(cov: Matrix, order: Sequence[int]) -> Matrix:
    """W with e = W x of unit variance and uncorrelated: rows in causal order, columns in variable order."""
    W = np.zeros_like(cov)
    factor = np.linalg.cholesky(cov[np.ix_(order, order)])
    W[:, order] = np.linalg.inv(factor)
    return W
