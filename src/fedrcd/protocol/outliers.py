"""Gross errors at a site: seeing them, and leaving out the rows that hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from fedrcd.data.rows import Chunk, Keep, Rows, asked_once
from fedrcd.data.survey import survey
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
    found = survey(rows)
    with np.errstate(over="ignore"):
        reach = np.fmax(found.high - frame.centre, frame.centre - found.low) / frame.scale
    far = [int(j) for j in np.flatnonzero(reach > FAR)]
    if not far:
        return []
    key = ("gaps", frame.centre.tobytes(), frame.scale.tobytes())
    return asked_once(rows, key, lambda: _with_gap(rows, far, frame))


def _with_gap(rows: Rows, far: list[int], frame: Frame) -> list[int]:
    """Those of some columns with a gap among their outermost values; takes one pass, in little memory.

    Distances fall into shells, each `GAP` times as wide as the one before: two neighbours further apart than that are
    in different shells, the largest of one and the smallest of another with nothing between.
    """
    frame = frame.keep(far)
    shells = [_Shells() for _ in far]
    for values, *_ in rows.chunks():
        with np.errstate(over="ignore"):
            distance = np.abs((values[:, far] - frame.centre) / frame.scale)
        distance = np.minimum(distance, np.finfo(np.float64).max)
        for one, column in zip(shells, distance.T, strict=True):
            one.take_in(column[~np.isnan(column)])
    return [column for column, one in zip(far, shells, strict=True) if one.has_gap()]


@dataclass(slots=True)
class _Shells:
    """How far the values of a column are from its centre, in shells: their numbers, the nearest and the farthest."""

    observed: int = 0
    in_the_middle: int = 0
    shells: dict[int, tuple[int, float, float]] = field(default_factory=dict)

    def take_in(self, distance: Vector) -> None:
        """Take further values into account."""
        self.observed += len(distance)
        self.in_the_middle += int((distance == 0).sum())
        outside = distance > FAR / GAP
        inside = distance[~outside]
        if len(inside):
            self._add(-1, len(inside), float(inside.min()), float(inside.max()))
        beyond = distance[outside]
        numbers = np.floor(np.log(beyond * (GAP / FAR)) / np.log(GAP))
        for number in np.unique(numbers).tolist():
            mine = beyond[numbers == number]
            self._add(int(number), len(mine), float(mine.min()), float(mine.max()))

    def _add(self, number: int, count: int, low: float, high: float) -> None:
        known = self.shells.get(number, (0, low, high))
        self.shells[number] = (known[0] + count, min(known[1], low), max(known[2], high))

    def has_gap(self) -> bool:
        """Whether a few values stand apart."""
        if 2 * self.in_the_middle > self.observed:  # most rows share one value: what is rare is not therefore wrong
            return False
        most, beyond = max(2, self.observed // 50), 0
        ordered = [self.shells[number] for number in sorted(self.shells, reverse=True)]
        for (count, nearest, _), (_, _, farthest) in pairwise(ordered):
            beyond += count
            if beyond >= most:
                return False
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                apart = np.float64(nearest) / np.float64(farthest) > GAP
            if apart and nearest > FAR:
                return True
        return False
