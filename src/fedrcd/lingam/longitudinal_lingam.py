"""`LongitudinalLiNGAM`: the estimator of `lingam` for the same rows seen several times, from this package's parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fedrcd.errors import ConfigError, DataError
from fedrcd.lingam.direct_lingam import DirectLiNGAM
from fedrcd.typing import Matrix, Vector


class LongitudinalLiNGAM(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator that gives what `lingam.LongitudinalLiNGAM` gives: effects within each time and from those before.

    Effects of several times before are told by how long before: `lingam` 1.13 lists these in the opposite order where
    `n_lags` is above 1.

    Parameters
    ----------
    n_lags : int
        Times before that may have effects.
    measure : str
        Must be "pwling".
    random_state : int, optional
        Taken, and without effect: nothing here is random.

    Attributes
    ----------
    causal_orders_ : list of lists of int
        By time: column indices, roots first; NaN for times without enough of a past.
    adjacency_matrices_ : (times, n_lags + 1, p, p) array
        Entry [t, k, i, j] is the effect of j, k times before t, on i at t; NaN where there is not enough of a past.
    residuals_ : (times, n, p) array
        What the past leaves unexplained; 0 where there is not enough of it.
    """

    def __init__(self, n_lags: int = 1, measure: str = "pwling", random_state: int | None = None) -> None:
        if measure != "pwling":
            raise ConfigError(f"measure must be 'pwling', got {measure!r}")
        self.n_lags = n_lags
        self.measure = measure
        self.random_state = random_state

    def fit(self, X_list: Sequence[Any]) -> Self:
        """Find the order of every time, given those before, in tables of the same rows, one a time."""
        tables = [np.asarray(table, dtype=np.float64) for table in X_list]
        if len(tables) <= self.n_lags or self.n_lags < 1:
            raise DataError(f"{len(tables)} times do not have {self.n_lags} times before them")
        if any(table.ndim != 2 or table.shape != tables[0].shape or not np.isfinite(table).all() for table in tables):
            raise DataError("tables must hold finite numbers, for the same rows and columns at every time")
        (n, p), lags = tables[0].shape, self.n_lags
        self.causal_orders_: list[list[Any]] = [[np.nan] * p for _ in range(lags)]
        self.adjacency_matrices_ = np.full((len(tables), lags + 1, p, p), np.nan)
        self.residuals_ = np.zeros((len(tables), n, p))
        for t in range(lags, len(tables)):
            past = np.concatenate([tables[t - lag] for lag in range(1, lags + 1)], axis=1)
            taken = np.linalg.lstsq(past - past.mean(axis=0), tables[t] - tables[t].mean(axis=0), rcond=None)[0]
            self.residuals_[t] = tables[t] - past @ taken
            model = DirectLiNGAM().fit(self.residuals_[t])
            left = np.eye(p) - model.adjacency_matrix_
            self.causal_orders_.append(model.causal_order_)
            before = [left @ taken[lag * p : (lag + 1) * p].T for lag in range(lags)]
            self.adjacency_matrices_[t] = np.stack([model.adjacency_matrix_, *before])
        return self

    def estimate_total_effect(
        self, X_t: Sequence[Any], from_t: int, from_index: int, to_t: int, to_index: int
    ) -> float:
        """The effect of a column at one time on another, not earlier, by regression on it and on its parents."""
        if from_t < self.n_lags:
            raise ConfigError(f"the parents of time {from_t} are not known; from_t must be at least {self.n_lags}")
        tables: list[Matrix] = [np.asarray(table, dtype=np.float64) for table in X_t]
        beside = np.concatenate([tables[from_t - lag] for lag in range(self.n_lags + 1)], axis=1)
        parents = np.flatnonzero(np.concatenate(list(self.adjacency_matrices_[from_t]), axis=1)[from_index])
        predictors, target = beside[:, [from_index, *parents]], tables[to_t][:, to_index]
        centred = predictors - predictors.mean(axis=0)
        effects: Vector = np.linalg.lstsq(centred, target - target.mean(), rcond=None)[0]
        return float(effects[0])
