"""`VARBootstrapResult` and `LongitudinalBootstrapResult`: replicates over time, with the queries of `lingam`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedrcd.api.bootstrap_result import Bootstrap, paths_by_probability
from fedrcd.errors import ConfigError
from fedrcd.graphs.over_time import unrolled
from fedrcd.typing import Matrix


class VARBootstrapResult:
    """Effects over time in replicates, and what they have in common.

    Parameters
    ----------
    adjacency_matrices, total_effects : (replicates, p, p (lags + 1)) array
        Direct and total effects of each replicate, of variables now, then of those one step before, and so on.

    Attributes
    ----------
    adjacency_matrices_, total_effects_
        What was given.
    """

    def __init__(self, adjacency_matrices: Any, total_effects: Any) -> None:
        self.adjacency_matrices_: Matrix = np.asarray(adjacency_matrices, dtype=np.float64)
        self.total_effects_: Matrix = np.asarray(total_effects, dtype=np.float64)
        if self.adjacency_matrices_.ndim != 3 or self.adjacency_matrices_.shape != self.total_effects_.shape:
            raise ConfigError("adjacency_matrices and total_effects must have one matrix per replicate, of one shape")

    def __len__(self) -> int:
        """Number of replicates."""
        return len(self.adjacency_matrices_)

    # These read nothing but what is above.
    get_causal_direction_counts: Any = Bootstrap.get_causal_direction_counts
    get_directed_acyclic_graph_counts: Any = Bootstrap.get_directed_acyclic_graph_counts
    get_total_causal_effects: Any = Bootstrap.get_total_causal_effects

    def get_probabilities(self, min_causal_effect: float | None = None) -> list[Matrix]:
        """By lag, from 0 on: share of replicates with each direct effect larger than a limit, [to, from]."""
        everything: Any = Bootstrap.get_probabilities
        p, width = self.adjacency_matrices_.shape[1:]
        return np.split(everything(self, min_causal_effect), width // p, axis=1)

    def get_paths(
        self,
        from_index: int,
        to_index: int,
        from_lag: int = 0,
        to_lag: int = 0,
        min_causal_effect: float | None = None,
    ) -> dict[str, list[Any]]:
        """Paths between two variables, so many steps before, by the share of replicates with them."""
        p, width = self.adjacency_matrices_.shape[1:]
        lags = width // p - 1
        if not 0 <= to_lag <= from_lag <= lags or (to_lag == from_lag and from_index == to_index):
            raise ConfigError(f"from_lag must be at least to_lag and at most {lags}, and the ends must be two")
        graphs = [unrolled(B[:, :p], _by_lag(B), lags) for B in self.adjacency_matrices_]
        return paths_by_probability(graphs, p * from_lag + from_index, p * to_lag + to_index, min_causal_effect)


class LongitudinalBootstrapResult:
    """Effects within times and from those before, in replicates.

    Parameters
    ----------
    n_timepoints : int
        How many times there are.
    adjacency_matrices : (replicates, times, lags + 1, p, p) array
        Effects of each replicate; NaN at times without enough of a past.
    total_effects : (replicates, times p, times p) array
        Total effects of each replicate, of variables at the first time, then at the second, and so on.

    Attributes
    ----------
    adjacency_matrices_, total_effects_
        What was given.
    """

    def __init__(self, n_timepoints: int, adjacency_matrices: Any, total_effects: Any) -> None:
        self.n_timepoints = n_timepoints
        self.adjacency_matrices_: Matrix = np.asarray(adjacency_matrices, dtype=np.float64)
        self.total_effects_: Matrix = np.asarray(total_effects, dtype=np.float64)

    def __len__(self) -> int:
        """Number of replicates."""
        return len(self.adjacency_matrices_)

    get_total_causal_effects: Any = Bootstrap.get_total_causal_effects

    def get_causal_direction_counts(self, *given: Any, **more: Any) -> list[dict[str, list[int]]]:
        """By time: edges by how many replicates have them, as of `VARBootstrapResult`."""
        return [one.get_causal_direction_counts(*given, **more) for one in self._by_time()]

    def get_directed_acyclic_graph_counts(self, *given: Any, **more: Any) -> list[dict[str, list[Any]]]:
        """By time: whole graphs by how many replicates have them."""
        return [one.get_directed_acyclic_graph_counts(*given, **more) for one in self._by_time()]

    def get_probabilities(self, min_causal_effect: float | None = None) -> Matrix:
        """Share of replicates with each direct effect, shape (times, lags + 1, p, p)."""
        return np.stack([np.stack(one.get_probabilities(min_causal_effect)) for one in self._by_time()])

    def get_paths(
        self, from_index: int, to_index: int, from_t: int, to_t: int, min_causal_effect: float | None = None
    ) -> dict[str, list[Any]]:
        """Paths between two variables at two times, by the share of replicates with them; numbers begin at `from_t`."""
        if not 0 <= from_t <= to_t < self.n_timepoints or (from_t == to_t and from_index == to_index):
            raise ConfigError("to_t must not be before from_t, and the ends must be two")
        p = self.adjacency_matrices_.shape[-1]
        graphs = [over_times(effects, from_t, to_t) for effects in self.adjacency_matrices_]
        return paths_by_probability(graphs, from_index, p * (to_t - from_t) + to_index, min_causal_effect)

    def _by_time(self) -> Sequence[VARBootstrapResult]:
        known = np.nan_to_num(self.adjacency_matrices_)
        beside = [np.concatenate(list(np.moveaxis(known[:, t], 1, 0)), axis=-1) for t in range(self.n_timepoints)]
        return [VARBootstrapResult(one, one) for one in beside]


def require_replicates(n_sampling: object) -> int:
    """The number of replicates, if it is one."""
    if not isinstance(n_sampling, int) or isinstance(n_sampling, bool) or n_sampling < 1:
        raise ConfigError(f"n_sampling must be a whole number of at least 1, got {n_sampling!r}")
    return n_sampling


def over_times(effects: Matrix, first: int, last: int) -> Matrix:
    """The effects among all variables from one time to another, those of the first time first; NaN counts as none."""
    lags, p = effects.shape[1] - 1, effects.shape[-1]
    count = last - first + 1
    whole = np.zeros((p * count, p * count))
    for at in range(count):
        for lag in range(min(lags, at) + 1):
            before = at - lag
            whole[at * p : (at + 1) * p, before * p : (before + 1) * p] = np.nan_to_num(effects[first + at, lag])
    return whole


def _by_lag(beside: Matrix) -> Mapping[int, Matrix]:
    p, width = beside.shape
    return {lag: beside[:, lag * p : (lag + 1) * p] for lag in range(1, width // p)}
