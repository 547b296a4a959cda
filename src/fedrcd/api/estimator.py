"""`FedLiNGAM`: the same discovery in the shape of `lingam` and scikit-learn."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from fedrcd.api.bootstrap import bootstrap
from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.api.checks import check
from fedrcd.api.discover import BY_BOOTSTRAP, SELECT_BY_BOOTSTRAP, discover
from fedrcd.api.discovery import Discovery
from fedrcd.api.grouping import require_seed
from fedrcd.api.tables import prepare
from fedrcd.data.open_tables import open_tables
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FedrcdWarning
from fedrcd.graphs.over_time import beside
from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.em_moments import ask_moments
from fedrcd.methods.settings import OF_TABLES, Settings, parameters
from fedrcd.protocol.driver import run as drive
from fedrcd.typing import Matrix

PARAMETER_OF = {name: name for name in ("method", "weights", "penalty", *OF_TABLES)} | {"knowledge": "prior_knowledge"}
"""Arguments of `discover` that are parameters here, and so no options."""
NO_OPTIONS = ("variables", "n_jobs", "announce", "replicated")
"""Arguments of `discover` and `bootstrap` that no fit has."""


def _signature() -> inspect.Signature:
    """The parameters of the estimator: those of `discover` that a fit has, under the names that `lingam` knows."""
    own = inspect.Parameter
    some = [one.replace(name=PARAMETER_OF[one.name]) for one in parameters(PARAMETER_OF)]
    first = [own("self", own.POSITIONAL_OR_KEYWORD), some[0].replace(kind=own.POSITIONAL_OR_KEYWORD)]
    more = [
        own("options", own.KEYWORD_ONLY, default=None, annotation="dict[str, Any] | None"),
        own("random_state", own.KEYWORD_ONLY, default=None, annotation="int | None"),
    ]
    return inspect.Signature([*first, *some[1:], *more], return_annotation=None)


SIGNATURE = _signature()


class FedLiNGAM(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Federated LiNGAM estimator, with the attributes and methods that users of `lingam` know.

    Parameters are arguments of `fedrcd.discover`, which tells more of them.

    Parameters
    ----------
    method : str
        Name of a method, or "auto".
    weights : {"auto", "guarded", "adaptive-lasso", "bic", "bootstrap", "none"}
        How edges are selected.
    penalty : float
        Of the adaptive lasso.
    drop : sequence of str
        Columns to leave out.
    within : {"none", "centre", "standardise", "auto"}
        Whether each site expresses its rows by its own means, or means and standard deviations.
    missing : {"complete", "expected", "available"}
        What is done about rows with missing values.
    missing_codes : sequence of float
        Values that stand for a missing one.
    trim : float, optional
        Leave out rows with a value more than this many robust scales from its column's median.
    arithmetic : {"float", "exact", "compact"}
        How sums are formed.
    masked : bool
        Whether sums are added under masks.
    stack : bool
        Allow methods for one table to stack several.
    options : dict, optional
        Further options of the method, and of weights="bootstrap".
    prior_knowledge : Knowledge, path or (p, p) array, optional
        Statements by name, a TOML file of them, or `lingam`'s matrix [to, from] of 1 (path), 0 (none), -1 (unknown),
        as an array or a DataFrame.
    random_state : int, optional
        Seed of `bootstrap`, unless it is given one of its own, and of weights="bootstrap".

    Attributes
    ----------
    causal_order_ : list of int
        Column indices, roots first.
    adjacency_matrix_ : (p, p) array
        Entry [i, j] is the effect of j on i.
    feature_names_in_ : (p,) array of str
        Column names; only if the tables have any. Methods that take tables again find columns by name if both had
        names, else by position.
    discovery_ : Discovery
        Everything else.
    """

    def __init__(self, *given: Any, **parameters: Any) -> None:
        bound = SIGNATURE.bind(self, *given, **parameters)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = SIGNATURE  # type: ignore[attr-defined]  # scikit-learn reads parameters off it

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Discover the order and the effects behind one table, or a list of tables with one per site."""
        require_seed(self.random_state)
        settings = self._settings()
        if self.weights == BY_BOOTSTRAP and self.random_state is not None:
            settings.setdefault("random_state", self.random_state)
        found = discover(X, self.method, **settings)
        position = {name: i for i, name in enumerate(found.names)}
        self.discovery_: Discovery = found
        self.causal_order_: list[int] = [position[name] for name in found.order]
        self.adjacency_matrix_: Matrix = found.B
        self.n_features_in_: int = len(found.names)
        if _has_names(X[0] if isinstance(X, list | tuple) else X):
            self.feature_names_in_ = np.array(found.names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        return self

    def bootstrap(
        self,
        X: Any,
        n_sampling: int,
        random_state: int | None = None,
        *,
        resample: Literal["groups", "rows"] | None = None,
        groups: int | None = None,
        n_jobs: int | None = None,
    ) -> Bootstrap:
        """Replicates of the discovery; see `fedrcd.bootstrap`.

        A single table is resampled row by row, as in `lingam`; several are resampled by groups of rows, of which only
        sums leave a site, and rows of series by subjects or stretches of time.
        """
        several = isinstance(X, list | tuple) and len(X) > 1 and not self.stack
        rows = resample or ("groups" if several or self.lags else "rows")
        settings = self._settings()
        if settings["weights"] == BY_BOOTSTRAP:
            base = settings.get("base", SELECT_BY_BOOTSTRAP["base"])
            settings = {k: v for k, v in settings.items() if k not in SELECT_BY_BOOTSTRAP} | {"weights": base}
        seed = self.random_state if random_state is None else random_state
        return bootstrap(
            X,
            self.method,
            n_sampling=n_sampling,
            random_state=seed,
            resample=rows,
            groups=groups,
            n_jobs=n_jobs,
            **settings,
        )

    def estimate_total_effect(self, X: Any, from_index: int, to_index: int) -> float:
        """Total effect of one variable on another: its coefficient beside its parents, as `lingam` estimates it."""
        order = self._fitted().causal_order_
        for what, index in (("from_index", from_index), ("to_index", to_index)):
            if not isinstance(index, Integral) or isinstance(index, bool) or index not in order:
                raise ConfigError(f"{what} must be the number of a variable, 0 to {len(order) - 1}, got {index!r}")
        if from_index == to_index:
            raise ConfigError("from_index and to_index must be two variables")
        if order.index(from_index) > order.index(to_index):
            names = self.discovery_.names
            warnings.warn(
                FedrcdWarning(
                    f"{names[to_index]!r} comes before {names[from_index]!r} in the causal order: no effect is expected"
                ),
                stacklevel=2,
            )
        cov = self._covariance(X)
        effects = beside(self.adjacency_matrix_, self.discovery_.lagged_effects)
        given = [from_index, *np.flatnonzero(effects[from_index]).tolist()]
        return float(np.linalg.solve(cov[np.ix_(given, given)], cov[given, to_index])[0])

    def get_error_independence_p_values(self, X: Any) -> Matrix:
        """P-values that the errors of each pair are independent, by cross cumulants; NaN where the data cannot tell.

        Errors need all values of a row: rows with missing ones are left out, whatever `missing` says.
        """
        self._fitted()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FedrcdWarning)  # said when fitted
            checks = check(self._as_fitted(X), self.discovery_, **self._table_settings() | {"missing": "complete"})
        p_values: Matrix = checks.independence_p_values().to_numpy(copy=True)
        np.fill_diagonal(p_values, 0.0)  # as in lingam
        return p_values

    def _covariance(self, X: Any) -> Matrix:
        """Pooled covariance, in one round, and some more where gaps are filled."""
        lags = max(self.discovery_.lagged_effects, default=0)
        how = self._table_settings() | {"lags": lags}
        settings = Settings.of(self.discovery_.method, variables=self.discovery_.names, **how)
        run = prepare(self._as_fitted(X), settings).run
        setting = run.setting
        if setting.fills_gaps:
            setting = replace(setting, given=drive(ask_moments(setting), run.transport))
        _, marginals = drive(ask_pairs(setting, 2, "plug-in"), run.transport)
        return marginals.cov

    def _as_fitted(self, X: Any) -> Any:
        """The tables, with the names of the fit in place of their own where one of the two had none."""
        if not isinstance(X, list | tuple):
            return self._named(X, "the table")
        return [self._named(one, f"table {k}") for k, one in enumerate(X, 1)]

    def _named(self, X: Any, source: str) -> Any:
        """A table under the names of the fit, by position; or as it is, if it has to be found by name."""
        if (isinstance(X, Table) and X.site) or (_has_names(X) and hasattr(self, "feature_names_in_")):
            return X
        (table,) = open_tables(X, source, gaps=True, codes=self.missing_codes, drop=self.drop)
        names = self.discovery_.names
        if len(table.columns) != len(names):
            raise ConfigError(f"{source} has {len(table.columns)} columns, but {len(names)} were fitted")
        return replace(table, columns=names)

    def _fitted(self) -> Self:
        if not hasattr(self, "discovery_"):
            raise ConfigError("this FedLiNGAM is not fitted yet; call fit(X) first")
        return self

    def _table_settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OF_TABLES}

    def _settings(self) -> dict[str, Any]:
        if self.options is not None and not isinstance(self.options, Mapping):
            raise ConfigError(f"options must be a dict of names and values, got {self.options!r}")
        options = dict(self.options or {})
        for name in options:
            if name in NO_OPTIONS:
                raise ConfigError(f"options[{name!r}]: no method has this option")
            if name in PARAMETER_OF:
                raise ConfigError(f"options[{name!r}]: set the parameter {PARAMETER_OF[name]} of FedLiNGAM instead")
        return {
            **self._table_settings(),
            "weights": self.weights,
            "penalty": self.penalty,
            "knowledge": self.prior_knowledge,
            **options,
        }


def _has_names(table: Any) -> bool:
    """Whether columns have names: those of an array have none, nor those of a frame that only numbers them."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return all(isinstance(label, str) for label in table.columns)
    return not isinstance(table, np.ndarray)
