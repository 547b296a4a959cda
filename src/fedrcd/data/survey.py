"""What one pass over rows tells: enough for all checks and notes, so that nobody reads them again for each.

Rows that lie elsewhere keep it, as long as they live. Those of an array do not: their values may be changed in place,
and a pass over them costs little.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import Rows, asked_once, count_rows, is_complete, streamed
from fedrcd.statistics.frame import evenly_spaced, spacing
from fedrcd.statistics.order_statistics import Counted
from fedrcd.typing import Matrix, Vector

LEVELS = 10
"""Different values up to which those of a column are told."""

MOST_SAMPLED = 2_000_000
"""Values of sampled rows that are kept: 16 MB."""


class Survey(NamedTuple):
    """Of some rows: how many there are, how many lack no value; and of each column what is there.

    `low` and `high` are NaN where nothing is; `levels` has the different values of columns with few, a NaN among them
    where one is missing; `sample` has some thousand evenly spaced rows, where these could be told beforehand.
    """

    rows: int
    complete: int
    present: Vector
    low: Vector
    high: Vector
    first: Vector
    levels: Mapping[int, Vector]
    sample: Matrix | None

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """The columns that lack a value."""
        return np.asarray(self.present < self.rows)

    @property
    def counted(self) -> Counted:
        """As quantiles start from it."""
        empty = np.isnan(self.low)
        return Counted(self.present, np.where(empty, np.inf, self.low), np.where(empty, -np.inf, self.high))


def survey(rows: Rows) -> Survey:
    """What one pass tells of rows; takes none where it was told before."""
    return asked_once(rows, "survey", lambda: _surveyed(rows))


def sampled(rows: Rows) -> Matrix:
    """Some thousand evenly spaced rows."""
    found = survey(rows).sample
    return evenly_spaced(streamed(rows), count_rows(rows)) if found is None else found


def few_levels(rows: Rows, most: int) -> dict[str, Vector]:
    """The columns with at most so many different values, each with its values in order."""
    if most <= LEVELS:
        found: Mapping[int, Vector] = survey(rows).levels
    else:
        looked: dict[int, Vector] = {j: np.empty(0) for j in range(len(rows.columns))}
        for values, *_ in rows.chunks():
            look_at_levels(looked, values, most)
        found = looked
    return {rows.columns[j]: levels for j, levels in found.items() if len(levels) <= most}


def look_at_levels(found: dict[int, Vector], values: Matrix, most: int) -> None:
    """Take the values of further rows in, and leave out columns that have too many by now."""
    for j in list(found):
        if len(np.unique(values[:1000, j])) > most:
            del found[j]
            continue
        found[j] = np.union1d(found[j], values[:, j])
        if len(found[j]) > most:
            del found[j]


def _surveyed(rows: Rows) -> Survey:
    p = len(rows.columns)
    n, complete, present, first = 0, 0, np.zeros(p), np.full(p, np.nan)
    low, high = np.full(p, np.nan), np.full(p, np.nan)
    levels: dict[int, Vector] = {j: np.empty(0) for j in range(p)}
    step = spacing(rows.count or 0)
    keeps = rows.count is not None and rows.count // step * p <= MOST_SAMPLED
    taken: list[Matrix] = []
    for chunk in rows.chunks():
        values = chunk.values
        if not len(values):
            continue
        if not n:
            first = values[0].copy()
        if keeps:
            taken.append(values[-n % step :: step].copy())  # a view would keep the whole chunk in memory
        n += len(values)
        with np.errstate(invalid="ignore"):
            least, most = values.min(axis=0), values.max(axis=0)
        if np.isnan(least).any():
            present += len(values) - np.isnan(values).sum(axis=0)
            complete += int(is_complete(chunk).sum())
            least, most = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        else:
            present += len(values)
            complete += len(values)
        low, high = np.fmin(low, least), np.fmax(high, most)
        look_at_levels(levels, values, LEVELS)
    sample = np.concatenate([np.empty((0, p)), *taken]) if keeps else None
    return Survey(n, complete, present, low, high, first, levels, sample)
