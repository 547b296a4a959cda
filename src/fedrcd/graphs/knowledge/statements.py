"""Prior knowledge about a causal graph, by name: what must be, what cannot be, who comes first.

Statements become `Constraints` for a list of variables; those that clash are named then, before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import ancestry
from fedrcd.graphs.knowledge.compiler import Compiler
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.past_names import past_names
from fedrcd.typing import BoolMatrix, IntMatrix, Matrix

PAIRS = ("required", "forbidden", "required_paths", "forbidden_paths", "before")
EDGES = ("required", "forbidden")
GROUPS = ("exogenous", "sinks")


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What is known of a graph before the data are seen; every method keeps to it, in its order and in its weights.

    Parameters
    ----------
    required, forbidden : sequence of (cause, effect)
        Direct effects that exist, or do not; with lags, the cause may be a variable of a step before, `dose[t-1]`.
    required_paths, forbidden_paths : sequence of (cause, effect)
        Effects that exist, or do not, directly or through other variables.
    exogenous : sequence of str
        Variables without causes among the others.
    sinks : sequence of str
        Variables without effects on the others.
    tiers : sequence of sequences of str
        Groups in order of time: no variable affects one of an earlier tier. Variables in no tier are free.
    before : sequence of (first, later)
        The same for two variables: the first stands before the later one in the order, whether it affects it or not.

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
    before: Sequence[tuple[str, str]] = ()

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
        """Knowledge in the form of `lingam`: entry [to, from] is 1 for a path, 0 for none, -1 for unknown.

        As in `lingam`, a 0 also states the order, unless the other way round is 0, too: `to` stands before `from`.
        Entries whose order closes a circle state none.
        """
        known = np.asarray(matrix)
        p = len(names)
        if known.shape != (p, p):
            raise ConfigError(f"a matrix of prior knowledge over {p} variables must be {p} x {p}, got {known.shape}")
        off = ~np.eye(p, dtype=bool)
        if not np.isin(known[off], (-1, 0, 1)).all():
            raise ConfigError("a matrix of prior knowledge must hold 1 (path), 0 (no path) or -1 (unknown)")
        path, none = (known == 1) & off, (known == 0) & off
        first = none.T & ~none
        before = first & ~path & ~ancestry(first | path).T

        def listed(entries: BoolMatrix) -> list[tuple[str, str]]:
            return [(names[j], names[i]) for i, j in np.argwhere(entries).tolist()]

        return cls(required_paths=listed(path), forbidden_paths=listed(none), before=listed(before))

    def to_matrix(self, names: Sequence[str]) -> IntMatrix:
        """The same as `lingam` has it: [to, from], 1 for a path, 0 for none, -1 for unknown; single edges are paths."""
        held = self.constraints(names)
        matrix = np.full(held.before.shape, -1, dtype=np.int64)
        matrix[held.forbidden_paths] = 0
        matrix[held.required | held.required_paths] = 1
        return matrix

    def constraints(self, names: Sequence[str], past: int = 0) -> Constraints:
        """The statements over numbered variables; unknown names and clashes are errors that say which.

        Where rows go back so many steps, these are also about the variables of steps before, which come first; direct
        effects of these may be stated, by names such as `dose[t-1]`.
        """
        before = past_names(names, past)[len(names) :]
        of_now = {kind: [pair for pair in getattr(self, kind) if pair[0] not in before] for kind in EDGES}
        held = Compiler(replace(self, **of_now), tuple(names)).compile()
        if not past:
            return held
        held = held.with_past(past)
        required, forbidden = (self._lagged(kind, names, before) for kind in EDGES)
        for cause, effect in sorted(required & forbidden):
            raise ConfigError(f"{before[cause - len(names)]!r} -> {names[effect]!r} is both required and forbidden")
        for stated, matrix in ((required, held.required), (forbidden, held.forbidden)):
            for cause, effect in stated:
                matrix[effect, cause] = True
        return held

    def _lagged(self, kind: str, names: Sequence[str], before: Sequence[str]) -> set[tuple[int, int]]:
        """Stated effects of steps before, as numbers (cause, effect)."""
        found = set()
        for cause, effect in getattr(self, kind):
            if cause in before:
                if effect not in names:
                    raise ConfigError(f"{kind}: {effect!r} is no variable of now, and nothing acts on what was before")
                found.add((len(names) + before.index(cause), names.index(effect)))
        return found

    def violations(self, B: Matrix | BoolMatrix, order: Sequence[str], names: Sequence[str]) -> list[str]:
        """Statements that a graph (``B[i, j] != 0`` iff j -> i) or its order does not keep to, in words."""
        edges, at = B != 0, {name: k for k, name in enumerate(names)}
        reach, place = ancestry(edges), {name: k for k, name in enumerate(order)}
        broken = [f"lacks edge {a} -> {b}" for a, b in self.required if not edges[at[b], at[a]]]
        broken += [f"has edge {a} -> {b}" for a, b in self.forbidden if edges[at[b], at[a]]]
        broken += [f"lacks path {a} -> {b}" for a, b in self.required_paths if not reach[at[b], at[a]]]
        never = [*self.forbidden_paths, *((b, a) for a, b in self.before)]
        broken += [f"has path {a} -> {b}" for a, b in never if reach[at[b], at[a]]]
        broken += [f"{name} has causes" for name in self.exogenous if edges[at[name]].any()]
        broken += [f"{name} has effects" for name in self.sinks if edges[:, at[name]].any()]
        must = [*self.required, *self.required_paths, *self.before]
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
    roles = "(first, later)" if what == "before" else "(cause, effect)"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"{what} must be a list of pairs {roles}")
    pairs = []
    for pair in given:
        names = _as_names(f"each entry of {what}", pair)
        if len(names) != 2:
            raise ConfigError(f"each entry of {what} must be a pair {roles}, got {len(names)} names")
        if names[0] == names[1]:
            raise ConfigError(f"{what} names {names[0]!r} as its own {'predecessor' if what == 'before' else 'cause'}")
        pairs.append((names[0], names[1]))
    return tuple(pairs)
