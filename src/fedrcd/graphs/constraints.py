"""What an order and a graph may look like, by variable number: prior knowledge once it is known to be free of clashes.

All matrices are read ``[effect, cause]``. An order grows from the front; `admissible` says who may come next so that
the rest can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from fedrcd.graphs.dag import ancestry
from fedrcd.typing import BoolMatrix, IntVector

Pick = Callable[[int, IntVector, IntVector], BoolMatrix]
"""From a variable, those required as its parents and those it may have: which of the latter it has."""

WAYS = 200
"""Paths tried for a required one that may not be a single edge."""


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Statements about a graph over p variables, each a boolean matrix of shape (p, p).

    Parameters
    ----------
    required, forbidden
        Direct edges that must, or must not, be there.
    required_paths, forbidden_paths
        Directed paths of any length that must, or must not, be there. `forbidden_paths` is closed: what a required
        path would extend to a forbidden one is forbidden too.
    before
        Whether the column's variable must stand before the row's in the order; transitively closed.
    """

    required: BoolMatrix
    forbidden: BoolMatrix
    required_paths: BoolMatrix
    forbidden_paths: BoolMatrix
    before: BoolMatrix

    @classmethod
    def none(cls, p: int) -> Constraints:
        """Nothing is known."""
        return cls(*(np.zeros((p, p), dtype=bool) for _ in range(5)))

    @property
    def indirect(self) -> list[tuple[int, int]]:
        """Required paths (effect, cause) that may not be a single edge."""
        return [(int(i), int(j)) for i, j in np.argwhere(self.required_paths & self.forbidden)]

    def admissible(self, placed: Sequence[int]) -> list[int]:
        """Variables that may come next after those already placed."""
        done = np.zeros(len(self.before), dtype=bool)
        done[list(placed)] = True
        ready = np.flatnonzero(~done & ~(self.before & ~done).any(axis=1)).tolist()
        if not self.indirect:
            return ready
        return [v for v in ready if self._ways(self.indirect, self.certain, self._begun([*placed, v])) is not None]

    def allows(self, order: Sequence[int] | IntVector) -> bool:
        """Whether an order agrees with everything known."""
        along = _along(order)
        if (self.before & ~along).any():
            return False
        return not self.indirect or self._ways(self.indirect, self.certain, along) is not None

    def places(self, rest: Sequence[int], v: int) -> BoolMatrix:
        """Where v may stand among the others in their order: shape (p,), one entry per place."""
        p = len(self.before)
        causes, effects = self.before[v, list(rest)], self.before[list(rest), v]
        first = int(np.flatnonzero(causes)[-1]) + 1 if causes.any() else 0
        last = int(np.flatnonzero(effects)[0]) if effects.any() else p - 1
        allowed = (np.arange(p) >= first) & (np.arange(p) <= last)
        if self.indirect:
            for place in np.flatnonzero(allowed).tolist():
                allowed[place] = self.allows([*rest[:place], v, *rest[place:]])
        return allowed

    def banned(self, target: int, ancestors: BoolMatrix) -> BoolMatrix:
        """Which variables must not be parents of a target, given who descends from whom so far; shape (p,)."""
        origins = self.forbidden_paths[target]
        leads: BoolMatrix = origins | (ancestors & origins[None, :]).any(axis=1)
        banned: BoolMatrix = self.forbidden[target] | leads
        return banned

    @property
    def certain(self) -> BoolMatrix:
        """Edges that are required, or that stand for a required path where they are not forbidden."""
        return self.required | (self.required_paths & ~self.forbidden)

    def grow(self, order: IntVector, pick: Pick) -> BoolMatrix:
        """Edges along an order that keep to what is known, [i, j] for j -> i; `pick` chooses where there is choice.

        A required path that the picked edges do not give is made of a direct edge where that is permitted, else of as
        few new edges as possible.
        """
        edges, ancestors = self.required & False, self.required & False
        for position in range(1, len(order)):
            target, before = int(order[position]), order[:position]
            required = self.required[target, before]
            free = before[~required & ~self.banned(target, ancestors)[before]]
            edges[target, free[pick(target, before[required], free)]] = True
            edges[target, before[required]] = True
            parents = edges[target]
            ancestors[target] = parents | ancestors[parents].any(axis=0)
            lacking = self.required_paths[target] & ~self.forbidden[target] & ~ancestors[target]
            edges[target] |= lacking
            ancestors[target] |= lacking | ancestors[lacking].any(axis=0)
        complete = self._ways(self.indirect, edges, _along(order))
        if complete is None:  # the paths that are required go best without some of the edges that were picked
            return self.settled(order).grow(order, pick)
        return complete

    def settled(self, order: IntVector) -> Constraints:
        """The same with the edges that indirect paths go through required, for an order that is allowed."""
        ways = self._ways(self.indirect, self.certain, _along(order))
        assert ways is not None, "the order is allowed"
        return replace(self, required=ways, forbidden_paths=closed(self.forbidden_paths, ancestry(ways)))

    def _begun(self, placed: Sequence[int]) -> BoolMatrix:
        """Precedence once an order has begun: closed."""
        begun = self.before.copy()
        rest = np.ones(len(begun), dtype=bool)
        for variable in placed:
            rest[variable] = False
            begun[rest, variable] = True
        return begun

    def _ways(self, paths: list[tuple[int, int]], edges: BoolMatrix, before: BoolMatrix) -> BoolMatrix | None:
        """Edges with those added through which indirect paths can go under a precedence; None if they cannot."""
        if not paths:
            return edges
        import networkx as nx

        (effect, cause), *rest = paths
        if ancestry(edges)[effect, cause]:
            return self._ways(rest, edges, before)
        usable = ~self.forbidden & ~before.T & ~np.eye(len(before), dtype=bool)
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(before)))
        graph.add_weighted_edges_from((int(j), int(i), 0 if edges[i, j] else 1) for i, j in np.argwhere(usable))
        if not nx.has_path(graph, cause, effect):
            return None
        for path in islice(nx.shortest_simple_paths(graph, cause, effect, weight="weight"), WAYS):
            wider = edges.copy()
            wider[path[1:], path[:-1]] = True
            precedence = ancestry(before | wider)
            if precedence.diagonal().any() or (ancestry(wider) & self.forbidden_paths).any():
                continue
            found = self._ways(rest, wider, precedence)
            if found is not None:
                return found
        return None


def closed(forbidden_paths: BoolMatrix, reach: BoolMatrix) -> BoolMatrix:
    """Forbidden paths with those that required ones, given who reaches whom, would extend to them."""
    own = (reach | np.eye(len(reach), dtype=bool)).astype(np.float32)
    wider: BoolMatrix = own.T @ forbidden_paths.astype(np.float32) @ own.T > 0
    return wider


def _along(order: Sequence[int] | IntVector) -> BoolMatrix:
    """Whether the column's variable stands before the row's."""
    position = np.argsort(order)
    along: BoolMatrix = position[:, None] > position[None, :]
    return along
