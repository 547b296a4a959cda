"""`make_dot`: a matrix of effects as a graph to look at, in the marks and colours of `lingam`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fedrcd.api.discovery import ConfoundedPair
from fedrcd.errors import ConfigError
from fedrcd.graphs import dot
from fedrcd.graphs.dag import ancestry, is_acyclic, topological_order
from fedrcd.graphs.exports import ORIENTATION
from fedrcd.lingam.dot import Dot
from fedrcd.typing import BoolMatrix, Matrix


def make_dot(
    adjacency_matrix: Any,
    labels: Sequence[str] | None = None,
    lower_limit: float | None = 0.01,
    prediction_feature_indices: Sequence[int] | None = None,
    prediction_target_label: str = "Y(pred)",
    prediction_line_color: str = "red",
    prediction_coefs: Sequence[float] | None = None,
    prediction_feature_importance: Sequence[float] | None = None,
    path: tuple[int, int] | None = None,
    path_color: str | None = None,
    detect_cycle: bool = False,  # noqa: FBT001, FBT002 - lingam's signature
    ignore_shape: bool = False,  # noqa: FBT001, FBT002 - lingam's signature
) -> Dot:
    """The graph of an adjacency matrix [to, from], without effects below a limit; arguments as in `lingam`.

    Parameters
    ----------
    adjacency_matrix : (p, p) array
        Effects; two variables whose effect is NaN are joined by an arrow with two heads.
    labels : sequence of str, optional
        Names of the variables; by default x0, x1, ....
    lower_limit : float, optional
        Effects up to this size are not drawn.
    prediction_feature_indices : sequence of int, optional
        Variables that a model of prediction uses: arrows from them to one more node.
    prediction_target_label, prediction_line_color : str
        Name of that node, and colour of it and its arrows.
    prediction_coefs, prediction_feature_importance : sequence of float, optional
        What is written beside these arrows.
    path : (start, end), optional
        Highlight all paths between two variables.
    path_color : str, optional
        In this colour, by default black.
    detect_cycle : bool
        Draw edges on cycles dashed.
    ignore_shape : bool
        Allow more columns than rows: variables that are only causes, such as those of an earlier time.
    """
    given = _square(adjacency_matrix, ignore_shape=ignore_shape)
    names = _names(labels, len(given))
    B = np.where(np.abs(given) > (lower_limit or 0.0), given, 0.0)  # NaN is not above it
    ends = None if path is None else _ends(path, len(names))
    marked = np.zeros(B.shape, dtype=bool) if ends is None else _on_paths(B != 0, *ends)
    cyclic = (B != 0) & ancestry(B).T & detect_cycle
    colour = path_color or "black"
    values = {"prediction_coefs": prediction_coefs, "prediction_feature_importance": prediction_feature_importance}
    prediction = _prediction(names, prediction_feature_indices, values, lower_limit or 0.0)
    statements = [
        *_nodes(names, marked, ends or (), colour),
        *_edges(B, names, marked, cyclic, colour),
        *([] if prediction is None else _to_target(prediction, prediction_target_label, prediction_line_color)),
        *_without_order(given, names),
    ]
    special = path is not None or prediction_feature_indices is not None or np.isnan(given).any()
    own_svg = None if special or not is_acyclic(B) else lambda: _svg(B, names)
    return Dot(dot.digraph(statements, ORIENTATION), own_svg)


class _Arrow(NamedTuple):
    """From a variable to the target of a prediction."""

    start: str
    label: str | None


class _Picture(NamedTuple):
    """What our own drawing wants to know of a graph."""

    names: tuple[str, ...]
    order: tuple[str, ...]
    B: Matrix
    variances: tuple[float, ...] = ()
    units: Mapping[str, str] = MappingProxyType({})
    confounded: tuple[ConfoundedPair, ...] = ()


def _svg(B: Matrix, names: Sequence[str]) -> str:
    from fedrcd.report.drawing import draw_svg

    return draw_svg(_Picture(tuple(names), tuple(names[i] for i in topological_order(B)), B))


def _square(adjacency_matrix: Any, *, ignore_shape: bool) -> Matrix:
    """The matrix, with empty rows for variables that are only causes."""
    B = np.asarray(adjacency_matrix, dtype=np.float64)
    if B.ndim != 2 or (B.shape[0] != B.shape[1] and not ignore_shape):
        raise ConfigError(f"adjacency_matrix must be square, got shape {B.shape}")
    if B.shape[0] > B.shape[1]:
        raise ConfigError(f"adjacency_matrix must not have more rows than columns, got shape {B.shape}")
    return np.pad(B, ((0, B.shape[1] - B.shape[0]), (0, 0)))


def _names(labels: Sequence[str] | None, p: int) -> list[str]:
    if labels is None:
        return [f"x{i}" for i in range(p)]
    if len(labels) != p:
        raise ConfigError(f"labels must have one entry per variable, {p}, got {len(labels)}")
    return [str(label) for label in labels]


def _ends(path: Any, p: int) -> tuple[int, int]:
    if not isinstance(path, tuple | list) or len(path) != 2:
        raise ConfigError("path must be the numbers of two variables, (start, end)")
    return _number("path", path[0], p), _number("path", path[1], p)


def _number(what: str, given: Any, p: int) -> int:
    if not isinstance(given, Integral) or isinstance(given, bool) or not 0 <= int(given) < p:
        raise ConfigError(f"{what} must hold numbers of variables, 0 to {p - 1}, got {given!r}")
    return int(given)


def _on_paths(edges: BoolMatrix, start: int, end: int) -> BoolMatrix:
    """Edges on the paths from one variable to another that meet no variable twice."""
    if is_acyclic(edges):
        reach = ancestry(edges) | np.eye(len(edges), dtype=bool)
        return edges & np.outer(reach[end], reach[:, start])
    import networkx as nx

    marked = np.zeros_like(edges)
    graph = nx.from_numpy_array(edges.T, create_using=nx.DiGraph)
    for path in nx.all_simple_paths(graph, start, end):
        for cause, effect in pairwise(path):
            marked[effect, cause] = True
    return marked


def _nodes(names: Sequence[str], marked: BoolMatrix, ends: Sequence[int], colour: str) -> list[str]:
    on_path = set(np.argwhere(marked).ravel().tolist())
    nodes = []
    for i, name in enumerate(names):
        attributes = {"fontcolor": colour, "color": colour} if i in on_path else {}
        if i in ends:
            attributes["peripheries"] = "2"
        nodes.append(dot.node(name, **attributes))
    return nodes


def _edges(B: Matrix, names: Sequence[str], marked: BoolMatrix, cyclic: BoolMatrix, colour: str) -> list[str]:
    edges = []
    for i, j in np.argwhere(B).tolist():
        attributes = {"label": f"{B[i, j]:.2f}"}
        if marked[i, j]:
            attributes |= {"penwidth": "2", "fontcolor": colour, "color": colour}
        if cyclic[i, j]:
            attributes["style"] = "dashed"
        edges.append(dot.edge(names[j], names[i], **attributes))
    return edges


def _prediction(
    names: Sequence[str], features: Sequence[int] | None, values: Mapping[str, Sequence[float] | None], limit: float
) -> list[_Arrow] | None:
    """Arrows to the target of a prediction, if there is one; none for coefficients up to the limit."""
    for what, given in values.items():
        if given is not None and (features is None or len(given) != len(features)):
            raise ConfigError(f"{what} must have one entry for each of prediction_feature_indices")
    if features is None:
        return None
    starts = [names[_number("prediction_feature_indices", one, len(names))] for one in features]
    coefs, importance = values.values()
    if coefs is not None:
        return [_Arrow(start, f"{c:.2f}") for start, c in zip(starts, coefs, strict=True) if abs(c) > limit]
    if importance is not None:
        return [_Arrow(start, f"({one})") for start, one in zip(starts, importance, strict=True)]
    return [_Arrow(start, None) for start in starts]


def _to_target(arrows: Sequence[_Arrow], target: str, colour: str) -> list[str]:
    statements = [dot.node(target, color=colour, fontcolor=colour)]
    for start, label in arrows:
        written = {} if label is None else {"label": label, "fontcolor": colour}
        statements.append(dot.edge(start, target, **written, color=colour, style="dashed"))
    return statements


def _without_order(given: Matrix, names: Sequence[str]) -> list[str]:
    """Arrows with two heads between variables side by side, where nothing is known of their order."""
    pairs = np.argwhere(np.isnan(np.tril(given))).tolist()
    if not pairs:
        return []
    beside = sorted({i for pair in pairs for i in pair})
    arrows = [dot.edge(names[j], names[i], dir="both") for i, j in pairs]
    return [dot.same_rank(names[i] for i in beside), *arrows]
