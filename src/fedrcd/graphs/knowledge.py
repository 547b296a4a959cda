"""Prior knowledge about a causal graph, by name: what must be, what cannot be, who comes first.

Statements are turned into `Constraints` for a list of variables; those that clash are named then, before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.constraints import Constraints
from fedrcd.graphs.dag import ancestry
from fedrcd.graphs.ways import closed
from fedrcd.suggest import did_you_mean
from fedrcd.typing import BoolMatrix, IntMatrix, Matrix

PAIRS = ("required", "forbidden", "required_paths", "forbidden_paths")
GROUPS = ("exogenous", "sinks")


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What is known of a graph before the data are seen; every method keeps to it, in its order and in its weights.

    Parameters
    ----------
    required, forbidden : sequence of (cause, effect)
        Direct effects that exist, or do not.
    required_paths, forbidden_paths : sequence of (cause, effect)
        Effects that exist, or do not, directly or through other variables.
    exogenous : sequence of str
        Variables without causes among the others.
    sinks : sequence of str
        Variables without effects on the others.
    tiers : sequence of sequences of str
        Groups in order of time: no variable affects one of an earlier tier. Variables in no tier are free.

    Examples
    --------
    >>> known = Knowledge(required=[("dose", "pain")], tiers=[["age"], ["dose", "pain"]])
    >>> known.constraints(["pain", "age", "dose"]).admissible([])
    [1]
    """

    required: Sequence[tuple[str, str]] = ()
    forbidden: Sequence[tuple[str, str]] = ()
    required_paths: Sequence[tuple[str, str]] = ()
    forbidden_paths: Sequence[tuple[str, str]] = ()
    exogenous: Sequence[str] = ()
    sinks: Sequence[str] = ()
    tiers: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        for name in PAIRS:
            object.__setattr__(self, name, _as_pairs(name, getattr(self, name)))
        for name in GROUPS:
            object.__setattr__(self, name, _as_names(name, getattr(self, name)))
        if isinstance(self.tiers, str) or not isinstance(self.tiers, Iterable):
            raise ConfigError("tiers must be a list of lists of names, earliest first")
        tiers = tuple(_as_names(f"tier {k}", tier) for k, tier in enumerate(self.tiers, 1))
        object.__setattr__(self, "tiers", tiers)
        listed = [name for tier in tiers for name in tier]
        for name in listed:
            if listed.count(name) > 1:
                raise ConfigError(f"tiers name {name!r} twice; a variable is in one tier")

    def __bool__(self) -> bool:
        """Whether anything is stated."""
        return any(getattr(self, each.name) for each in fields(self))

    @classmethod
    def from_matrix(cls, matrix: Any, names: Sequence[str]) -> Knowledge:
        """Knowledge in the form of `lingam`: entry [to, from] is 1 for a path, 0 for none, -1 for unknown."""
        known = np.asarray(matrix)
        p = len(names)
        if known.shape != (p, p):
            raise ConfigError(f"a matrix of prior knowledge over {p} variables must be {p} x {p}, got {known.shape}")
        off = ~np.eye(p, dtype=bool)
        if not np.isin(known[off], (-1, 0, 1)).all():
            raise ConfigError("a matrix of prior knowledge must hold 1 (path), 0 (no path) or -1 (unknown)")
        paths, none = (
            [(names[j], names[i]) for i, j in np.argwhere((known == value) & off).tolist()] for value in (1, 0)
        )
        return cls(required_paths=paths, forbidden_paths=none)

    def to_matrix(self, names: Sequence[str]) -> IntMatrix:
        """The same as `lingam` has it: [to, from], 1 for a path, 0 for none, -1 for unknown; single edges are paths."""
        held = self.constraints(names)
        matrix = np.full(held.before.shape, -1, dtype=np.int64)
        matrix[held.forbidden_paths] = 0
        matrix[held.required | held.required_paths] = 1
        return matrix

    def constraints(self, names: Sequence[str]) -> Constraints:
        """The statements over numbered variables; unknown names and clashes are errors that say which."""
        return _Compiler(self, tuple(names)).compile()

    def violations(self, B: Matrix | BoolMatrix, order: Sequence[str], names: Sequence[str]) -> list[str]:
        """Statements that a graph (``B[i, j] != 0`` iff j -> i) or its order does not keep to, in words."""
        edges, at = B != 0, {name: k for k, name in enumerate(names)}
        reach, place = ancestry(edges), {name: k for k, name in enumerate(order)}
        broken = [f"lacks edge {a} -> {b}" for a, b in self.required if not edges[at[b], at[a]]]
        broken += [f"has edge {a} -> {b}" for a, b in self.forbidden if edges[at[b], at[a]]]
        broken += [f"lacks path {a} -> {b}" for a, b in self.required_paths if not reach[at[b], at[a]]]
        broken += [f"has path {a} -> {b}" for a, b in self.forbidden_paths if reach[at[b], at[a]]]
        broken += [f"{name} has causes" for name in self.exogenous if edges[at[name]].any()]
        broken += [f"{name} has effects" for name in self.sinks if edges[:, at[name]].any()]
        must = [*self.required, *self.required_paths]
        for k, tier in enumerate(self.tiers):
            later = [name for other in self.tiers[k + 1 :] for name in other]
            broken += [f"{b} affects {a} of an earlier tier" for a in tier for b in later if reach[at[a], at[b]]]
            must += [(a, b) for a in tier for b in later]
        return broken + [f"order has {b} before {a}" for a, b in must if place[b] < place[a]]


def _as_names(what: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"{what} must be a list of names")
    names = tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{what} must be a list of names")
    return names


