"""Edges through which required paths can go that may not be a single edge.

All matrices are read ``[effect, cause]``. A graph grows path by path; where another path is left without a way, the
last one takes another. Three things keep the search small. An edge from a variable of a path to one further on leads
nowhere new, so only paths count in which every such short cut is a forbidden edge. A path that has no way though the
others are left out needs no trying of the others. And the path with the least room goes first. Most often all go at
once, each through one variable, and nothing need be searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fedrcd.graphs.dag import ancestry
from fedrcd.typing import BoolMatrix

NEVER = 3
"""More new edges than a path through one variable takes."""

Pair = tuple[int, int]
"""Effect and cause of a required path."""


class Ways(NamedTuple):
    """Edges that hold all paths, None where none were found; `settled` unless the search was cut short."""

    edges: BoolMatrix | None
    settled: bool = True


class PathGraph(NamedTuple):
    """A graph so far: its edges, who reaches whom along them, and who must stand before whom; the last two closed."""

    edges: BoolMatrix
    reach: BoolMatrix
    before: BoolMatrix

    def extended(self, path: Sequence[int]) -> PathGraph:
        """The same with a path, new edges only where a variable does not reach the next."""
        edges, reach, before = self.edges.copy(), self.reach, self.before
        for cause, effect in pairwise(path):
            if not self.reach[effect, cause]:
                edges[effect, cause] = True
                reach, before = _joined(reach, cause, effect), _joined(before, cause, effect)
        return PathGraph(edges, reach, before)


class Room(NamedTuple):
    """What may be added to a graph."""

    hops: BoolMatrix
    """Single steps: along edges that are there, or along a new one."""
    blocked: BoolMatrix
    """Where a path, however long, would close a circle, stand against the order or complete a forbidden path."""


@dataclass(slots=True, eq=False)
class Search:
    """A search among graphs without some edges and paths that ends after so many tries.

    Parameters
    ----------
    forbidden, forbidden_paths
        Edges and paths that no graph has; an edge is forbidden wherever a path is.
    tries
        Beginnings of paths that may still be looked at.
    """

    forbidden: BoolMatrix
    forbidden_paths: BoolMatrix
    tries: int

    def ways(self, pairs: Sequence[Pair], edges: BoolMatrix, before: BoolMatrix) -> Ways:
        """Edges with those added through which paths of all pairs go, under a precedence that is closed."""
        graph = PathGraph(edges, ancestry(edges), before)
        lacking = [pair for pair in pairs if not graph.reach[pair]]
        if not lacking:
            return Ways(edges)
        found = self._through_one(graph, lacking) or self._completed(graph, lacking)
        return Ways(None, settled=self.tries > 0) if found is None else Ways(found.edges)

    def _through_one(self, graph: PathGraph, pairs: Sequence[Pair]) -> PathGraph | None:
        """All paths at once, each through the one variable that takes the fewest new edges; None if that fails."""
        effects, causes = np.array(pairs).T
        hops = self._room(graph).hops
        new = (~graph.reach[:, causes]).astype(int) + ~graph.reach[effects].T
        middle = np.where(hops[:, causes] & hops[effects].T, new, NEVER).argmin(axis=0)
        if not (hops[middle, causes] & hops[effects, middle]).all():
            return None
        edges = graph.edges.copy()
        edges[middle, causes] |= ~graph.reach[middle, causes]
        edges[effects, middle] |= ~graph.reach[effects, middle]
        whole = PathGraph(edges, ancestry(edges), ancestry(graph.before | edges))
        broken = whole.before.diagonal().any() or (whole.reach & self.forbidden_paths).any()
        return None if broken else whole

    def _completed(self, graph: PathGraph, pairs: Sequence[Pair]) -> PathGraph | None:
        """A graph with paths of all pairs, if there is one."""
        lacking = [pair for pair in pairs if not graph.reach[pair]]
        if not lacking:
            return graph
        room = self._room(graph)
        within = _within(lacking, room)
        if not within[[effect for effect, _ in lacking], range(len(lacking))].all():
            return None
        narrowest = lacking[int(np.argmin(within.sum(axis=0)))]
        for path in self._paths(graph, room, narrowest):
            found = self._completed(graph.extended(path), lacking)
            if found is not None:
                return found
        return None

    def _room(self, graph: PathGraph) -> Room:
        circle = graph.before.T | np.eye(len(graph.before), dtype=bool)
        blocked = circle | closed(self.forbidden_paths, graph.reach)
        return Room(graph.reach | ~(self.forbidden | blocked), blocked)

    def _paths(self, graph: PathGraph, room: Room, pair: Pair) -> Iterator[tuple[int, ...]]:
        """Paths of a pair by which a graph may be extended, fewest new edges first."""
        effect, cause = pair
        no_short_cut = self.forbidden & ~graph.reach
        left = np.where(graph.reach[effect], 0, np.where(room.hops[effect], 1, 2))  # new edges, at least
        left[effect] = 0
        toward = ~room.blocked[effect]
        toward[effect] = True
        beginnings: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, (cause,))]
        while beginnings and self.tries > 0:
            self.tries -= 1
            _, _, path = heappop(beginnings)
            if path[-1] == effect:
                yield path
                continue
            last = path[-1]
            new = sum(not graph.reach[b, a] for a, b in pairwise(path))
            follows = room.hops[:, last] & toward & ~room.blocked[:, path].any(axis=1)
            follows &= no_short_cut[:, path[:-1]].all(axis=1)
            following = np.flatnonzero(follows)
            least = new + ~graph.reach[following, last] + left[following]
            for k, edges in zip(following.tolist(), least.tolist(), strict=True):
                heappush(beginnings, (edges, -len(path), (*path, k)))


def closed(forbidden_paths: BoolMatrix, reach: BoolMatrix) -> BoolMatrix:
    """Forbidden paths with those that others, given who reaches whom, would extend to them."""
    own = (reach | np.eye(len(reach), dtype=bool)).astype(np.float32)
    wider: BoolMatrix = own.T @ forbidden_paths.astype(np.float32) @ own.T > 0
    return wider


def _within(pairs: Sequence[Pair], room: Room) -> BoolMatrix:
    """Which variables a path from each cause can come to on the way to its effect: shape (p, number of pairs)."""
    effects, causes = np.array(pairs).T
    column = np.arange(len(pairs))
    visits = ~room.blocked[:, causes] & ~room.blocked[effects].T
    visits[effects, column] = True
    within = np.zeros(visits.shape, dtype=bool)
    within[causes, column] = True
    steps = room.hops.astype(np.float32)
    while True:
        new = visits & ~within & (steps @ within.astype(np.float32) > 0)
        if not new.any():
            return within
        within |= new


def _joined(relation: BoolMatrix, cause: int, effect: int) -> BoolMatrix:
    """A closed relation with one pair more, closed."""
    later, earlier = relation[:, effect].copy(), relation[cause].copy()
    later[effect] = earlier[cause] = True
    joined: BoolMatrix = relation | np.outer(later, earlier)
    return joined
