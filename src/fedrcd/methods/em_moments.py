"""The moments by which sites fill gaps: the EM algorithm for a Gaussian, a round of sums a step.

Every second step is extrapolated (SQUAREM, Varadhan and Roland, 2008), which keeps the fixed point and saves rounds.
"""

from __future__ import annotations

import numpy as np

from fedrcd.errors import DataError
from fedrcd.protocol.moment_questions import ExpectationQuestion
from fedrcd.protocol.questions import Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.expectation import ExpectedMoments, Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.repair import positive_definite
from fedrcd.typing import Vector

ENOUGH = 1e-3
"""Largest change of a correlation, or of a mean in standard deviations, at which EM stops."""

STEPS = 30
LONGEST = 16.0
"""Limit of an extrapolation."""


def ask_moments(setting: Setting) -> Rounds[Gaussian]:
    """Mean and covariance, in the frame, with the greatest likelihood for what was observed."""
    current = yield from _start(setting)
    trail: list[Gaussian] = []
    for _ in range(STEPS):
        sums: ExpectedMoments = yield from ask(ExpectationQuestion(setting.variables, setting.frame, current))
        step = sums.maximise(current)
        if _change(current, step) < ENOUGH:
            return step
        trail.append(current)
        current = step
        if len(trail) == 2:
            current, trail = _extrapolated(trail[0], trail[1], step), []
    return current


def _start(setting: Setting) -> Rounds[Gaussian]:
    """Moments of the values that are there, pair by pair."""
    sums = yield from ask(setting.pairs(2))
    lacking = np.argwhere(sums.count < 2)
    if len(lacking):
        names = [setting.variables[k] for k in lacking[0]]
        raise DataError(f"{' and '.join(map(repr, names))} are never observed together")
    p = len(setting.variables)
    k = pair_cumulants(sums, Frame.identity(p)).harmonised()
    mean = np.diagonal(np.broadcast_to(sums.at(1, 0) / sums.count, (p, p))).copy()
    return Gaussian(mean, positive_definite(k.cov)[0])


def _change(one: Gaussian, other: Gaussian) -> float:
    sd = np.sqrt(np.diagonal(other.cov))
    return float(
        max(np.abs((other.cov - one.cov) / np.outer(sd, sd)).max(), np.abs((other.mean - one.mean) / sd).max())
    )


def _extrapolated(first: Gaussian, second: Gaussian, third: Gaussian) -> Gaussian:
    """Further along the way of two steps, or their end where that would not be a covariance."""
    t0, t1, t2 = (_packed(one) for one in (first, second, third))
    r, v = t1 - t0, t2 - 2 * t1 + t0
    bend = float(np.linalg.norm(v))
    alpha = -min(max(1.0, float(np.linalg.norm(r)) / bend), LONGEST) if bend > 0 else -1.0
    t, p = t0 - 2 * alpha * r + alpha**2 * v, len(first.mean)
    cov = t[p:].reshape(p, p)
    variance = np.diagonal(cov)
    if not (variance > 0).all() or np.linalg.eigvalsh(cov / np.sqrt(np.outer(variance, variance)))[0] < 1e-6:
        return third
    return Gaussian(t[:p], cov)


def _packed(one: Gaussian) -> Vector:
    return np.concatenate([one.mean, one.cov.ravel()])
