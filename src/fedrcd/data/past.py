"""Rows with a past: every row beside those of the steps of time before it, within one subject."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.data.series import Series
from fedrcd.data.table import Table
from fedrcd.errors import DataError
from fedrcd.graphs.past_names import past_names
from fedrcd.typing import BoolMatrix, IntVector

EVEN = 1e-6
"""Share of a step by which two steps of time may differ and count as equal."""

STRETCHES = 200
"""Stretches of time at most that stand for subjects where there is a single series."""

SHORTEST = 10
"""Times the steps that go back: the least length of such a stretch, for rows near each other are alike."""


@dataclass(frozen=True, slots=True)
class SeriesReport:
    """What became of the rows of one table: how many have a past, of how many series, and why others have none."""

    source: str
    rows: int
    series: int
    opening: int
    broken: int

    def __str__(self) -> str:
        left = [(self.opening, "open a series"), (self.broken, "follow a gap in time")]
        why = " and ".join(f"{number:,} {what}" for number, what in left if number)
        series = f"{self.series:,} series" if self.series > 1 else "one series"
        return f"{self.source}: {self.rows:,} rows of {series} have their past" + (f"; {why}" if why else "")


def with_past(several: Sequence[Series], lags: int, *, subjects: bool) -> tuple[list[Table], list[SeriesReport]]:
    """Tables whose rows go back so many steps, and what became of their rows.

    A row counts if all steps back are there, each as long as the step that is met most. Where there are `subjects`,
    they are the identifiers of the rows; else stretches of time are.
    """
    step = _common_step(several)
    tables, reports = [], []
    for one in several:
        kept, report = _with_past(one, lags, step)
        if not len(kept):
            raise DataError(
                f"{one.source}: no row has {lags} steps before it: the longest series has "
                f"{int(_run(~one.starts()).max(initial=-1)) + 1} rows; ask for fewer lags"
            )
        ids = tuple(one.subjects[k] for k in kept) if subjects else _stretches(one, kept, lags)
        tables.append(_table(one, kept, lags, ids))
        reports.append(report)
    return tables, reports


def site_with_past(several: Sequence[Series], federation: Federation) -> tuple[list[Table], list[SeriesReport]]:
    """As `with_past`, of the blocks of a site: steps are as long as the federation file says.

    Where subjects are protected, rows have their identifiers; where rows are, they have none, for each is part of
    several. A block may have no rows.
    """
    tables, reports = [], []
    for one in several:
        kept, report = _with_past(one, federation.lags, federation.step or None)
        ids = tuple(one.subjects[k] for k in kept) if federation.unit == "subject" else None
        tables.append(_table(one, kept, federation.lags, ids))
        reports.append(report)
    return tables, reports


def _common_step(several: Sequence[Series]) -> float | None:
    """The step of time, which must be the same in every table."""
    steps = [(one.source, one.step()) for one in several]
    known = [(source, step) for source, step in steps if step is not None]
    for source, step in known:
        if not math.isclose(step, known[0][1], rel_tol=EVEN):
            raise DataError(
                f"{known[0][0]} has a step of time of {known[0][1]:g} and {source} of {step:g}; measure in one step"
            )
    return known[0][1] if known else None


def _with_past(series: Series, lags: int, step: float | None) -> tuple[IntVector, SeriesReport]:
    """Which rows have all steps before them."""
    n, starts = len(series.values), series.starts()
    follows = ~starts
    if series.times is not None:
        steps = np.diff(series.times, prepend=np.nan)
        follows &= np.isclose(steps, step or 0.0, rtol=EVEN, atol=0.0)
    kept: IntVector = np.flatnonzero(_run(follows) >= lags)
    opening = int((_run(~starts) < lags).sum())
    name = f"block {series.block!r} of {series.source}" if series.block else series.source
    return kept, SeriesReport(name, len(kept), int(starts.sum()), opening, n - len(kept) - opening)


def _table(series: Series, kept: IntVector, lags: int, ids: tuple[str, ...] | None) -> Table:
    values = np.concatenate([series.values[kept - lag] for lag in range(lags + 1)], axis=1)
    p, still = len(series.columns), []
    if len(kept) > 1:
        still = [name for j, name in enumerate(series.columns) if np.array_equal(values[:, j], values[:, j + p])]
    if still:
        raise DataError(
            f"{series.source}: {still[0]!r} never changes within a series, so its past tells nothing; leave it out"
        )
    return Table(values, columns=past_names(series.columns, lags), source=series.source, ids=ids)


def _stretches(series: Series, kept: IntVector, lags: int) -> tuple[str, ...]:
    """Names of stretches of time, in place of subjects."""
    length = max(SHORTEST * (lags + 1), math.ceil(len(series.values) / STRETCHES))
    return tuple(f"{series.source} {k // length}" for k in kept)


def _run(follows: BoolMatrix) -> IntVector:
    """How many rows in a row follow one another up to each."""
    at = np.arange(len(follows))
    last: IntVector = np.maximum.accumulate(np.where(follows, -1, at))
    return at - last
