"""`BootstrapResult`: replicates of a graph, with the queries of `lingam`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import is_acyclic
from fedrcd.typing import IntVector, Matrix


class BootstrapResult:
    """Effects in replicates, and what they have in common.

    Parameters
    ----------
    adjacency_matrices, total_effects : (replicates, p, p) array
        Direct and total effects of each replicate, [i, j] for j on i.
    resampled_indices : sequence of arrays or callable, optional
        Rows of each replicate; or what gives them, once they are asked for.
    bootstrap : Bootstrap, optional
        Where the replicates come from.

    Attributes
    ----------
    adjacency_matrices_, total_effects_, resampled_indices_
        What was given. Rows are None where nobody gave any.
    bootstrap_ : Bootstrap or None
        More about the replicates of a discovery: intervals, orders, edges selected by probability.
    """

    def __init__(
        self,
        adjacency_matrices: Any,
        total_effects: Any,
        resampled_indices: Sequence[IntVector] | Callable[[], Sequence[IntVector]] | None = None,
        *,
        bootstrap: Bootstrap | None = None,
    ) -> None:
        self.adjacency_matrices_ = _replicates("adjacency_matrices", adjacency_matrices)
        self.total_effects_ = _replicates("total_effects", total_effects)
        self._resampled_indices = resampled_indices
        self.bootstrap_ = bootstrap
        if self.adjacency_matrices_.shape != self.total_effects_.shape:
            raise ConfigError("adjacency_matrices and total_effects must have the same shape")
        if not all(is_acyclic(B) for B in np.nan_to_num(self.adjacency_matrices_)):
            raise ConfigError("adjacency_matrices must be of graphs without cycles")

    def __len__(self) -> int:
        """Number of replicates."""
        return len(self.adjacency_matrices_)

    @cached_property
    def resampled_indices_(self) -> Sequence[IntVector] | None:
        """Rows of each replicate, or None."""
        given = self._resampled_indices
        return given() if callable(given) else given

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, as `lingam` calls them."""
        return tuple(f"x{i}" for i in range(self.adjacency_matrices_.shape[1]))

    # These read nothing but what is above.
    get_causal_direction_counts = Bootstrap.get_causal_direction_counts
    get_directed_acyclic_graph_counts = Bootstrap.get_directed_acyclic_graph_counts
    get_probabilities = Bootstrap.get_probabilities
    get_total_causal_effects = Bootstrap.get_total_causal_effects
    get_paths = Bootstrap.get_paths


def _replicates(what: str, given: Any) -> Matrix:
    matrices = np.asarray(given, dtype=np.float64)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not len(matrices):
        raise ConfigError(f"{what} must be square matrices, one per replicate, got shape {matrices.shape}")
    return matrices
