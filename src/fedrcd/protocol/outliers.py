"""Gross errors at a site: seeing them, and leaving out the rows that hold them."""

from __future__ import annotations

import numpy as np

from fedrcd.statistics.frame import Frame
from fedrcd.typing import BoolMatrix, Matrix

ROWS_AT_ONCE = 8192

FAR = 20.0
"""Scales of the frame within which no value is looked at twice."""

GAP = 5.0
"""A value this many times as far out as the next one stands apart: heavy tails thin out, gross errors leave a gap."""


def rows_within(rows: Matrix, frame: Frame, limit: float) -> BoolMatrix:
    """Which rows have no value more than `limit` scales from the centre of the frame, shape (n,).

    Whole rows are left out, never single values cut off: clipping a value breaks the linear model of its row.
    """
    within = np.empty(len(rows), dtype=bool)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        z = frame.express(rows[first : first + ROWS_AT_ONCE])
        within[first : first + len(z)] = ~(np.abs(z, out=z) > limit).any(axis=1)
    return within


def columns_with_gross_errors(rows: Matrix, frame: Frame) -> list[int]:
    """Columns in which a few values stand apart from all others.

    Among the outermost two per cent of a column, beyond `FAR` scales, there is a gap of a factor `GAP`.
    """
    with np.errstate(over="ignore"):
        high, low = np.fmax.reduce(rows, axis=0), np.fmin.reduce(rows, axis=0)
        reach = np.maximum(high - frame.centre, frame.centre - low) / frame.scale
    suspects = np.flatnonzero(reach > FAR)
    return [int(j) for j in suspects if _has_gap(np.abs((rows[:, j] - frame.centre[j]) / frame.scale[j]))]


def _has_gap(distance: Matrix) -> bool:
    distance = distance[~np.isnan(distance)]
    if np.median(distance) == 0:  # most rows share one value: what is rare is not therefore wrong
        return False
    outermost = max(2, len(distance) // 50)
    tail = np.sort(np.partition(distance, -outermost)[-outermost:])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = tail[1:] / tail[:-1]
    return bool(((steps > GAP) & (tail[1:] > FAR)).any())
