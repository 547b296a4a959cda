"""A draft of a federation's public frame from one site's table, rounded to one digit: it tells no more than a range."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from fedrcd.data.federation import VariableFrame
from fedrcd.data.rows import Rows, streamed
from fedrcd.statistics.frame import propose_exact_frame


def draft_frame(table: Rows) -> Mapping[str, VariableFrame]:
    """Centre and scale of every column, to one digit of the scale; tails fit into 64 scales."""
    frame = propose_exact_frame([streamed(table)])
    drafted = zip(table.columns, frame.centre.tolist(), frame.scale.tolist(), strict=True)
    return {name: _one_digit(centre, scale, unit_in(name)) for name, centre, scale in drafted}


def unit_in(name: str) -> str:
    """The unit that the name of a column ends in, in brackets.

    Examples
    --------
    >>> unit_in("glucose (mg/dL)"), unit_in("bmi [kg/m2]"), unit_in("age")
    ('mg/dL', 'kg/m2', '')
    """
    found = re.search(r"[\[(]([^\[\]()]+)[\])]\s*$", name)
    return found[1].strip() if found else ""


def _one_digit(centre: float, scale: float, unit: str) -> VariableFrame:
    """Scale to its first digit; centre to the place of that digit."""
    place = -math.floor(math.log10(scale))
    return VariableFrame(round(centre, place) + 0.0, round(scale, place), unit)
