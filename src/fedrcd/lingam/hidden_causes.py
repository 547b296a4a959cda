"""`RCD` and `BottomUpParceLiNGAM`: estimators of `lingam` for hidden common causes, from this package's search."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fedrcd.api.discover import discover
from fedrcd.api.discovery import Discovery
from fedrcd.typing import Matrix


class _HiddenEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What both estimators share."""

    def __init__(self, caution: str = "alarm") -> None:
        self.caution = caution

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Find order, effects and hidden causes behind a table, or several."""
        self.discovery_: Discovery = discover(X, hidden=True, caution=self.caution)
        self.adjacency_matrix_: Matrix = self.discovery_.B
        return self


class RCD(_HiddenEstimator):
    """What `lingam.RCD` tells, found by `discover(hidden=True)`; it has none of its parameters.

    Parameters
    ----------
    caution : {"alarm", "screen"}
        As of `discover`.

    Attributes
    ----------
    adjacency_matrix_ : (p, p) array
        Entry [i, j] is the effect of j on i; NaN where it is not identified, as between variables with a hidden cause.
    ancestors_list_ : list of set of int
        The ancestors of each variable.
    discovery_ : Discovery
        Everything else.
    """

    @property
    def ancestors_list_(self) -> list[set[int]]:
        """The ancestors of each variable."""
        return _ancestors(self.discovery_)


class BottomUpParceLiNGAM(_HiddenEstimator):
    """What `lingam.BottomUpParceLiNGAM` tells, found by `discover(hidden=True)`; it has none of its parameters.

    Parameters
    ----------
    caution : {"alarm", "screen"}
        As of `discover`.

    Attributes
    ----------
    adjacency_matrix_ : (p, p) array
        Entry [i, j] is the effect of j on i; NaN where it is not identified.
    causal_order_ : list
        Column indices, roots first; a list in the place of variables whose order is not known, for hidden causes join
        them.
    discovery_ : Discovery
        Everything else.
    """

    @property
    def causal_order_(self) -> list[int | list[int]]:
        """Column indices, roots first."""
        return _order_with_blocks(self.discovery_)


def _ancestors(found: Discovery) -> list[set[int]]:
    place = {name: i for i, name in enumerate(found.names)}
    above: list[set[int]] = [set() for _ in found.names]
    for cause, effect in found.ancestors:
        above[place[effect]].add(place[cause])
    return above


def _order_with_blocks(found: Discovery) -> list[int | list[int]]:
    """The order, in which a run from the first to the last of variables that hidden causes join is one entry."""
    order = [found.names.index(name) for name in found.order]
    open_effects = np.isnan(found.B) & np.isnan(found.B.T)
    blocks: list[int | list[int]] = []
    start = 0
    while start < len(order):
        end = start
        at = start
        while at <= end:
            joined = [k for k in range(at, len(order)) if open_effects[order[at], order[k]]]
            end, at = max([end, *joined]), at + 1
        run = order[start : end + 1]
        blocks.append(run if len(run) > 1 else run[0])
        start = end + 1
    return blocks
