"""From statements by name to constraints by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import ancestry
from fedrcd.graphs.knowledge.clash_messages import arrow, arrows, in_words, smallest_clash
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.knowledge.required_paths import Ways, closed
from fedrcd.suggest import did_you_mean
from fedrcd.typing import BoolMatrix

if TYPE_CHECKING:
    from fedrcd.graphs.knowledge.statements import Knowledge


class _Ban(NamedTuple):
    """No path from cause to effect, and the statement that says so."""

    cause: int
    effect: int
    statement: str


class Compiler:
    """Turns the statements of one `Knowledge` into `Constraints` over some names; clashes are errors that name them."""

    def __init__(self, known: Knowledge, names: tuple[str, ...]) -> None:
        self.known, self.names = known, names
        self.at = {name: k for k, name in enumerate(names)}
        self.p = len(names)
        self._require_names()
        self.required, self.paths, self.forbidden = (
            self._matrix(pairs) for pairs in (known.required, known.required_paths, known.forbidden)
        )
        self.must = self.required | self.paths
        self.reach = ancestry(self.must)

    def compile(self) -> Constraints:
        """The constraints, for which there is a graph that keeps to them."""
        self._require_acyclic()
        self._require_what_is_not_banned()
        held = self._constraints()
        found = self._graph(held)
        if found.edges is not None:
            return held
        if not found.settled:
            pairs = [(self.names[cause], self.names[effect]) for effect, cause in held.indirect]
            raise ConfigError(
                f"no graph was found that keeps to all prior knowledge, with a path but no edge for {arrows(pairs)}; "
                "require edges that the paths go through"
            )
        clash = smallest_clash(self.known, lambda part: Compiler(part, self.names).is_impossible())
        raise ConfigError(f"prior knowledge clashes: {in_words(clash)}")

    def is_impossible(self) -> bool:
        """Whether surely no graph keeps to statements that do not contradict each other one by one."""
        found = self._graph(self._constraints())
        return found.settled and found.edges is None

    def _constraints(self) -> Constraints:
        stated = np.zeros((self.p, self.p), dtype=bool)
        for ban in self._bans():
            stated[ban.effect, ban.cause] = True
        none = closed(stated, self.reach)
        return Constraints(self.required, self.forbidden | none, self.paths, none, self._precedence())

    def _graph(self, held: Constraints) -> Ways:
        """A graph that keeps to everything, if there is one."""
        return Ways(None) if held.before.diagonal().any() else held.ways([])

    def _require_names(self) -> None:
        known = self.known
        pairs = (known.required, known.forbidden, known.required_paths, known.forbidden_paths, known.before)
        mentioned = [name for each in pairs for pair in each for name in pair]
        mentioned += [*known.exogenous, *known.sinks, *(name for tier in known.tiers for name in tier)]
        for name in mentioned:
            if name not in self.at:
                hint = did_you_mean(name, self.names)
                raise ConfigError(f"prior knowledge names {name!r}, which is not a variable{hint}")

    def _matrix(self, pairs: Sequence[tuple[str, str]]) -> BoolMatrix:
        matrix = np.zeros((self.p, self.p), dtype=bool)
        for cause, effect in pairs:
            matrix[self.at[effect], self.at[cause]] = True
        return matrix

    def _require_what_is_not_banned(self) -> None:
        for ban in self._bans():
            if self.reach[ban.effect, ban.cause]:
                chain = self._chain(ban.cause, ban.effect)
                told = " -> ".join(repr(self.names[k]) for k in chain)
                raise ConfigError(f"prior knowledge clashes: {ban.statement}, but {told} is required")
        forbidden = set(self.known.forbidden)
        for a, b in self.known.required:
            if (a, b) in forbidden:
                raise ConfigError(f"prior knowledge clashes: the edge {arrow(a, b)} is both required and forbidden")

    def _bans(self) -> Iterator[_Ban]:
        """Paths that cannot be."""
        known, at = self.known, self.at
        for first, later in self._in_tiers():
            yield _Ban(at[later], at[first], f"tiers place {first!r} before {later!r}")
        for first, later in known.before:
            yield _Ban(at[later], at[first], f"{first!r} is before {later!r}")
        for name in known.exogenous:
            yield from (_Ban(k, at[name], f"{name!r} is exogenous") for k in range(self.p) if k != at[name])
        for name in known.sinks:
            yield from (_Ban(at[name], k, f"{name!r} is a sink") for k in range(self.p) if k != at[name])
        for a, b in known.forbidden_paths:
            yield _Ban(at[a], at[b], f"a path {arrow(a, b)} is forbidden")

    def _in_tiers(self) -> Iterator[tuple[str, str]]:
        """Pairs of variables of which the first is in an earlier tier."""
        for k, tier in enumerate(self.known.tiers):
            yield from ((first, later) for first in tier for other in self.known.tiers[k + 1 :] for later in other)

    def _precedence(self) -> BoolMatrix:
        """Who comes before whom: causes before effects that are required, tiers and pairs as they are stated.

        Where that leaves it open, exogenous variables come first and sinks last. They lose nothing by it: what has no
        causes can stand before everything in an order of any graph, what has no effects after. A path that is forbidden
        says nothing here: there may be none the other way round either.
        """
        before = ancestry(self.must | self._matrix([*self._in_tiers(), *self.known.before]))
        first, last = np.zeros(self.p, dtype=bool), np.zeros(self.p, dtype=bool)
        first[[self.at[name] for name in self.known.exogenous]] = True
        last[[self.at[name] for name in self.known.sinks]] = True
        leads, ends = first & ~last & ~before.any(axis=1), last & ~first & ~before.any(axis=0)
        return ancestry(before | np.outer(~first, leads) | np.outer(ends, ~last))

    def _require_acyclic(self) -> None:
        on_cycle = np.flatnonzero(self.reach.diagonal())
        if len(on_cycle):
            chain = self._chain(int(on_cycle[0]), int(on_cycle[0]))
            raise ConfigError(f"prior knowledge requires a cycle: {' -> '.join(self.names[k] for k in chain)}")

    def _chain(self, start: int, end: int) -> list[int]:
        """A shortest chain of required edges and paths from start to end."""
        chains = [[start]]
        seen = {start}
        while True:
            chain = chains.pop(0)
            for effect in np.flatnonzero(self.must[:, chain[-1]]).tolist():
                if effect == end:
                    return [*chain, effect]
                if effect not in seen:
                    seen.add(effect)
                    chains.append([*chain, effect])
