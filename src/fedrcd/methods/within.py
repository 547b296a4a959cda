"""Whether sites differ in level or unit, and what to do about it: `within="auto"`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedrcd.protocol.in_process import Within
from fedrcd.protocol.moment_questions import SiteMomentsQuestion
from fedrcd.protocol.transport import Transport

BEYOND_CHANCE = 8.0
"""Standard deviations of the statistic from which sites count as different."""


class WithinChoice(NamedTuple):
    """How sites express their rows, and why, in one line."""

    within: Within
    reason: str


def choose_within(transport: Transport) -> WithinChoice:
    """Ask all sites for the moments of their own, once, and choose."""
    setting = transport.setting
    means, variances = transport.pool(SiteMomentsQuestion(setting.variables, setting.frame)).excess()
    if variances.max() > BEYOND_CHANCE:
        name = setting.variables[int(np.argmax(variances))]
        return WithinChoice("standardise", f"the spread of {name!r} differs between sites by more than chance")
    if means.max() > BEYOND_CHANCE:
        name = setting.variables[int(np.argmax(means))]
        return WithinChoice("centre", f"the level of {name!r} differs between sites by more than chance")
    return WithinChoice("none", "sites differ by no more than chance")
