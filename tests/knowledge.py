"""Random prior knowledge for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import ancestry
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.typing import BoolMatrix


def some_knowledge(names: Sequence[str], rng: np.random.Generator) -> Knowledge:
    """A few statements of every kind; what is required follows one order, the rest need not, and all may clash."""
    order = [names[k] for k in rng.permutation(len(names))]

    def pairs(most: int, *, any_way: bool) -> list[tuple[str, str]]:
        chosen = []
        for _ in range(int(rng.integers(0, most + 1))):
            i, j = sorted(rng.choice(len(order), 2, replace=False), reverse=bool(any_way and rng.random() < 0.5))
            chosen.append((order[i], order[j]))
        return chosen

    cut = sorted(rng.integers(0, len(order), 2))
    return Knowledge(
        required=pairs(2, any_way=False),
        forbidden=pairs(4, any_way=True),
        required_paths=pairs(2, any_way=False),
        forbidden_paths=pairs(3, any_way=True),
        exogenous=[order[0]] if rng.random() < 0.3 else [],
        sinks=[order[-1]] if rng.random() < 0.3 else [],
        tiers=[order[: cut[0]], order[cut[0] : cut[1]]] if rng.random() < 0.4 else [],
        before=pairs(2, any_way=True) if rng.random() < 0.3 else [],
    )


def consistent_knowledge(names: Sequence[str], rng: np.random.Generator) -> tuple[Knowledge, Constraints]:
    """Knowledge without clashes, and what it compiles to."""
    while True:
        known = some_knowledge(names, rng)
        try:
            return known, known.constraints(names)
        except ConfigError:
            continue


def random_order(edges: BoolMatrix, rng: np.random.Generator) -> list[int]:
    """A random order of an acyclic graph."""
    order: list[int] = []
    while len(order) < len(edges):
        waits = np.delete(edges, order, axis=1).any(axis=1)
        order.append(int(rng.choice([k for k in np.flatnonzero(~waits) if k not in order])))
    return order


def true_knowledge(names: Sequence[str], edges: BoolMatrix, rng: np.random.Generator) -> Knowledge:
    """A few statements of every kind that all hold of a graph, ``edges[i, j]`` for j -> i; the order stated is one."""
    reach, off, order = ancestry(edges), ~np.eye(len(names), dtype=bool), random_order(edges, rng)

    def pairs(true: BoolMatrix, share: float) -> list[tuple[str, str]]:
        return [(names[j], names[i]) for i, j in np.argwhere(true & (rng.random(true.shape) < share))]

    def some(true: BoolMatrix) -> list[str]:
        return [names[k] for k in np.flatnonzero(true & (rng.random(len(names)) < 0.4))]

    cut = sorted(rng.integers(0, len(names), 2))
    tiers = [[names[k] for k in part if rng.random() < 0.7] for part in np.split(order, cut)]
    position = np.argsort(order)
    return Knowledge(
        required=pairs(edges, 0.2),
        forbidden=pairs(~edges & off, 0.5),
        required_paths=pairs(reach, 0.3),
        forbidden_paths=pairs(~reach & off, 0.3),
        exogenous=some(~edges.any(axis=1)),
        sinks=some(~edges.any(axis=0)),
        tiers=tiers if rng.random() < 0.4 else [],
        before=pairs(position[:, None] > position[None, :], 0.2) if rng.random() < 0.4 else [],
    )
