r"""Refinement by the entropies of all errors at once, climbed over whole orders.

In the true order the errors are together as far from Gaussian as they can be. The order is moved uphill on

.. math:: F(\pi) = \sum_m \sqrt{H(\nu) - H(e_m)},

with DirectLiNGAM's entropy H, whose sums add over sites, and :math:`H(\nu)` that of a Gaussian. A round asks for the
entropies of all residuals that moving one variable can meet and that are not known yet, at most 2 p^2 - 3 p + 2, in one
pass over the rows. Then the best move that is known is taken, again and again: moves apart from each other do not
change each other's residuals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.methods.deflations.entropies import entropy_grid
from fedrcd.methods.skeleton import Marginals
from fedrcd.protocol.entropy_question import MoveEntropyQuestion
from fedrcd.protocol.questions import Basis, Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.entropy_sums import EntropySums
from fedrcd.statistics.grid import rounded_map
from fedrcd.statistics.moved_residuals import Given, moved_residuals
from fedrcd.statistics.whole_entropies import exact_under
from fedrcd.typing import IntVector, Vector

FUTILE = 1e-4
"""A move must gain more than this share of F, and than one part in the number of rows if that is less."""

MOST_ROUNDS = 12
"""Rounds after which climbing ends in any case."""

GAUSSIAN = (1 + math.log(2 * math.pi)) / 2


@dataclass(frozen=True, slots=True)
class EntropyRefinement:
    """Moves variables of an order to where the errors' entropies are least, in at most so many rounds."""

    most_rounds: int = MOST_ROUNDS

    def __call__(self, setting: Setting, marginals: Marginals, start: IntVector) -> Rounds[IntVector]:
        """The refined order."""
        known: dict[Given, float] = {}
        order, gain = [int(variable) for variable in start], min(FUTILE, 1 / marginals.rows)
        for _ in range(self.most_rounds):
            yield from _learn(setting, marginals, order, known)
            higher = climb_known(order, known, setting.constraints, gain)
            if higher == order:
                break
            order = higher
        return np.array(order, dtype=np.int64)


def _learn(setting: Setting, marginals: Marginals, order: list[int], known: dict[Given, float]) -> Rounds[None]:
    """Ask for what moves from an order need, in one round."""
    moments, grid = marginals.in_frame(setting.frame), entropy_grid(setting.grid)
    maps = {
        given: residual
        for given, residual in moved_residuals(moments.cov, order, exact=grid is not None)
        if given not in known
    }
    if not maps:
        return
    R = np.stack(list(maps.values()))
    if grid is not None:
        R = rounded_map(R)
        fits = exact_under(R, grid)
        maps, R = {given: R[k] for k, given in enumerate(maps) if fits[k]}, R[fits]
    offset = np.array([math.fsum(row * moments.mean) for row in R])
    none = np.empty((0, 2), dtype=np.int64)
    sums: EntropySums = yield from ask(
        MoveEntropyQuestion(
            setting.variables,
            setting.frame,
            R,
            offset if grid is None else rounded_map(offset),
            none,
            np.empty(0),
            singles=True,
            basis=Basis(moments, ()),
            grid=grid,
            order=tuple(order),
        )
    )
    known.update(zip(maps, evidence_of(sums).tolist(), strict=True))


def evidence_of(sums: EntropySums) -> Vector:
    """The root of each negentropy."""
    evidence: Vector = np.sqrt(np.maximum(GAUSSIAN - sums.entropy(), 0.0))
    return evidence


def climb_known(
    order: list[int], known: dict[Given, float], constraints: Constraints | None, least: float
) -> list[int]:
    """Take the best of all moves whose terms are known, until none gains more than a share of the objective."""
    current = list(order)
    while True:
        total, gains = gains_of_moves(current, known)
        if constraints is not None:
            for h, v in enumerate(current):
                rest = [u for u in current if u != v]
                gains[h, ~constraints.places(rest, v)] = -np.inf
        h, place = divmod(int(np.argmax(gains)), len(current))
        if not gains[h, place] > least * total:
            return current
        current.insert(place, current.pop(h))


def gains_of_moves(order: list[int], known: dict[Given, float]) -> tuple[float, Vector]:
    """F, and what moving the variable at place h to place t gains, at [h, t]; minus infinity where it is not known."""
    p, unknown = len(order), -np.inf
    before, bits = [], 0
    for variable in order:
        before.append(bits)
        bits |= 1 << variable
    if any(given not in known for given in zip(order, before, strict=True)):
        return 0.0, np.full((p, p), unknown)
    terms = [known[given] for given in zip(order, before, strict=True)]
    gains = np.zeros((p, p))
    for h, v in enumerate(order):
        given, passed = before[h], 0.0
        for n in range(h + 1, p):
            u = order[n]
            passed += known.get((u, given), unknown) - terms[n]
            given |= 1 << u
            gains[h, n] = passed + known.get((v, given), unknown) - terms[h]
        passed = 0.0
        for n in range(h - 1, -1, -1):
            u = order[n]
            passed += known.get((u, before[n] | 1 << v), unknown) - terms[n]
            gains[h, n] = passed + known.get((v, before[n]), unknown) - terms[h]
    return sum(terms), gains
