"""Rows with a past: every row beside those of the steps of time before it, within one subject.

A subject is whatever has a series of its own: a patient, a machine. A table without subjects is one series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.sources.arrow_rows import ArrowRows
from fedrcd.data.sources.held import fetched, held
from fedrcd.data.sources.opening import source_of
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

if TYPE_CHECKING:
    import pyarrow as pa

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


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The rows of one table, sorted by subject and time."""

    source: str
    columns: tuple[str, ...]
    values: Matrix
    subjects: tuple[str, ...]
    """Of each row; empty where nobody said."""
    times: Vector | None

    def starts(self) -> BoolMatrix:
        """Whether a row is the first of its subject, shape (n,)."""
        starts: BoolMatrix = np.arange(len(self.values)) == 0
        if self.subjects:
            whose = np.array(self.subjects)
            starts[1:] = whose[1:] != whose[:-1]
        return starts

    def step(self) -> float | None:
        """The step of time that is met most; None where rows have no time, or no subject has two."""
        if self.times is None:
            return None
        steps = np.diff(self.times)[~self.starts()[1:]]
        if not len(steps):
            return None
        met, how_often = np.unique(steps, return_counts=True)
        return float(met[np.argmax(how_often)])


def past_names(columns: Sequence[str], lags: int) -> tuple[str, ...]:
    """Names of the variables now, and of those of each step before."""
    return (*columns, *(f"{name}[t-{lag}]" for lag in range(1, lags + 1) for name in columns))


def with_past(several: Sequence[Series], lags: int, *, subjects: bool) -> tuple[list[Table], list[SeriesReport]]:
    """Tables whose rows go back so many steps, and what became of their rows.

    A row counts if all steps back are there, each as long as the step that is met most. Where there are `subjects`,
    they are the identifiers of the rows; else stretches of time are.
    """
    step = _common_step(several)
    tables, reports = [], []
    for one in several:
        table, report = _with_past(one, lags, step, subjects=subjects)
        tables.append(table)
        reports.append(report)
    return tables, reports


def read_series(obj: Any, label: str, *, time: str, subject: str, drop: Sequence[str] = ()) -> tuple[Series, Table]:
    """The rows of one table in order of time, and a table without rows that has its labels."""
    given = obj if isinstance(obj, Table) else Table(obj)
    if given.id or given.block_column:
        raise ConfigError("rows with a past belong to a subject: name the column by subject=..., and no id or block")
    if isinstance(given.data, np.ndarray):
        if time or subject:
            raise ConfigError(
                "an array has no columns of times and subjects; give a DataFrame, a file or an Arrow table"
            )
        from fedrcd.data.open_tables import open_tables

        (table,) = open_tables(given, label, gaps=True, drop=drop)
        return Series(label, table.columns, table.values, (), None), given
    place = source_of(given.data, label, drop)
    apart = [name for name in (time, subject) if name]
    names = place.schema().names
    for what, name in (("time", time), ("subject", subject)):
        if name and name not in names:
            raise ConfigError(f"{place.name} has no column {name!r} for {what}{did_you_mean(name, names)}")
    place = fetched(place, [name for name in names if name not in drop], [subject] if subject else [], math.inf)
    rows = ArrowRows.of(place, drop=apart)
    values = held(rows, math.inf).values
    batches = list(place.batches(apart, [subject] if subject else [])) if apart else []
    whose = tuple(str(one) for batch in batches for one in batch.column(subject).to_pylist()) if subject else ()
    times = [_times(batch.column(time), time, place.name) for batch in batches] if time else None
    when = None if times is None else np.concatenate([np.empty(0), *times])
    return _sorted(Series(place.name, rows.columns, values, whose, when)), given


def _times(column: pa.Array, name: str, source: str) -> Vector:
    """A column of times as numbers: seconds, days or whatever its unit is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    problem = DataError(
        f"{source}: column {name!r} does not hold times; write numbers, dates, or ISO 8601 as 2026-01-31"
    )
    if column.null_count:
        raise DataError(f"{source}: column {name!r} lacks a time in {column.null_count} rows; leave these rows out")
    kind = column.type
    if isinstance(column, pa.DictionaryArray):
        column, kind = column.dictionary_decode(), column.type.value_type
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = pc.cast(column, pa.timestamp("s"))
        elif pa.types.is_date(kind):
            column = pc.cast(column, pa.date32())
        if pa.types.is_date(column.type):
            column = pc.cast(column, pa.int32())
        elif pa.types.is_temporal(column.type):
            column = pc.cast(column, pa.int64())
        times: Vector = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # no time as ISO has it, or a type that is no time
        raise problem from None
    if not np.isfinite(times).all():
        raise problem
    return times


def _sorted(series: Series) -> Series:
    """The rows by subject, as these are met, and by time."""
    if not series.subjects and series.times is None:
        return series
    n = len(series.values)
    codes = np.zeros(n, dtype=np.int64)
    if series.subjects:
        number = {name: k for k, name in enumerate(dict.fromkeys(series.subjects))}
        codes = np.array([number[name] for name in series.subjects], dtype=np.int64)
    order = np.lexsort((np.arange(n) if series.times is None else series.times, codes))
    times = None if series.times is None else series.times[order]
    if times is not None:
        twins = int((np.diff(times) == 0)[np.diff(codes[order]) == 0].sum())
        if twins:
            whose = "of the same subject" if series.subjects else "of the table; name the column of subjects"
            raise DataError(
                f"{series.source}: {twins} rows have the time of another row {whose}; keep one row for each"
            )
    subjects = tuple(series.subjects[k] for k in order) if series.subjects else ()
    return Series(series.source, series.columns, series.values[order], subjects, times)


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


def _with_past(series: Series, lags: int, step: float | None, *, subjects: bool) -> tuple[Table, SeriesReport]:
    n, starts = len(series.values), series.starts()
    follows = ~starts
    if series.times is not None:
        steps = np.diff(series.times, prepend=np.nan)
        follows &= np.isclose(steps, step or 0.0, rtol=EVEN, atol=0.0)
    kept = np.flatnonzero(_run(follows) >= lags)
    opening = int((_run(~starts) < lags).sum())
    if not len(kept):
        raise DataError(
            f"{series.source}: no row has {lags} steps before it: the longest series has "
            f"{int(_run(~starts).max()) + 1} rows; ask for fewer lags"
        )
    values = np.concatenate([series.values[kept - lag] for lag in range(lags + 1)], axis=1)
    if subjects:
        ids = tuple(series.subjects[k] for k in kept)
    else:
        length = max(SHORTEST * (lags + 1), math.ceil(n / STRETCHES))
        ids = tuple(f"{series.source} {k // length}" for k in kept)
    table = Table(values, columns=past_names(series.columns, lags), source=series.source, ids=ids)
    return table, SeriesReport(series.source, len(kept), int(starts.sum()), opening, n - len(kept) - opening)


def _run(follows: BoolMatrix) -> IntVector:
    """How many rows in a row follow one another up to each."""
    at = np.arange(len(follows))
    last: IntVector = np.maximum.accumulate(np.where(follows, -1, at))
    return at - last
