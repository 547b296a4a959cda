"""What several graphs over the same variables agree on, edge by edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

NamedEdge = tuple[str, str]


class AgreedEdge(NamedTuple):
    """An edge that some graph has, what each of them says of it, and how many say yes."""

    cause: str
    effect: str
    says: tuple[str, ...]
    """"yes", "turned" where the edge stands the other way round, or "no"."""

    @property
    def agree(self) -> int:
        """How many have the edge."""
        return self.says.count("yes")


def agreed_edges(graphs: Mapping[str, Iterable[NamedEdge]]) -> list[AgreedEdge]:
    """Every edge that some graph has, those that most have first; one that stands both ways as the first has it."""
    having = {name: set(edges) for name, edges in graphs.items()}
    listed: dict[NamedEdge, AgreedEdge] = {}
    for edges in having.values():
        for cause, effect in sorted(edges):
            if (cause, effect) not in listed and (effect, cause) not in listed:
                says = tuple(_said(others, cause, effect) for others in having.values())
                listed[cause, effect] = AgreedEdge(cause, effect, says)
    return sorted(listed.values(), key=lambda edge: -edge.agree)


def _said(edges: set[NamedEdge], cause: str, effect: str) -> str:
    if (cause, effect) in edges:
        return "yes"
    return "turned" if (effect, cause) in edges else "no"
