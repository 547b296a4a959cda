"""Where the variables of an acyclic graph stand in a picture: causes above effects, few crossings.

The usual four steps of Sugiyama, Tagawa and Toda (1981): every variable stands one layer below the lowest of its
causes; an edge over several layers passes through a place in each of them; places are sorted within layers by the means
of their neighbours; last they are moved as near to their neighbours as their widths allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from fedrcd.graphs.dag import topological_order
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

SWEEPS = 12
PASSING_EDGE = 34.0
"""Width that an edge takes where it passes a layer, as long as few do."""
PASSING_EDGES = 300.0
"""Width that all edges together may take where they pass a layer."""
STRONGEST_BOW = 0.22
"""How far a long edge may bow aside, as a share of its length."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Centres of the variables, and how far the middle of each edge bows aside of the straight line.

    The unit is that of the widths; y grows downwards. ``bow[i, j]`` belongs to the edge j -> i with direction (dx, dy)
    and is measured along (dy, -dx): positive bows of edges that lead down go to the right.
    """

    x: Vector
    y: Vector
    bow: Matrix

    def control(self, cause: int, effect: int) -> tuple[float, float]:
        """Control point of the quadratic curve that draws an edge."""
        dx, dy = self.x[effect] - self.x[cause], self.y[effect] - self.y[cause]
        twice = 2 * self.bow[effect, cause] / max(float(np.hypot(dx, dy)), 1e-9)
        middle_x, middle_y = (self.x[effect] + self.x[cause]) / 2, (self.y[effect] + self.y[cause]) / 2
        return float(middle_x + twice * dy), float(middle_y - twice * dx)


@dataclass(slots=True)
class _Layers:
    """Variables first, then the places of passing edges: layer and width of each, and who is joined to whom."""

    layer: IntVector
    width: Vector
    is_variable: BoolMatrix
    upper: IntVector
    lower: IntVector
    routes: dict[tuple[int, int], list[int]]


def layered(B: Matrix, widths: Sequence[float] | Vector, *, gap: float = 26.0, layer_height: float = 92.0) -> Placement:
    """Places of the variables of an acyclic graph, in layers.

    Parameters
    ----------
    B : (p, p) array
        Weights, ``B[i, j] != 0`` iff j -> i.
    widths : (p,) sequence of float
        Width that each variable's box takes.
    gap : float
        Free space between neighbours of one layer.
    layer_height : float
        Distance of the layers.
    """
    edges = B != 0
    places = _with_passing_edges(edges, depths(edges), np.asarray(widths, dtype=np.float64))
    rows = _fewest_crossings(places)
    x = _spread(places, rows, gap)
    p = len(B)
    y: Vector = places.layer.astype(np.float64) * layer_height
    return Placement(x[:p], y[:p], _bows(places, x, y, p))


def depths(edges: BoolMatrix) -> IntVector:
    """Layer of each variable: 0 without causes, else one more than the deepest cause; unconnected ones come last."""
    depth = np.zeros(len(edges), dtype=np.int64)
    for i in topological_order(edges).tolist():
        causes = np.flatnonzero(edges[i])
        if len(causes):
            depth[i] = depth[causes].max() + 1
    alone = ~(edges.any(axis=0) | edges.any(axis=1))
    if alone.any() and not alone.all():
        depth[alone] = depth.max() + 1
    return depth


def _with_passing_edges(edges: BoolMatrix, depth: IntVector, widths: Vector) -> _Layers:
    """Places of all variables, and one for every layer that an edge passes."""
    layer, upper, lower = depth.tolist(), [], []
    routes: dict[tuple[int, int], list[int]] = {}
    for i, j in np.argwhere(edges).tolist():
        route = [j]
        for passed in range(layer[j] + 1, layer[i]):
            route.append(len(layer))
            layer.append(passed)
        route.append(i)
        upper += route[:-1]
        lower += route[1:]
        routes[i, j] = route
    crowd = np.bincount(layer[len(depth) :], minlength=1).max()
    passing = np.full(len(layer) - len(depth), min(PASSING_EDGE, PASSING_EDGES / max(int(crowd), 1)))
    return _Layers(
        np.array(layer, dtype=np.int64),
        np.concatenate([widths, passing]),
        np.arange(len(layer)) < len(depth),
        np.array(upper, dtype=np.int64),
        np.array(lower, dtype=np.int64),
        routes,
    )


def _fewest_crossings(places: _Layers) -> list[IntVector]:
    """Places of every layer from left to right: the best of several sweeps down and up."""
    rows = [np.flatnonzero(places.layer == depth) for depth in range(int(places.layer.max(initial=0)) + 1)]
    best, fewest = list(rows), _crossings(places, rows)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        rank = _ranks(rows, len(places.layer))
        for depth in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            rows[depth] = rows[depth][np.argsort(_mean_neighbour(places, rank, rows[depth], down=down), kind="stable")]
            rank[rows[depth]] = np.arange(len(rows[depth]))
        crossings = _crossings(places, rows)
        if crossings < fewest:
            best, fewest = list(rows), crossings
    return best


def _ranks(rows: Sequence[IntVector], count: int) -> Vector:
    """Position of every place within its layer."""
    rank = np.zeros(count)
    for row in rows:
        rank[row] = np.arange(len(row))
    return rank


def _mean_neighbour(places: _Layers, at: Vector, row: IntVector, *, down: bool | None) -> Vector:
    """Mean of `at` over the neighbours above (`down`), below, or both (None); a place without any stays where it is."""
    total, count, size = np.zeros(len(at)), np.zeros(len(at)), len(at)
    if down is not False:
        total += np.bincount(places.lower, at[places.upper], size)
        count += np.bincount(places.lower, minlength=size)
    if down is not True:
        total += np.bincount(places.upper, at[places.lower], size)
        count += np.bincount(places.upper, minlength=size)
    return np.where(count[row] > 0, total[row] / np.maximum(count[row], 1), at[row])


def _crossings(places: _Layers, rows: Sequence[IntVector]) -> int:
    """How many pairs of lines between neighbouring layers cross."""
    rank = _ranks(rows, len(places.layer))
    crossings = 0
    for depth in range(len(rows) - 1):
        here = places.layer[places.upper] == depth
        above, below = rank[places.upper[here]], rank[places.lower[here]]
        crossings += int(((above[:, np.newaxis] < above) & (below[:, np.newaxis] > below)).sum())
    return crossings


def _spread(places: _Layers, rows: Sequence[IntVector], gap: float) -> Vector:
    """Horizontal positions: as near to the mean of the neighbours as order and widths allow."""
    x = np.zeros(len(places.layer))
    offsets = []
    for row in rows:
        half = places.width[row] / 2
        between = gap * places.is_variable[row]
        offset = np.concatenate([[0.0], np.cumsum(half[1:] + half[:-1] + (between[1:] + between[:-1]) / 2)])
        offsets.append(offset)
        x[row] = offset - offset[-1] / 2
    for sweep in range(2 * SWEEPS):
        down = None if sweep >= SWEEPS else sweep % 2 == 0
        for row, offset in zip(rows, offsets, strict=True):
            wanted = _mean_neighbour(places, x, row, down=down)
            x[row] = isotonic_regression(wanted - offset).x + offset
    of_variables = x[places.is_variable]
    centre: float = (of_variables.min() + of_variables.max()) / 2
    return x - centre


def _bows(places: _Layers, x: Vector, y: Vector, p: int) -> Matrix:
    """How far each edge should leave the straight line to pass between the boxes of the layers it crosses."""
    bow = np.zeros((p, p))
    for (i, j), route in places.routes.items():
        passed = np.array(route[1:-1], dtype=np.int64)
        if not len(passed):
            continue
        along = np.array([x[i] - x[j], y[i] - y[j]])
        length = float(np.hypot(*along))
        aside = (-(y[passed] - y[j]) * along[0] + (x[passed] - x[j]) * along[1]) / length
        share = (y[passed] - y[j]) / (y[i] - y[j])
        shape = 4 * share * (1 - share)  # of a parabola with height 1 in the middle
        limit = max(STRONGEST_BOW * length, 4 * PASSING_EDGE)
        bow[i, j] = np.clip(float(aside @ shape / (shape @ shape)), -limit, limit)
    return bow
