"""What time has to do with a method: how many steps back rows go, and an estimate cut into now and before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.methods.skeleton import Estimate, Marginals
from fedrcd.typing import Matrix


def choose_lags(cov: Matrix, rows: int, most: int) -> int:
    """The number of steps back, at least one and at most `most`, with the least BIC of the variables given their past.

    `cov` is the covariance of the variables now, then of those of each step before.
    """
    p = len(cov) // (most + 1)
    scores = []
    for lags in range(1, most + 1):
        past = np.arange(p, p * (lags + 1))
        try:
            taken = np.linalg.solve(cov[np.ix_(past, past)], cov[past, :p])
        except np.linalg.LinAlgError:
            raise StatisticError(
                "variables at some step follow from those of others; leave one out, or set lags"
            ) from None
        _, size = np.linalg.slogdet(cov[:p, :p] - cov[:p, past] @ taken)
        scores.append(rows * size + lags * p * p * np.log(rows))
    return 1 + int(np.argmin(scores))


def now(array: Matrix, past: int) -> Matrix:
    """Of an array whose last two axes are all variables, the part about those of now."""
    p = array.shape[-1] // (past + 1)
    return array[..., :p, :p]


def by_lag(B: Matrix, past: int) -> Mapping[int, Matrix]:
    """Effects of earlier values on those of now, by how many steps they lie back."""
    p = B.shape[-1] // (past + 1)
    return {lag: B[..., :p, lag * p : (lag + 1) * p].copy() for lag in range(1, past + 1)}


def at_present(estimate: Estimate, past: int) -> Estimate:
    """Order and effects among the variables of now."""
    if not past:
        return estimate
    known = estimate.marginals
    p = len(known.mean) // (past + 1)
    marginals: Marginals = replace(known, mean=known.mean[:p], cov=now(known.cov, past), distance=known.distance[:p])
    return Estimate(
        order=estimate.order[estimate.order < p],
        B=now(estimate.B, past),
        steps=estimate.steps,
        marginals=marginals,
        start=estimate.start[estimate.start < p],
    )
