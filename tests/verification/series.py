"""Rows over time against `lingam.VARLiNGAM`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from fedrcd import discover
from fedrcd.typing import Matrix
from tests.verification.claims import Claim, claims, counted

SIZES, LAGS, SEEDS = (3, 5, 10), (1, 2, 3), 12
ROWS, BEFORE = 1500, 50


def series(p: int, lags: int, seed: int) -> Matrix:
    """Centred rows of a stationary structural vector autoregression with Laplace noise."""
    rng = np.random.default_rng([p, lags, seed])
    B = np.tril(rng.uniform(0.5, 1.2, (p, p)) * rng.choice([-1, 1], (p, p)), -1) * (rng.random((p, p)) < min(1, 3 / p))
    order = rng.permutation(p)
    mixing = np.linalg.inv(np.eye(p) - B[np.ix_(order, order)])
    past = [rng.uniform(-0.5, 0.5, (p, p)) * (rng.random((p, p)) < 2 / p) / (lag + 1) for lag in range(lags)]
    companion = np.eye(p * lags, k=-p)
    companion[:p] = np.concatenate([mixing @ M for M in past], axis=1)
    growth = max(1.0, np.abs(np.linalg.eigvals(companion)).max() / 0.9)
    past = [M / growth ** (lag + 1) for lag, M in enumerate(past)]
    X = np.zeros((ROWS + BEFORE, p))
    noise = rng.laplace(size=X.shape)
    for t in range(lags, len(X)):
        X[t] = mixing @ (sum(M @ X[t - 1 - lag] for lag, M in enumerate(past)) + noise[t])
    rows: Matrix = X[BEFORE:] - X[BEFORE:].mean(axis=0)
    return rows


def compared(p: int, lags: int, seed: int) -> tuple[bool, float]:
    """Whether `fed-direct` orders as `lingam.VARLiNGAM`, and by how much effects selected by BIC differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lingam

        X: Any = series(p, lags, seed)
        theirs = lingam.VARLiNGAM(lags=lags, criterion=None).fit(X)
        found = discover(X, "fed-direct", lags=lags, weights="bic")
    order = [found.names.index(name) for name in found.order]
    ours = np.stack([found.B, *(found.lagged[lag] for lag in range(1, lags + 1))])
    return order == list(theirs.causal_order_), float(np.abs(ours - theirs.adjacency_matrices_).max())


@claims(seed=0)
def orders_and_effects(seed: int) -> Iterator[Claim]:
    """The order of now, and effects of now and before."""
    cases = list(product(SIZES, LAGS, range(seed, seed + SEEDS)))
    found = [compared(*case) for case in counted(cases, "series")]
    same, largest = sum(ok for ok, _ in found), max(difference for _, difference in found)
    yield Claim(
        f"`fed-direct` with `lags` of 1 to 3 orders 3, 5 and 10 variables as `lingam.VARLiNGAM`, and effects selected "
        f"by BIC differ by at most 1e-6 ({ROWS} centred rows)",
        len(cases),
        f"{same} orders the same, largest difference {largest:.0e}",
        same == len(cases) and largest <= 1e-6,
    )
