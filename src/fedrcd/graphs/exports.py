"""A graph in the forms other programs read: edge list, networkx, DOT, GML.

Inside the package ``B[i, j]`` is the effect of j on i; everything that leaves through this module points from
cause to effect and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs import dot
from fedrcd.typing import Matrix

if TYPE_CHECKING:
    import networkx as nx

HIDDEN = "hidden cause"
"""What an edge between two variables says that share a cause which was not measured; it has no weight."""

ORIENTATION = "an edge points from cause to effect; its weight is the direct effect of one unit of the cause"


@dataclass(frozen=True, slots=True)
class Edge:
    """One direct effect: one unit of `cause` adds `weight` units of `effect`."""

    cause: str
    effect: str
    weight: float


def edge_list(B: Matrix, names: Sequence[str]) -> list[Edge]:
    """Edges by falling absolute weight; ties in the order of the columns, cause first.

    Parameters
    ----------
    B : (p, p) array
        Weights, ``B[i, j]`` the effect of j on i.
    names : (p,) sequence of str
        Name of each variable.

    Examples
    --------
    >>> edge_list(np.array([[0.0, 0.0], [-2.0, 0.0]]), ["dose", "pain"])
    [Edge(cause='dose', effect='pain', weight=-2.0)]
    """
    if len(names) != len(B):
        raise ConfigError(f"one name per variable is needed: got {len(names)} names for {len(B)} variables")
    edges = [Edge(names[j], names[i], float(B[i, j])) for j, i in np.argwhere(B.T).tolist()]
    return sorted(edges, key=lambda edge: -abs(edge.weight))


def to_networkx(B: Matrix, names: Sequence[str], shared: Sequence[tuple[str, str]] = ()) -> nx.DiGraph[str]:
    """Graph for networkx: a `DiGraph` from cause to effect with the edge attribute `weight`.

    The parameters are those of `edge_list`, and pairs that share a hidden cause: each has an edge both ways, with the
    attribute `kind` instead.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(orientation=ORIENTATION)
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((edge.cause, edge.effect, edge.weight) for edge in edge_list(B, names))
    for one, other in shared:
        graph.add_edge(one, other, kind=HIDDEN)
        graph.add_edge(other, one, kind=HIDDEN)
    return graph


def to_dot(B: Matrix, names: Sequence[str], shared: Sequence[tuple[str, str]] = ()) -> str:
    """Graph in Graphviz' DOT language, for a picture: weights are labels of three digits.

    The parameters are those of `edge_list`, and pairs that share a hidden cause, which are joined by dashed lines with
    a head at both ends.
    """
    edges = [dot.edge(edge.cause, edge.effect, label=f"{edge.weight:.3g}") for edge in edge_list(B, names)]
    edges += [dot.edge(one, other, dir="both", style="dashed", tooltip=HIDDEN) for one, other in shared]
    return dot.digraph([*map(dot.node, names), *edges], ORIENTATION)


def to_gml(B: Matrix, names: Sequence[str], shared: Sequence[tuple[str, str]] = ()) -> str:
    """Graph in GML, for exchange: names and weights survive unchanged.

    Characters beyond ASCII are written as entities such as ``&#233;``, as the format demands.

    The parameters are those of `to_networkx`.
    """
    import networkx as nx

    return "\n".join([*nx.generate_gml(to_networkx(B, names, shared)), ""])
