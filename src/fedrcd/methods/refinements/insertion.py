r"""Hill climbing over orders by moving one variable at a time to its best place.

An objective that is made of terms of single residuals, each of a variable given the *set* of its predecessors, is
cheap to follow. With the others kept in their order, moving v through all p places needs 3p - 2 residuals: each other
variable with v after it, each with v before it, and v after each prefix of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.statistics.residual_maps import insertion_rows
from fedrcd.typing import Matrix, Vector

SWEEPS = 30
GAIN = 1e-9
"""Relative gain below which a move is taken for rounding."""

Key = tuple[int, int]
"""A variable and the set of its predecessors, as bits."""


class InsertionResiduals(NamedTuple):
    """Residuals of unit variance that placing v among `rest` can meet; row k of W gives e = W[k] x."""

    rest: list[int]
    W: Matrix
    keys: list[Key]


def keys_along(order: Sequence[int]) -> list[Key]:
    """Each variable of an order with the set of its predecessors."""
    keys, before = [], 0
    for variable in order:
        keys.append((variable, before))
        before |= 1 << variable
    return keys


def insertion_residuals(S: Matrix, order: Sequence[int], v: int) -> InsertionResiduals:
    """All residuals that the p places of v among the others need; S is a correlation matrix."""
    rest = [u for u in order if u != v]
    along = keys_along(rest)
    keys = along + [(u, given | 1 << v) for u, given in along] + [(v, given) for _, given in [*along, _end(along)]]
    return InsertionResiduals(rest, insertion_rows(S, order, v), keys)


def _end(along: list[Key]) -> Key:
    """What would follow the last of a list of keys: no variable, all predecessors."""
    variable, before = along[-1]
    return -1, before | 1 << variable


Places = Callable[[list[int], int], tuple[list[int], Vector]]
"""From an order and a variable v: the others in their order, and the objective with v at each of the p places."""


def climb(
    order: Sequence[int],
    places: Places,
    constraints: Constraints | None = None,
    gain: float = GAIN,
    moved: Callable[[int, int], None] | None = None,
) -> list[int]:
    """Move each variable in turn to its best place that is allowed, until a whole sweep changes nothing.

    A move must gain more than this share of the objective; `moved` is told of the variable and its new place.
    """
    current, still = [int(u) for u in order], 0
    for v in list(current) * SWEEPS:
        rest, objective = places(current, v)
        if constraints is not None:
            objective = np.where(constraints.places(rest, v), objective, -np.inf)
        best, here = int(np.argmax(objective)), current.index(v)
        if best != here and objective[best] > objective[here] + gain * abs(objective[here]):
            current, still = [*rest[:best], v, *rest[best:]], 0
            if moved is not None:
                moved(v, best)
        else:
            still += 1
        if still == len(current):
            break
    return current
