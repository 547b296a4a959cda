"""`VARLiNGAM`: the estimator of `lingam` for time series, from this package's parts."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fedrcd.errors import ConfigError, DataError, FedrcdWarning
from fedrcd.graphs.dag import total_effects
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.over_time import widened
from fedrcd.lingam.direct_lingam import DirectLiNGAM
from fedrcd.lingam.results_over_time import VARBootstrapResult, require_replicates
from fedrcd.methods.past import by_lag, now
from fedrcd.methods.weights import Weights
from fedrcd.typing import Matrix, Vector

CRITERIA = ("aic", "fpe", "hqic", "bic")


class VARLiNGAM(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator that gives what `lingam.VARLiNGAM` gives: its order, and effects of now and before.

    For several sites, subjects or gaps in time take `fedrcd.discover(..., lags=...)`.

    Parameters
    ----------
    lags : int
        Steps back; the most that are tried if there is a criterion.
    criterion : {"bic", "aic", "hqic", "fpe", None}
        By which fewer steps may be taken; None to take all.
    prune : bool
        Select effects by BIC.
    ar_coefs : (lags, p, p) array, optional
        Coefficients of the autoregression, if they are known.
    lingam_model : estimator, optional
        Orders the residuals; by default `DirectLiNGAM`.
    random_state : int, optional
        Seed of `bootstrap`.

    Attributes
    ----------
    causal_order_ : list of int
        Column indices, roots first.
    adjacency_matrices_ : (lags + 1, p, p) array
        Entry [k, i, j] is the effect of j on i, k steps later.
    residuals_ : (n - lags, p) array
        What the past leaves unexplained.
    """

    def __init__(
        self,
        lags: int = 1,
        criterion: str | None = "bic",
        prune: bool = True,  # noqa: FBT001, FBT002 - lingam's signature
        ar_coefs: Any = None,
        lingam_model: Any = None,
        random_state: int | None = None,
    ) -> None:
        if criterion is not None and criterion not in CRITERIA:
            raise ConfigError(f"criterion must be one of {', '.join(CRITERIA)} or None, got {criterion!r}")
        self.lags = lags
        self.criterion = criterion
        self.prune = prune
        self.ar_coefs = ar_coefs
        self.lingam_model = lingam_model
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Find the order of now, and effects of now and before, in the rows of one series."""
        rows: Matrix = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise DataError("a series must be a table of finite numbers, one row a step of time")
        coefs = self._coefficients(rows) if self.ar_coefs is None else np.asarray(self.ar_coefs, dtype=np.float64)
        self.lags_ = len(coefs)
        self.residuals_ = rows[self.lags_ :] - _explained(rows, coefs)
        model = (self.lingam_model or DirectLiNGAM()).fit(self.residuals_)
        self._of_residuals, self._coefs = model, coefs
        self.causal_order_: list[int] = list(model.causal_order_)
        B: Matrix = np.asarray(model.adjacency_matrix_)
        left = np.eye(len(B)) - B
        self.adjacency_matrices_: Matrix = (
            self._selected(rows) if self.prune else np.stack([B, *(left @ coef for coef in coefs)])
        )
        return self

    def estimate_total_effect(self, X: Any, from_index: int, to_index: int, from_lag: int = 0) -> float:
        """The effect of a column, so many steps before, on another, by regression on it and on its parents."""
        rows: Matrix = np.asarray(X, dtype=np.float64)
        p, steps = rows.shape[1], self.lags_ + from_lag
        joined = np.concatenate([np.roll(rows, lag, axis=0) for lag in range(steps + 1)], axis=1)
        joined -= joined.mean(axis=0)
        parents = np.flatnonzero(np.concatenate(list(self.adjacency_matrices_), axis=1)[from_index])
        predictors = joined[:, [from_index + p * from_lag, *(parents + p * from_lag)]]
        effects: Vector = np.linalg.lstsq(predictors, joined[:, to_index], rcond=None)[0]
        return float(effects[0])

    def bootstrap(self, X: Any, n_sampling: int) -> VARBootstrapResult:
        """Replicates of the fit on series made anew: the fitted autoregression, and residuals drawn with replacement.

        As in `lingam`, replicates go back as many steps as the fit.
        """
        rng = np.random.default_rng(self.random_state)
        rows: Matrix = np.asarray(X, dtype=np.float64)
        self.fit(rows)
        direct, total = [], []
        for _ in range(require_replicates(n_sampling)):
            again = VARLiNGAM(self.lags_, None, self.prune, self.ar_coefs, self.lingam_model)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FedrcdWarning)  # said of the series itself
                again.fit(_made_anew(self._coefs, self.residuals_, len(rows), rng))
            direct.append(np.concatenate(list(again.adjacency_matrices_), axis=1))
            total.append(_total(again.adjacency_matrices_))
        return VARBootstrapResult(np.stack(direct), np.stack(total))

    def estimate_total_effect2(self, n_features: int, from_index: int, to_index: int, from_lag: int = 0) -> float:
        """The effect of a column, so many steps before, on another, over paths of the fitted graph."""
        return float(_total(self.adjacency_matrices_)[to_index, n_features * from_lag + from_index])

    def get_error_independence_p_values(self) -> Matrix:
        """P-values that the errors of each pair are independent, by cross cumulants; NaN where the data cannot tell."""
        p_values: Matrix = self._of_residuals.get_error_independence_p_values(self.residuals_)
        return p_values

    def _coefficients(self, rows: Matrix) -> Matrix:
        """Those of the autoregression without a constant, with as many steps back as the criterion wants."""
        if not isinstance(self.lags, int) or self.lags < 1 or len(rows) <= (self.lags + 1) * rows.shape[1]:
            raise DataError(f"{len(rows)} rows of {rows.shape[1]} columns do not determine {self.lags} steps back")
        tried = [self.lags] if self.criterion is None else range(1, self.lags + 1)
        fits = [_autoregression(rows, lags) for lags in tried]
        if self.criterion is None:
            return fits[0]
        return min(fits, key=lambda coefs: _score(rows, coefs, str(self.criterion)))

    def _selected(self, rows: Matrix) -> Matrix:
        """Effects along the order, selected by BIC among those of now and all of the past."""
        p, lags = rows.shape[1], self.lags_
        beside = _beside(rows, lags)
        past = [lag * p + k for lag in range(lags, 0, -1) for k in range(p)]
        order = np.array([*past, *self.causal_order_], dtype=np.int64)
        cov: Matrix = np.asarray(np.cov(beside, rowvar=False, bias=True), dtype=np.float64)
        B = Weights("bic").along(order, cov, len(beside), Constraints.none(p).with_past(lags))
        return np.stack([now(B, lags), *by_lag(B, lags).values()])


def _made_anew(coefs: Matrix, residuals: Matrix, n: int, rng: np.random.Generator) -> Matrix:
    """A series by the autoregression, with residuals drawn with replacement; it begins with these alone."""
    rows: Matrix = residuals[rng.integers(len(residuals), size=n)]
    for t in range(len(coefs), n):
        for lag, coef in enumerate(coefs, 1):
            rows[t] += coef @ rows[t - lag]
    return rows


def _total(effects: Matrix) -> Matrix:
    """Total effects of variables now and so many steps before; as in `lingam`, nothing acts on what was before."""
    return total_effects(widened(effects[0], dict(enumerate(effects[1:], 1))))[: len(effects[0])]


def _beside(rows: Matrix, lags: int) -> Matrix:
    """Rows beside those of the steps before them, shape (n - lags, (lags + 1) p)."""
    return np.concatenate([rows[lags - lag : len(rows) - lag] for lag in range(lags + 1)], axis=1)


def _autoregression(rows: Matrix, lags: int) -> Matrix:
    """Coefficients by least squares without a constant, shape (lags, p, p)."""
    p, beside = rows.shape[1], _beside(rows, lags)
    taken = np.linalg.lstsq(beside[:, p:], beside[:, :p], rcond=None)[0].astype(np.float64)
    return np.stack([taken[lag * p : (lag + 1) * p].T for lag in range(lags)])


def _explained(rows: Matrix, coefs: Matrix) -> Matrix:
    """What the past tells of every row that has one."""
    lags = len(coefs)
    explained: Matrix = sum(rows[lags - lag : len(rows) - lag] @ coefs[lag - 1].T for lag in range(1, lags + 1))
    return explained


def _score(rows: Matrix, coefs: Matrix, criterion: str) -> float:
    """The criterion of an autoregression, over the rows that it leaves, as statsmodels has it; lower is better."""
    lags, p = len(coefs), rows.shape[1]
    residuals = rows[lags:] - _explained(rows, coefs)
    n, used = len(residuals), p * lags
    size = float(np.linalg.slogdet(residuals.T @ residuals / n)[1])
    if criterion == "fpe":
        return float(((n + used) / (n - used)) ** p * np.exp(size))
    weight = {"aic": 2.0, "hqic": 2.0 * np.log(np.log(n)), "bic": float(np.log(n))}[criterion]
    return float(size + weight / n * used * p)
