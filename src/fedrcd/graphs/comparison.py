"""What changed from one graph to another: edges and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from fedrcd.graphs.metrics import order_agreement

Change: TypeAlias = Literal["added", "removed", "reversed", "changed", "same"]
CHANGES: tuple[Change, ...] = get_args(Change)
NamedWeights: TypeAlias = Mapping[tuple[str, str], float]
"""Weight of each edge, by its cause and its effect."""


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """One edge before and after; a reversed one is named as it is after, its weight before is that of the other way."""

    cause: str
    effect: str
    before: float | None
    after: float | None
    change: Change


@dataclass(frozen=True, slots=True)
class Moved:
    """A pair of variables whose order is reversed: `first` came before `then`, and now comes after it."""

    first: str
    then: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that changed from one graph to another; the order is compared on the variables of both."""

    edges: tuple[EdgeChange, ...]
    moved: tuple[Moved, ...]
    agreement: float
    """Share of pairs of variables that the two orders place alike."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    def count(self, change: Change) -> int:
        """Number of edges that a change happened to."""
        return sum(one.change == change for one in self.edges)

    @property
    def none(self) -> bool:
        """Whether nothing changed."""
        return self.count("same") == len(self.edges) and not (self.moved or self.only_before or self.only_after)

    @property
    def words(self) -> str:
        """One line: how many edges changed and how, and how much of the order."""
        counts = ", ".join(f"{self.count(change)} {change}" for change in CHANGES)
        total = "the orders agree" if not self.moved else f"{len(self.moved)} pairs of variables changed places"
        return f"edges: {counts}; {total} ({self.agreement:.0%} of pairs alike)"


def compare_graphs(
    before: NamedWeights, after: NamedWeights, orders: tuple[Sequence[str], Sequence[str]], *, tolerance: float
) -> Changes:
    """What changed between two graphs with the given weights and orders."""
    old, new = orders
    common_old, common_new = [name for name in old if name in new], [name for name in new if name in old]
    return Changes(
        edges=tuple(edge_changes(before, after, tolerance=tolerance)),
        moved=tuple(moved_pairs(common_old, common_new)),
        agreement=agreement(common_old, common_new),
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
    )


def edge_changes(before: NamedWeights, after: NamedWeights, *, tolerance: float) -> list[EdgeChange]:
    """All edges of either graph; weights that differ by at most `tolerance` of the larger count as the same.

    What changed comes first: added, removed, reversed, changed, same; within these the strongest.
    """
    changes = []
    for cause, effect in {**before, **after}:
        old, new, turned = before.get((cause, effect)), after.get((cause, effect)), before.get((effect, cause))
        if new is None and (effect, cause) in after:
            continue  # told with the edge that replaced it
        if old is None and turned is not None:
            changes.append(EdgeChange(cause, effect, turned, new, "reversed"))
        else:
            changes.append(EdgeChange(cause, effect, old, new, _change(old, new, tolerance)))
    return sorted(changes, key=lambda one: (CHANGES.index(one.change), -max(abs(one.before or 0), abs(one.after or 0))))


def _change(old: float | None, new: float | None, tolerance: float) -> Change:
    """What happened to an edge that kept its direction."""
    if old is None:
        return "added"
    if new is None:
        return "removed"
    return "changed" if abs(new - old) > tolerance * max(abs(old), abs(new)) else "same"


def moved_pairs(before: Sequence[str], after: Sequence[str]) -> list[Moved]:
    """Pairs of variables that the two orders place differently, in the order they had before."""
    position = {name: i for i, name in enumerate(after)}
    return [Moved(first, then) for first, then in combinations(before, 2) if position[first] > position[then]]


def agreement(before: Sequence[str], after: Sequence[str]) -> float:
    """Share of pairs of variables that two orders place alike."""
    position = {name: i for i, name in enumerate(after)}
    return order_agreement(np.arange(len(before)), [position[name] for name in before])
