"""`FedLiNGAM`: the same discovery in the shape of `lingam` and scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fedrcd.api.discover import discover
from fedrcd.api.discovery import Discovery
from fedrcd.errors import ConfigError
from fedrcd.typing import Matrix


class FedLiNGAM(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Federated LiNGAM estimator, with the attributes that users of `lingam` know.

    Parameters
    ----------
    method : str
        Name of a method, or "auto".
    weights : {"adaptive-lasso", "bic", "none"}
        How edges are selected.
    penalty : float
        Of the adaptive lasso.
    trim : float, optional
        Leave out rows with a value more than this many robust scales from its column's median.
    stack : bool
        Allow methods for one table to stack several.
    options : dict, optional
        Further options of the method.

    Attributes
    ----------
    causal_order_ : list of int
        Column indices, roots first.
    adjacency_matrix_ : (p, p) array
        Entry [i, j] is the effect of j on i.
    feature_names_in_ : (p,) array of str
        Column names; only if the tables have any.
    discovery_ : Discovery
        Everything else.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        weights: str = "adaptive-lasso",
        penalty: float = 0.01,
        trim: float | None = None,
        stack: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.weights = weights
        self.penalty = penalty
        self.trim = trim
        self.stack = stack
        self.options = options

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Discover the order and the effects behind one table, or a list of tables with one per site."""
        options = dict(self.options or {})
        for name in set(options) & {"weights", "penalty", "trim", "stack", "within", "missing", "method"}:
            raise ConfigError(f"options[{name!r}]: set the parameter {name} of FedLiNGAM instead")
        found = discover(
            X,
            self.method,
            trim=self.trim,
            stack=self.stack,
            weights=self.weights,
            penalty=self.penalty,
            **options,
        )
        position = {name: i for i, name in enumerate(found.names)}
        self.discovery_: Discovery = found
        self.causal_order_: list[int] = [position[name] for name in found.order]
        self.adjacency_matrix_: Matrix = found.B
        self.n_features_in_: int = len(found.names)
        first = X[0] if isinstance(X, list | tuple) else X
        if isinstance(first, np.ndarray):
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        else:
            self.feature_names_in_ = np.array(found.names, dtype=object)
        return self
