"""`LongitudinalLiNGAM`: the estimator of `lingam` for the same rows seen several times, from this package's parts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fedrcd.errors import ConfigError, DataError, FedrcdWarning
from fedrcd.graphs.dag import total_effects
from fedrcd.lingam.direct_lingam import DirectLiNGAM
from fedrcd.lingam.results_over_time import LongitudinalBootstrapResult, over_times, require_replicates
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
        Seed of `bootstrap`.

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
        self._of_residuals: dict[int, DirectLiNGAM] = {}
        for t in range(lags, len(tables)):
            past = np.concatenate([tables[t - lag] for lag in range(1, lags + 1)], axis=1)
            taken = np.linalg.lstsq(past - past.mean(axis=0), tables[t] - tables[t].mean(axis=0), rcond=None)[0]
            self.residuals_[t] = tables[t] - past @ taken
            model = DirectLiNGAM().fit(self.residuals_[t])
            self._of_residuals[t] = model
            left = np.eye(p) - model.adjacency_matrix_
            self.causal_orders_.append(model.causal_order_)
            before = [left @ taken[lag * p : (lag + 1) * p].T for lag in range(lags)]
            self.adjacency_matrices_[t] = np.stack([model.adjacency_matrix_, *before])
        return self

    def bootstrap(
        self, X_list: Sequence[Any], n_sampling: int, start_from_t: int | None = None
    ) -> LongitudinalBootstrapResult:
        """Replicates of the fit on rows drawn with replacement, each with all its times.

        Total effects are from `start_from_t` on; by default from the first time that has enough of a past.
        """
        first = self.n_lags if start_from_t is None else start_from_t
        if first < self.n_lags:
            raise ConfigError(f"start_from_t must be at least {self.n_lags}, the number of lags, got {first}")
        rng = np.random.default_rng(self.random_state)
        tables = [np.asarray(table, dtype=np.float64) for table in X_list]
        (n, p), times = tables[0].shape, len(tables)
        direct, total = [], np.zeros((require_replicates(n_sampling), times * p, times * p))
        for effects in total:
            drawn = rng.integers(n, size=n)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FedrcdWarning)  # said of the tables themselves
                again = LongitudinalLiNGAM(self.n_lags).fit([table[drawn] for table in tables])
            direct.append(again.adjacency_matrices_)
            effects[first * p :, first * p :] = total_effects(over_times(direct[-1], first, times - 1))
        return LongitudinalBootstrapResult(times, np.stack(direct), total)

    def estimate_total_effect2(self, from_t: int, from_index: int, to_t: int, to_index: int) -> float:
        """The effect of a column at one time on another, not earlier, over all paths of the fitted graph."""
        p = self.adjacency_matrices_.shape[-1]
        effects = total_effects(over_times(self.adjacency_matrices_, from_t, to_t))
        return float(effects[p * (to_t - from_t) + to_index, from_index])

    def get_error_independence_p_values(self) -> Matrix:
        """By time: p-values that the errors of each pair are independent; NaN where the data cannot tell."""
        times, _, p, _ = self.adjacency_matrices_.shape
        p_values = np.full((times, p, p), np.nan)
        for t, model in self._of_residuals.items():
            p_values[t] = model.get_error_independence_p_values(self.residuals_[t])
        return p_values

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
