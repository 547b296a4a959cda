"""Random prior knowledge for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.graphs.constraints import Constraints
from fedrcd.graphs.knowledge import Knowledge


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
    )


def consistent_knowledge(names: Sequence[str], rng: np.random.Generator) -> tuple[Knowledge, Constraints]:
    """Knowledge without clashes, and what it compiles to."""
    while True:
        known = some_knowledge(names, rng)
        try:
            return known, known.constraints(names)
        except ConfigError:
            continue
