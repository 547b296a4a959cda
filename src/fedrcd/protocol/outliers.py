"""Gross errors at a site: seeing them, and leaving out the rows that hold them."""

from __future__ import annotations

import numpy as np

from fedrcd.data.rows import Chunk, Keep, Rows, count_rows
from fedrcd.statistics.frame import Frame
from fedrcd.typing import BoolMatrix, Vector

ROWS_AT_ONCE = 8192

FAR = 20.0
"""Scales of the frame within which no value is looked at twice."""

GAP = 5.0
"""A value this many times as far out as the next one stands apart: heavy tails thin out, gross errors leave a gap."""


def rows_within(frame: Frame, limit: float) -> Keep:
    """Tells which rows have no value more than `limit` scales from the centre of the frame.

    Whole rows are left out, never single values cut off: clipping a value breaks the linear model of its row.
    """

    def stays(chunk: Chunk) -> BoolMatrix:
        within = np.empty(len(chunk.values), dtype=bool)
        for first in range(0, len(within), ROWS_AT_ONCE):
            z = frame.express(chunk.values[first : first + ROWS_AT_ONCE])
            within[first : first + len(z)] = ~(np.abs(z, out=z) > limit).any(axis=1)
        return within

    return stays


def columns_with_gross_errors(rows: Rows, frame: Frame) -> list[int]:
    """Columns in which a few values stand apart from all others.

    Among the outermost two per cent of a column, beyond `FAR` scales, there is a gap of a factor `GAP`.
    """
    low, high = np.full(len(rows.columns), np.inf), np.full(len(rows.columns), -np.inf)
    for values, *_ in rows.chunks():
        if len(values):
            low = np.fmin(low, np.fmin.reduce(values, axis=0))
            high = np.fmax(high, np.fmax.reduce(values, axis=0))
    with np.errstate(over="ignore"):
        reach = np.maximum(high - frame.centre, frame.centre - low) / frame.scale
    return [int(j) for j in np.flatnonzero(reach > FAR) if _has_gap(rows, int(j), frame)]


def _has_gap(rows: Rows, column: int, frame: Frame) -> bool:
    """Whether there is a gap among the outermost values of a column."""
    most = max(2, count_rows(rows) // 50)
    tail: Vector = np.empty(0)
    observed = in_the_middle = 0
    for values, *_ in rows.chunks():
        distance = np.abs((values[:, column] - frame.centre[column]) / frame.scale[column])
        distance = distance[~np.isnan(distance)]
        observed += len(distance)
        in_the_middle += int((distance == 0).sum())
        tail = np.concatenate([tail, distance])
        if len(tail) > most:
            tail = np.partition(tail, -most)[-most:]
    if 2 * in_the_middle > observed:  # most rows share one value: what is rare is not therefore wrong
        return False
    tail = np.sort(tail)[-max(2, observed // 50) :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = tail[1:] / tail[:-1]
    return bool(((steps > GAP) & (tail[1:] > FAR)).any())
