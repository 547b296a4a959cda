"""`DirectLiNGAM`: the estimator of `lingam`, from this package's parts."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fedrcd.api.discovery import Discovery
from fedrcd.api.estimator import FedLiNGAM
from fedrcd.api.inputs import read_tables
from fedrcd.confidence.replicates import draw_rows
from fedrcd.errors import ConfigError
from fedrcd.lingam.bootstrap_result import BootstrapResult
from fedrcd.typing import IntVector, Matrix


class DirectLiNGAM(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator that gives what `lingam.DirectLiNGAM` gives: its order, and effects selected by BIC.

    It is a `FedLiNGAM("direct-lingam", weights="bic", stack=True)` under other names.

    Parameters
    ----------
    random_state : int, optional
        Seed of `bootstrap`.
    prior_knowledge : (p, p) array, optional
        Matrix [to, from] of 1 (path), 0 (none) and -1 (unknown), or whatever else `FedLiNGAM` takes.
    apply_prior_knowledge_softly : bool
        Must be False: prior knowledge is enforced here.
    measure : str
        Must be "pwling".

    Attributes
    ----------
    causal_order_ : list of int
        Column indices, roots first.
    adjacency_matrix_ : (p, p) array
        Entry [i, j] is the effect of j on i.
    discovery_ : Discovery
        Everything else.
    """

    def __init__(
        self,
        random_state: int | None = None,
        prior_knowledge: Any = None,
        apply_prior_knowledge_softly: bool = False,  # noqa: FBT001, FBT002 - lingam's signature
        measure: str = "pwling",
    ) -> None:
        if measure != "pwling":
            raise ConfigError(f"measure must be 'pwling', got {measure!r}")
        if apply_prior_knowledge_softly:
            raise ConfigError("prior knowledge is enforced here; leave apply_prior_knowledge_softly=False")
        self.random_state = random_state
        self.prior_knowledge = prior_knowledge
        self.apply_prior_knowledge_softly = apply_prior_knowledge_softly
        self.measure = measure

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Find the order and the effects behind a table, or behind several that are stacked."""
        self.estimator_ = self._estimator().fit(X)
        self.causal_order_: list[int] = self.estimator_.causal_order_
        self.adjacency_matrix_: Matrix = self.estimator_.adjacency_matrix_
        self.discovery_: Discovery = self.estimator_.discovery_
        return self

    def bootstrap(self, X: Any, n_sampling: int, *, n_jobs: int | None = None) -> BootstrapResult:
        """Replicates of the fit on rows drawn with replacement, by `n_jobs` processes.

        `resampled_indices_` of the result are rows of X; None if some replicates allowed no answer and were left out.
        """
        seed = secrets.randbits(63) if self.random_state is None else self.random_state
        found = self._estimator().bootstrap(X, n_sampling, seed, n_jobs=n_jobs)
        drawn = None if found.failed else partial(_drawn_rows, _complete_rows(X), n_sampling, int(seed))
        return BootstrapResult(found.adjacency_matrices_, found.total_effects_, drawn, bootstrap=found)

    def estimate_total_effect(self, X: Any, from_index: int, to_index: int) -> float:
        """Total effect of one variable on another: its coefficient beside its parents."""
        return self._fitted().estimate_total_effect(X, from_index, to_index)

    def get_error_independence_p_values(self, X: Any) -> Matrix:
        """P-values that the errors of each pair are independent, by cross cumulants; NaN where the data cannot tell."""
        return self._fitted().get_error_independence_p_values(X)

    def _estimator(self) -> FedLiNGAM:
        return FedLiNGAM("direct-lingam", weights="bic", stack=True, prior_knowledge=self.prior_knowledge)

    def _fitted(self) -> FedLiNGAM:
        if not hasattr(self, "estimator_"):
            raise ConfigError("this DirectLiNGAM is not fitted yet; call fit(X) first")
        return self.estimator_


def _complete_rows(X: Any) -> IntVector:
    """Numbers of the rows without missing values, counted over all tables."""
    values = np.concatenate([table.values for table in read_tables(X)])
    return np.flatnonzero(~np.isnan(values).any(axis=1))


def _drawn_rows(rows: IntVector, n_sampling: int, random_state: int) -> list[IntVector]:
    """What `fedrcd.bootstrap` with `resample="rows"` drew for each replicate: drawn again, from the same seeds."""
    seeds = np.random.SeedSequence(random_state).spawn(n_sampling)
    return [rows[draw_rows(len(rows), np.random.default_rng(seed))] for seed in seeds]
