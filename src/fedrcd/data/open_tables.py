"""Checked tables, one per block of rows, from whatever users give."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedrcd.data.rows import Converted, Rows
from fedrcd.data.sources.arrow_rows import ArrowRows
from fedrcd.data.sources.held import fetched, held
from fedrcd.data.sources.opening import require_columns, rows_of, source_of
from fedrcd.data.table import Table, check_table, from_array
from fedrcd.errors import ConfigError, DataError
from fedrcd.typing import Matrix, Vector


def open_tables(
    obj: Any, source: str, *, gaps: bool = False, codes: Sequence[float] = (), drop: Sequence[str] = ()
) -> list[Table]:
    """Checked tables, one per block, from a table with labels or from anything else that holds rows.

    `codes` are values that stand for a missing one; `drop` names columns to leave out, whatever they hold.
    """
    left_out, missing = _require_names(drop), _require_numbers(codes)
    if isinstance(obj, Table):
        tables = [_without(obj, left_out)] if obj.columns else _by_block(obj, source, left_out)
    elif isinstance(obj, np.ndarray):
        tables = [_without(from_array(obj, source), left_out)]
    elif isinstance(obj, Rows):
        tables = [_without(_of_rows(obj), left_out)]
    else:
        tables = [held(rows_of(obj, source, left_out))]
    if len(missing):
        tables = [_with_gaps(table, missing) for table in tables]
    for table in tables:
        check_table(table, gaps=gaps)
    return tables


def _of_rows(rows: Rows) -> Table:
    """Rows that lie elsewhere, as a table."""
    return Table(rows, columns=rows.columns, source=rows.source)


def _with_gaps(table: Table, codes: Vector) -> Table:
    """The table with a gap wherever a value stands for a missing one."""

    def change(values: Matrix) -> Matrix:
        return np.where(np.isin(values, codes), np.nan, values)

    if isinstance(table.data, np.ndarray):
        return replace(table, data=change(table.data))
    return replace(table, data=Converted(table.data, table.columns, change))


def _require_names(drop: Any) -> list[str]:
    """The columns to leave out, each once; a bare string would name one per letter."""
    if isinstance(drop, str):
        raise ConfigError(f"drop must be a list of column names; write drop=[{drop!r}]")
    if not isinstance(drop, Collection) or not all(isinstance(name, str) for name in drop):
        raise ConfigError(f"drop must be a list of column names, such as ['age', 'bmi'], got {drop!r}")
    return list(dict.fromkeys(drop))


def _require_numbers(codes: Any) -> Vector:
    """The values that stand for a missing one; text would equal no number and silently do nothing."""
    values = np.atleast_1d(codes)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise ConfigError(f"missing_codes must be a list of numbers, such as [-9], got {values.tolist()!r}")
    return values.astype(np.float64)


def _without(table: Table, drop: Sequence[str]) -> Table:
    """The table without some columns."""
    if not drop:
        return table
    require_columns(drop, table.columns, table.source)
    kept = [j for j, name in enumerate(table.columns) if name not in drop]
    names = tuple(table.columns[j] for j in kept)
    if isinstance(table.data, np.ndarray):
        return replace(table, data=np.ascontiguousarray(table.data[:, kept]), columns=names)
    return replace(table, data=Converted(table.data, names), columns=names)


def _by_block(labelled: Table, source: str, drop: Sequence[str] = ()) -> list[Table]:
    """The tables of one with labels, one per block label, without its label columns."""
    whole = labelled.block or labelled.site
    if isinstance(labelled.data, np.ndarray):
        return [replace(_without(from_array(labelled.data, source), drop), site=labelled.site, block=whole)]
    if isinstance(labelled.data, Rows):
        return [replace(_without(_of_rows(labelled.data), drop), site=labelled.site, block=whole)]
    place = source_of(labelled.data, source, drop)
    for what, name in (("id", labelled.id), ("block", labelled.block_column)):
        if name and name not in place.schema().names:
            raise DataError(f"{source} of site {labelled.site!r} has no {what} column {name!r}")
    rows = ArrowRows.of(place, drop=drop, id=labelled.id, label_column=labelled.block_column)
    if not labelled.block_column:
        return [replace(held(rows), site=labelled.site, block=whole)]
    texts = [name for name in (labelled.id, labelled.block_column) if name]
    rows = replace(rows, place=fetched(place, rows.columns, texts))
    return [replace(held(rows.with_label(label)), site=labelled.site, block=label) for label in rows.labels()]
