"""A draft of a federation's public frame from one site's table, rounded to one digit: it tells no more than a range."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fedrcd.data.federation import VariableFrame
from fedrcd.data.rows import Rows, streamed
from fedrcd.statistics.frame import propose_exact_frame


def draft_frame(table: Rows) -> Mapping[str, VariableFrame]:
    """Centre and scale of every column, to one digit of the scale; tails fit into 64 scales."""
    frame = propose_exact_frame([streamed(table)])
    drafted = zip(table.columns, frame.centre.tolist(), frame.scale.tolist(), strict=True)
    return {name: _one_digit(centre, scale) for name, centre, scale in drafted}


def _one_digit(centre: float, scale: float) -> VariableFrame:
    """Scale to its first digit; centre to the place of that digit."""
    place = -math.floor(math.log10(scale))
    return VariableFrame(round(centre, place) + 0.0, round(scale, place))
