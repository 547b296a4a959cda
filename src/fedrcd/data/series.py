"""Rows in order of time: whose they are, when they were, and the columns measured; from tables, files and sites.

A subject is whatever has a series of its own: a patient, a machine. A table without subjects is one series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.sources.arrow_rows import ArrowRows, as_matrix
from fedrcd.data.sources.held import fetched, held
from fedrcd.data.sources.opening import source_of
from fedrcd.data.sources.source import Source
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import BoolMatrix, Matrix, Vector

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The rows of one table, sorted by subject and time."""

    source: str
    columns: tuple[str, ...]
    values: Matrix
    subjects: tuple[str, ...]
    """Of each row; empty where nobody said."""
    times: Vector | None
    block: str = ""

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
        _require_column(name, names, what, place.name)
    place = fetched(place, [name for name in names if name not in drop], [subject] if subject else [], math.inf)
    rows = ArrowRows.of(place, drop=apart)
    values = held(rows, math.inf).values
    batches = list(place.batches(apart, [subject] if subject else [])) if apart else []
    whose = tuple(one for batch in batches for one in _whose(batch, subject, place.name))
    when = _when(batches, time, place.name)
    return _sorted(Series(place.name, rows.columns, values, whose, when)), given


def series_of_site(place: Source, federation: Federation, site: SiteEntry) -> list[Series]:
    """The rows of each block of a site in order of time, as a federation file declares them."""
    names, columns = place.schema().names, federation.measured(site)
    time, subject = federation.time_column, federation.subject_column
    if federation.unit == "subject":
        subject = federation.id_column
    for key, name in (("time_column", time), ("whose a row is", subject)):
        _require_column(name, names, key, place.name)
    labels = federation.block_column if federation.block_column in names else ""
    texts = list(filter(None, (subject, labels)))
    batches = list(place.batches(list(dict.fromkeys([*columns, *filter(None, [time]), *texts])), texts))
    values = np.concatenate([np.empty((0, len(columns))), *(as_matrix(one, columns, place.name) for one in batches)])
    whose = np.array([one for batch in batches for one in _whose(batch, subject, place.name)], dtype=object)
    when = _when(batches, time, place.name)
    of = np.array([str(one) for batch in batches for one in batch.column(labels).to_pylist()] if labels else [])
    found = []
    for block in site.blocks:
        own = of == block if labels else np.ones(len(values), dtype=bool)
        mine = tuple(whose[own].tolist()) if subject else ()
        times = None if when is None else when[own]
        found.append(_sorted(Series(place.name, columns, values[own], mine, times, block)))
    _require_one_block(found)
    return found


def require_apart(several: Sequence[Series]) -> None:
    """Refuse a subject whose rows lie in two tables: its steps would be torn."""
    met: dict[str, str] = {}
    for series in several:
        shared = [
            name for name in dict.fromkeys(series.subjects) if met.setdefault(name, series.source) != series.source
        ]
        if shared:
            raise DataError(
                f"{len(shared)} subjects are in {met[shared[0]]} and in {series.source}; a series lies in one table; "
                "give different subjects different names"
            )


def _require_one_block(several: Sequence[Series]) -> None:
    """The same for blocks of a site."""
    named = [replace(one, source=f"block {one.block!r}") for one in several]
    require_apart(named)


def _require_column(name: str, names: Sequence[str], what: str, source: str) -> None:
    if name and name not in names:
        raise ConfigError(f"{source} has no column {name!r} for {what}{did_you_mean(name, names)}")


def _whose(batch: pa.RecordBatch, subject: str, source: str) -> list[str]:
    """Whose the rows of a batch are; nobody's where no column says."""
    if not subject:
        return []
    found = batch.column(subject).to_pylist()
    lacking = sum(one is None or one == "" for one in found)
    if lacking:
        raise DataError(f"{source}: column {subject!r} lacks a subject in {lacking} rows; leave these rows out")
    return [str(one) for one in found]


def _when(batches: Sequence[pa.RecordBatch], time: str, source: str) -> Vector | None:
    """When the rows of batches were; None where no column says."""
    if not time:
        return None
    return np.concatenate([np.empty(0), *(_times(batch.column(time), time, source) for batch in batches)])


def _times(column: pa.Array, name: str, source: str) -> Vector:
    """A column of times as numbers: days for dates, seconds for times of day, or whatever the unit of numbers is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    problem = DataError(
        f"{source}: column {name!r} does not hold times; write numbers, dates, or ISO 8601 as 2026-01-31"
    )
    if column.null_count:
        raise DataError(f"{source}: column {name!r} lacks a time in {column.null_count} rows; leave these rows out")
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    unit = 1.0
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = pc.cast(column, pa.timestamp("s"))
        if pa.types.is_date(column.type):
            column = pc.cast(pc.cast(column, pa.date32()), pa.int32())
        elif pa.types.is_timestamp(column.type):
            column, unit = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64()), 1e6
        elif pa.types.is_temporal(column.type):
            column = pc.cast(column, pa.int64())
        times: Vector = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False) / unit
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
    return replace(series, values=series.values[order], subjects=subjects, times=times)
