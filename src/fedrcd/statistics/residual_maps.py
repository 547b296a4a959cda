"""Linear maps from variables to least-squares residuals, from their covariance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedrcd.typing import Matrix

SMALLEST = 1e-14
"""Floor of a residual variance, as a share of the variable's."""


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


def insertion_rows(S: Matrix, order: Sequence[int], v: int) -> Matrix:
    """The rows of all residuals e = W x of unit variance that the p places of v among the others need.

    Of the others with v after them, with v before them, and of v at every place; S is a correlation matrix.
    """
    p = len(S)
    rest = [u for u in order if u != v]
    before = residual_rows(S, [*rest, v])[:-1]
    after = residual_rows(S, [v, *rest])[1:]
    shared = before @ S[v]
    own = np.zeros((p, p))
    own[:, v] = 1.0
    own[1:] -= np.cumsum(shared[:, None] * before, axis=0)
    left = S[v, v] - np.concatenate([[0.0], np.cumsum(shared**2)])
    own /= np.sqrt(np.maximum(left, SMALLEST))[:, None]
    return np.concatenate([before, after, own])