def _as_pairs(what: str, given: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"{what} must be a list of pairs (cause, effect)")
    pairs = []
    for pair in given:
        names = _as_names(f"each entry of {what}", pair)
        if len(names) != 2:
            raise ConfigError(f"each entry of {what} must be a pair (cause, effect), got {len(names)} names")
        if names[0] == names[1]:
            raise ConfigError(f"{what} names {names[0]!r} as its own cause")
        pairs.append((names[0], names[1]))
    return tuple(pairs)


class _Ban(NamedTuple):
    """No path from cause to effect, and the statement that says so."""

    cause: int
    effect: int
    statement: str
    tier: bool = False


class _Compiler:
    """Turns the statements of one `Knowledge` into `Constraints` over some names."""

    def __init__(self, known: Knowledge, names: tuple[str, ...]) -> None:
        self.known, self.names = known, names
        self.at = {name: k for k, name in enumerate(names)}
        self.p = len(names)
        self._require_names()

    def compile(self) -> Constraints:
        known = self.known
        required, paths, forbidden = (
            self._matrix(pairs) for pairs in (known.required, known.required_paths, known.forbidden)
        )
        must = required | paths
        self._require_acyclic(must)
        reach = ancestry(must)
        bans = self._bans()
        for ban in bans:
            if reach[ban.effect, ban.cause]:
                chain = self._chain(must, ban.cause, ban.effect)
                raise ConfigError(f"prior knowledge clashes: {ban.statement}, but {self._required(chain)}")
        for a, b in known.required:
            if (a, b) in set(known.forbidden):
                raise ConfigError(f"prior knowledge clashes: the edge {_arrow(a, b)} is both required and forbidden")
        stated = np.zeros((self.p, self.p), dtype=bool)
        for ban in bans:
            stated[ban.effect, ban.cause] = True
        none = closed(stated, reach)
        for considered in (bans, [ban for ban in bans if ban.tier]):
            before = self._precedence(reach, considered, stated)
            constraints = Constraints(required, forbidden | none, paths, none, before)
            if constraints.ways([]).edges is not None:
                return constraints
        effect, cause = (self.names[k] for k in constraints.indirect[0])
        raise ConfigError(
            f"prior knowledge clashes: a path {_arrow(cause, effect)} is required, but the edge is forbidden and "
            "other statements leave no way through other variables"
        )

    def _require_names(self) -> None:
        mentioned = [name for each in PAIRS for pair in getattr(self.known, each) for name in pair]
        mentioned += [name for each in GROUPS for name in getattr(self.known, each)]
        mentioned += [name for tier in self.known.tiers for name in tier]
        for name in mentioned:
            if name not in self.at:
                hint = did_you_mean(name, self.names)
                raise ConfigError(f"prior knowledge names {name!r}, which is not a variable{hint}")

    def _matrix(self, pairs: Sequence[tuple[str, str]]) -> BoolMatrix:
        matrix = np.zeros((self.p, self.p), dtype=bool)
        for cause, effect in pairs:
            matrix[self.at[effect], self.at[cause]] = True
        return matrix

    def _bans(self) -> list[_Ban]:
        """Paths that cannot be, tiers first: their order always agrees with what is required."""
        known, at = self.known, self.at
        bans = []
        for k, tier in enumerate(known.tiers):
            for earlier in tier:
                for later in (name for other in known.tiers[k + 1 :] for name in other):
                    text = f"tiers place {earlier!r} before {later!r}"
                    bans.append(_Ban(at[later], at[earlier], text, tier=True))
        for name in known.exogenous:
            bans += [_Ban(k, at[name], f"{name!r} is exogenous") for k in range(self.p) if k != at[name]]
        for name in known.sinks:
            bans += [_Ban(at[name], k, f"{name!r} is a sink") for k in range(self.p) if k != at[name]]
        bans += [_Ban(at[a], at[b], f"a path {_arrow(a, b)} is forbidden") for a, b in known.forbidden_paths]
        return bans

    def _precedence(self, reach: BoolMatrix, bans: Sequence[_Ban], stated: BoolMatrix) -> BoolMatrix:
        """Who comes before whom: what is required; tiers; and where there is no path one way, the other way round.

        The last is a help to the search, not a consequence: every permitted graph has an order that agrees with one
        such pair, but not always with all. A pair that would close a circle is left open, and so is one without a path
        either way; the weights keep to them.
        """
        before = reach.copy()
        for cause, effect, _, tier in bans:
            both_ways, circle = stated[cause, effect], before[effect, cause]
            if circle or (both_ways and not tier):
                continue
            later = before[:, cause] | (np.arange(self.p) == cause)
            earlier = before[effect] | (np.arange(self.p) == effect)
            before |= np.outer(later, earlier)
        return before

    def _require_acyclic(self, must: BoolMatrix) -> None:
        on_cycle = np.flatnonzero(ancestry(must).diagonal())
        if len(on_cycle):
            chain = self._chain(must, int(on_cycle[0]), int(on_cycle[0]))
            raise ConfigError(f"prior knowledge requires a cycle: {' -> '.join(self.names[k] for k in chain)}")

    def _chain(self, must: BoolMatrix, start: int, end: int) -> list[int]:
        """A shortest chain of required edges and paths from start to end."""
        chains = [[start]]
        seen = {start}
        while True:
            chain = chains.pop(0)
            for effect in np.flatnonzero(must[:, chain[-1]]).tolist():
                if effect == end:
                    return [*chain, effect]
                if effect not in seen:
                    seen.add(effect)
                    chains.append([*chain, effect])

    def _required(self, chain: Sequence[int]) -> str:
        return f"{' -> '.join(repr(self.names[k]) for k in chain)} is required"


def _arrow(cause: str, effect: str) -> str:
    return f"{cause!r} -> {effect!r}"
