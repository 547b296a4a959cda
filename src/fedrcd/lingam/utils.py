"""Helpers of `lingam.utils` that notebooks use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.lingam.drawing import make_dot
from fedrcd.typing import IntMatrix

__all__ = [
    "get_exo_variables",
    "get_sink_variables",
    "make_dot",
    "make_prior_knowledge",
    "print_causal_directions",
    "print_dagc",
]


def make_prior_knowledge(
    n_variables: int,
    exogenous_variables: Sequence[int] | None = None,
    sink_variables: Sequence[int] | None = None,
    paths: Sequence[tuple[int, int]] | None = None,
    no_paths: Sequence[tuple[int, int]] | None = None,
) -> IntMatrix:
    """A matrix [to, from] of what is known: 1 for a path, 0 for none, -1 for unknown.

    Where statements clash, exogenous variables prevail over sinks, sinks over paths and paths over no_paths, as in
    `lingam`; to be told of clashes instead, use `fedrcd.Knowledge`.

    Examples
    --------
    >>> make_prior_knowledge(3, exogenous_variables=[0], paths=[(0, 2)]).tolist()
    [[-1, 0, 0], [-1, -1, -1], [1, -1, -1]]
    """
    if not _is_whole(n_variables) or n_variables < 1:
        raise ConfigError(f"n_variables must be a whole number of at least 1, got {n_variables!r}")
    known = np.full((n_variables, n_variables), -1, dtype=np.int64)
    for name, pairs, value in (("no_paths", no_paths, 0), ("paths", paths, 1)):
        for pair in _several(name, pairs):
            if not isinstance(pair, Iterable) or len(ends := list(pair)) != 2:
                raise ConfigError(f"{name} must be a list of pairs (from, to), got {pair!r} among them")
            start, end = ends
            known[_index(end, n_variables), _index(start, n_variables)] = value
    for variable in _several("sink_variables", sink_variables):
        known[:, _index(variable, n_variables)] = 0
    for variable in _several("exogenous_variables", exogenous_variables):
        known[_index(variable, n_variables), :] = 0
    np.fill_diagonal(known, -1)
    return known


def print_causal_directions(cdc: Mapping[str, Any], n_sampling: int, labels: Sequence[str] | None = None) -> None:
    """Print what `get_causal_direction_counts` gives, a line per direction."""
    signs = cdc.get("sign", [0] * len(cdc["count"]))
    for start, end, count, sign in zip(cdc["from"], cdc["to"], cdc["count"], signs, strict=True):
        print(f"{_direction(start, end, sign, labels)} ({100 * count / n_sampling:.1f}%)")


def print_dagc(dagc: Mapping[str, Any], n_sampling: int, labels: Sequence[str] | None = None) -> None:
    """Print what `get_directed_acyclic_graph_counts` gives, graph by graph."""
    for number, (dag, count) in enumerate(zip(dagc["dag"], dagc["count"], strict=True)):
        print(f"DAG[{number}]: {100 * count / n_sampling:.1f}%")
        signs = dag.get("sign", [0] * len(dag["from"]))
        for start, end, sign in zip(dag["from"], dag["to"], signs, strict=True):
            print("\t" + _direction(start, end, sign, labels))


def get_exo_variables(adjacency_matrix: Any) -> list[int]:
    """Variables without causes."""
    return np.flatnonzero(~(_checked(adjacency_matrix) != 0).any(axis=1)).tolist()


def get_sink_variables(adjacency_matrix: Any) -> list[int]:
    """Variables without effects."""
    return np.flatnonzero(~(_checked(adjacency_matrix) != 0).any(axis=0)).tolist()


def _checked(adjacency_matrix: Any) -> Any:
    B = np.nan_to_num(np.asarray(adjacency_matrix, dtype=float))
    np.fill_diagonal(B, 0.0)
    return B


def _direction(start: int, end: int, sign: int, labels: Sequence[str] | None) -> str:
    cause, effect = (labels[k] if labels is not None else f"x{k}" for k in (start, end))
    return f"{effect} <--- {cause} " + ("(b>0)" if sign > 0 else "(b<0)" if sign < 0 else "")


def _several(name: str, given: Any) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ConfigError(f"{name} must be a list, got {given!r}")
    return list(given)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _index(variable: Any, n_variables: int) -> int:
    if not _is_whole(variable) or not 0 <= variable < n_variables:
        raise ConfigError(f"variables must be numbers from 0 to {n_variables - 1}, got {variable!r}")
    return int(variable)
