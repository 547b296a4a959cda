"""Rows that make up much of a fourth moment: whoever has the moment has their values, roughly.

A row far out is nearly all of the sums that its values enter to the fourth power, whatever the others are; so is the
farthest row of a heavy tail. A share of 1 forbids nothing. What rows are left out depends on all rows of a block, about
its own means and in its own standard deviations; in which frame sums are taken does not matter.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fedrcd.data.rows import Chunk, count_rows, streamed
from fedrcd.data.table import Table
from fedrcd.statistics.frame import Frame, own_moments
from fedrcd.typing import BoolMatrix, Matrix

ROWS_AT_ONCE = 8192


def without_dominant_rows(table: Table, share: float) -> Table:
    """The rows without those that make up more than a share of some fourth moment of the others and them.

    Moments of two variables, of their squares, count as well. Without a row the next one may be too large a part, so it
    is done until none is.
    """
    while count_rows(table):
        frame = own_moments(streamed(table), len(table.columns))
        kept = table.select(partial(_small, frame, _fourth_moments(table, frame), share), by_values=True)
        if kept is table:
            break
        table = kept
    return table


def _squares(values: Matrix, frame: Frame) -> Matrix:
    return np.square(frame.express(values))


def _fourth_moments(table: Table, frame: Frame) -> Matrix:
    """Sums of products of squares, shape (p, p)."""
    p = len(table.columns)
    total = np.zeros((p, p))
    for values, *_ in table.chunks():
        for first in range(0, len(values), ROWS_AT_ONCE):
            squares = _squares(values[first : first + ROWS_AT_ONCE], frame)
            total += squares.T @ squares
    return total


def _small(frame: Frame, moments: Matrix, share: float, chunk: Chunk) -> BoolMatrix:
    """Which rows are no more than a share of each moment."""
    stays: BoolMatrix = np.ones(len(chunk.values), dtype=bool)
    for first in range(0, len(stays), ROWS_AT_ONCE):
        squares = _squares(chunk.values[first : first + ROWS_AT_ONCE], frame)
        for j in range(squares.shape[1]):
            parts = squares[:, j : j + 1] * squares > share * moments[j]
            stays[first : first + len(squares)] &= ~parts.any(axis=1)
    return stays
