"""What an order and a graph may look like, by variable number: prior knowledge once it is known to be free of clashes.

All matrices are read ``[effect, cause]``. An order grows from the front; `admissible` says who may come next so that
the rest can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import ancestry
from fedrcd.graphs.knowledge.required_paths import Search, Ways, closed
from fedrcd.typing import BoolMatrix, IntVector

Pick = Callable[[int, IntVector, IntVector], BoolMatrix]
"""From a variable, those required as its parents and those it may have: which of the latter it has."""

TRIES = 1000
"""Beginnings of paths looked at for required ones that may not be a single edge, while an order grows."""

MOST_TRIES = 50 * TRIES
"""The same before an order has begun and once it is whole."""


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

    def with_past(self, steps: int) -> Constraints:
        """The same for rows that go back in time: (p,) variables now, then those of each step before.

        Those of the past come first, in one order that nobody asks about, and have no edges among each other.
        """
        p = len(self.before)
        size = p * (steps + 1)
        earlier = np.arange(size) // p
        place = np.where(earlier, (steps - earlier) * p + np.arange(size) % p, size)

        def widened(known: BoolMatrix) -> BoolMatrix:
            return np.pad(known, (0, size - p))

        into_past = np.repeat(earlier[:, None] > 0, size, axis=1) & ~np.eye(size, dtype=bool)
        return Constraints(
            widened(self.required),
            widened(self.forbidden) | into_past,
            widened(self.required_paths),
            widened(self.forbidden_paths) | into_past,
            widened(self.before) | (place[:, None] > place[None, :]),
        )

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
        edges = self.ways(placed).edges
        assert edges is not None, "what was placed is admissible"
        waiting = set(np.flatnonzero((edges & ~done).any(axis=1)).tolist())
        return [v for v in ready if v not in waiting or self.ways([*placed, v]).edges is not None]

    def allows(self, order: Sequence[int] | IntVector) -> bool:
        """Whether an order agrees with everything known."""
        if (self.before & ~_along(order)).any():
            return False
        return not self.indirect or self.ways(order).edges is not None

    def places(self, rest: Sequence[int], v: int) -> BoolMatrix:
        """Where v may stand among the others in their order: shape (p,), one entry per place."""
        allowed = _between(self.before, rest, v)
        if not self.indirect:
            return allowed
        fits = np.zeros(len(allowed), dtype=bool)
        for place in np.flatnonzero(allowed).tolist():
            if not fits[place]:
                edges = self.ways([*rest[:place], v, *rest[place:]]).edges
                if edges is not None:
                    fits |= allowed & _between(edges, rest, v)
        return fits

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

        A required path that the picked edges do not give is made of a direct edge where that is permitted, else of few
        new edges.
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
        complete = self._search(TRIES, edges, _along(order)).edges
        if complete is None:  # the paths that are required go best without some of the edges that were picked
            return self.settled(order).grow(order, pick)
        return complete

    def settled(self, order: IntVector) -> Constraints:
        """The same with the edges that indirect paths go through required, for an order that is allowed."""
        edges = self.ways(order).edges
        assert edges is not None, "the order is allowed"
        return replace(self, required=edges, forbidden_paths=closed(self.forbidden_paths, ancestry(edges)))

    def ways(self, placed: Sequence[int] | IntVector) -> Ways:
        """A graph that keeps to everything known and has an order that begins with those placed.

        Where the search is cut short, one that was found for fewer of them serves if it agrees with all: so whatever
        was admissible stays so.
        """
        p = len(self.before)
        begun = self.before | _along(placed, p)
        found = self._search(TRIES if 0 < len(placed) < p else MOST_TRIES, self.certain, begun)
        if found.settled or len(placed) == 0:
            return found
        if len(placed) == p:
            raise ConfigError("prior knowledge requires paths with too many ways; require edges that they go through")
        earlier = self.ways(placed[:-1]).edges
        return found if earlier is None or (earlier & begun.T).any() else Ways(earlier)

    def _search(self, tries: int, edges: BoolMatrix, before: BoolMatrix) -> Ways:
        return Search(self.forbidden, self.forbidden_paths, tries).ways(self.indirect, edges, before)


def _along(order: Sequence[int] | IntVector, p: int | None = None) -> BoolMatrix:
    """Whether the column's variable stands before the row's in an order, which may have only begun."""
    position = np.full(len(order) if p is None else p, len(order))
    position[np.asarray(order, dtype=np.int64)] = np.arange(len(order))
    along: BoolMatrix = position[:, None] > position[None, :]
    return along


def _between(before: BoolMatrix, rest: Sequence[int], v: int) -> BoolMatrix:
    """The places of v among the others, in their order, that are after those before it and before those after it."""
    p = len(before)
    causes, effects = before[v, list(rest)], before[list(rest), v]
    first = int(np.flatnonzero(causes)[-1]) + 1 if causes.any() else 0
    last = int(np.flatnonzero(effects)[0]) if effects.any() else p - 1
    between: BoolMatrix = (np.arange(p) >= first) & (np.arange(p) <= last)
    return between
