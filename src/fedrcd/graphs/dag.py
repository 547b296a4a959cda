"""Who comes before whom in a directed graph: ancestors, causal orders, total effects."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector


def ancestry(B: Matrix | BoolMatrix) -> BoolMatrix:
    r"""Transitive closure: `ancestry(B)[i, j]` is True iff there is a directed path from j to i.

    With :math:`E = [B \neq 0]` the closure is :math:`E \vee E^2 \vee \dots \vee E^{p-1}`; the update
    :math:`E \leftarrow E \vee E^2` doubles the length of the paths it knows, so at most
    :math:`\lceil \log_2 p \rceil + 1` products are formed. Paths have at least one edge: the diagonal is True
    exactly for variables on a cycle.

    Parameters
    ----------
    B : (p, p) array
        Weights or booleans, ``B[i, j] != 0`` iff j -> i.

    Examples
    --------
    >>> chain = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> bool(ancestry(chain)[2, 0])
    True
    """
    reach: BoolMatrix = B != 0
    while True:
        steps = reach.astype(np.float32)  # a BLAS product; counts stay exact below 2**24
        wider = reach | (steps @ steps > 0)
        if np.array_equal(wider, reach):
            return reach
        reach = wider


def is_acyclic(B: Matrix | BoolMatrix) -> bool:
    """Whether no variable is its own ancestor.

    Parameters
    ----------
    B : (p, p) array
        Weights or booleans, ``B[i, j] != 0`` iff j -> i.
    """
    return not ancestry(B).diagonal().any()


def topological_order(B: Matrix | BoolMatrix) -> IntVector:
    """Causal order, roots first; of several possible next variables the smallest index.

    Parameters
    ----------
    B : (p, p) array
        Weights or booleans, ``B[i, j] != 0`` iff j -> i.

    Raises
    ------
    ConfigError
        When the graph has a cycle, and so no order.
    """
    edges = B != 0
    unplaced_causes = edges.sum(axis=1)
    ready = np.flatnonzero(unplaced_causes == 0).tolist()  # ascending, hence already a heap
    order: list[int] = []
    while ready:
        source = heapq.heappop(ready)
        order.append(source)
        for effect in np.flatnonzero(edges[:, source]).tolist():
            unplaced_causes[effect] -= 1
            if unplaced_causes[effect] == 0:
                heapq.heappush(ready, effect)
    if len(order) < len(edges):
        raise ConfigError("the graph has a cycle, so no causal order exists; remove an edge of the cycle")
    return np.array(order, dtype=np.int64)


def is_valid_order(order: Sequence[int] | IntVector, B: Matrix | BoolMatrix) -> bool:
    """Whether `order` holds every variable once and every cause before its effects.

    Parameters
    ----------
    order : (p,) sequence of int
        Variables, roots first.
    B : (p, p) array
        Weights or booleans, ``B[i, j] != 0`` iff j -> i.
    """
    order = np.asarray(order)
    if not np.array_equal(np.sort(order), np.arange(len(B))):
        return False
    in_order = B[np.ix_(order, order)] != 0
    return not np.triu(in_order).any()


def total_effects(B: Matrix) -> Matrix:
    r"""Total effects: entry [i, j] is the change of i per unit set on j; the diagonal is zero.

    :math:`(I - B)^{-1} - I`, solved as a triangular system along a topological order. Entries without a
    directed path j -> ... -> i are exactly zero.

    Parameters
    ----------
    B : (p, p) array
        Weights of an acyclic graph, ``B[i, j]`` the direct effect of j on i.

    Raises
    ------
    ConfigError
        When the graph has a cycle.
    """
    from scipy.linalg import solve_triangular

    order = topological_order(B)
    along = np.ix_(order, order)
    identity = np.eye(len(order))
    effects = np.empty_like(identity)
    effects[along] = solve_triangular(identity - B[along], identity, lower=True, unit_diagonal=True) - identity
    return effects


def identified_total_effects(B: Matrix) -> Matrix:
    """Total effects where some direct ones are not identified, NaN: NaN wherever a path may lead over one of these.

    Parameters
    ----------
    B : (p, p) array
        Weights, ``B[i, j]`` the direct effect of j on i; those that are identified have no cycle.
    """
    unknown = np.isnan(B)
    known = np.where(unknown, 0.0, B)
    possible, crossed = (known != 0) | unknown, np.zeros(B.shape, dtype=bool)
    for effect, cause in np.argwhere(unknown).tolist():
        upto, onwards = _without(possible, effect)[cause].copy(), _without(possible, cause)[:, effect].copy()
        upto[cause] = onwards[effect] = True
        crossed |= np.outer(onwards, upto)
    crossed[np.diag_indices(len(B))] = False
    return np.where(crossed, np.nan, total_effects(known))


def _without(edges: BoolMatrix, variable: int) -> BoolMatrix:
    """Who reaches whom not by way of a variable."""
    others = edges.copy()
    others[variable] = others[:, variable] = False
    return ancestry(others)


def standardised_effects(B: Matrix, variances: Sequence[float] | Vector) -> Matrix:
    r"""Effects in standard deviations: entry [i, j] is :math:`B_{ij} \sigma_j / \sigma_i`, free of units.

    Parameters
    ----------
    B : (p, p) array
        Direct or total effects, ``B[i, j]`` of j on i.
    variances : (p,) sequence of float
        Variance of each variable.
    """
    sd = np.sqrt(np.asarray(variances, dtype=np.float64))
    return B * sd / sd[:, np.newaxis]
