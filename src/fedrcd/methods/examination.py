"""Whether errors along an order are independent and effects straight, from one round more.

These are the tests of `fedrcd check` for independence and linearity. They see what the tensors of one round miss, for
their sampling errors are known: that takes powers of errors up to the twelfth.
"""

from __future__ import annotations

import numpy as np

from fedrcd.methods.doubt import Doubt
from fedrcd.methods.skeleton import Marginals
from fedrcd.protocol.questions import Basis, Rounds, ask
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.statistics.residual_tests import Tests, at_least_one, independence, linearity
from fedrcd.typing import BoolMatrix, IntVector

LEVEL = 0.02
"""P-value of either test under which a model is doubted."""


def ask_residuals(setting: Setting, marginals: Marginals, order: IntVector) -> Rounds[ResidualSums]:
    """One round: sums of the residuals of every variable given all that precede it."""
    basis = Basis(marginals.in_frame(setting.frame), tuple(order.tolist()))
    sums: ResidualSums = yield from ask(ResidualQuestion(setting.variables, setting.frame, basis, setting.grid))
    return sums


def examine(setting: Setting, marginals: Marginals, order: IntVector, edges: BoolMatrix) -> Rounds[Doubt]:
    """What the residuals along an order say, and whether effects along `edges` are straight."""
    sums = yield from ask_residuals(setting, marginals, order)
    return doubt_of_residuals(sums, order, edges)


def doubt_of_residuals(sums: ResidualSums, order: IntVector, edges: BoolMatrix) -> Doubt:
    """The worse of both tests."""
    independent = independence(sums, order)
    place = np.argsort(order)
    pairs = place[:, None] > place[None, :]
    errors, effects = _worst(independent, pairs), _worst(linearity(sums, order, edges), edges, bent=True)
    worse = effects if effects.p_value < errors.p_value else errors
    return Doubt(worse.p_value, errors.judged, int(pairs.sum()), worse.worst, level=LEVEL, bent_effect=worse is effects)


def _worst(tests: Tests, where: BoolMatrix, *, bent: bool = False) -> Doubt:
    """The smallest p-value of tests that can be relied on, [i, j] being of an earlier j and a later i."""
    told = where & tests.tells
    if not told.any():
        return Doubt(1.0, 0, int(where.sum()), (0, 0))
    later, earlier = np.unravel_index(int(np.argmin(np.where(told, tests.p_values, 2.0))), told.shape)
    p_value = at_least_one(tests.p_values[told])
    return Doubt(p_value, int(told.sum()), int(where.sum()), (int(earlier), int(later)), bent_effect=bent)
