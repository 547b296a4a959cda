"""Effects over time: what follows from those within a step and those of earlier values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedrcd.graphs.dag import total_effects
from fedrcd.typing import Matrix


def beside(B: Matrix, lagged: Mapping[int, Matrix]) -> Matrix:
    """Effects on the variables of now of those of now and of each step before, shape (p, p (lags + 1))."""
    return np.concatenate([B, *(lagged[lag] for lag in sorted(lagged))], axis=1)


def widened(B: Matrix, lagged: Mapping[int, Matrix]) -> Matrix:
    """The same as effects among all of these variables: nothing acts on what was before; square."""
    now = beside(B, lagged)
    p, size = now.shape
    return np.concatenate([now, np.zeros((size - p, size))])


def responses(B: Matrix, lagged: Mapping[int, Matrix], steps: int) -> list[Matrix]:
    """Total effects of one unit more of a variable on another at once, a step later, and so on, up to `steps` later.

    Entry [h][i, j] is the effect of j on i over all paths through the h steps between.
    """
    at_once = total_effects(B) + np.eye(len(B))
    found = [at_once]
    for step in range(1, steps + 1):
        passed = sum((lagged[lag] @ found[step - lag] for lag in lagged if lag <= step), np.zeros(B.shape))
        found.append(at_once @ passed)
    return found


def unrolled(B: Matrix, lagged: Mapping[int, Matrix], steps: int) -> Matrix:
    """Effects among the variables of now and of `steps` steps before: those of now first, then of a step before."""
    p = len(B)
    whole = np.zeros((p * (steps + 1), p * (steps + 1)))
    for at in range(steps + 1):
        for lag, effects in {0: B, **lagged}.items():
            if at + lag <= steps:
                whole[at * p : (at + 1) * p, (at + lag) * p : (at + lag + 1) * p] = effects
    return whole


def order_unrolled(order: Sequence[int], steps: int) -> list[int]:
    """The causal order of these variables: earliest first, each step in the order of now."""
    return [at * len(order) + k for at in range(steps, -1, -1) for k in order]
