"""Checked tables, one per block of rows, from whatever users give."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.read import read_arrow
from fedrcd.data.rows import Converted, Rows
from fedrcd.data.table import Table, as_table, check_table, from_array, from_arrow
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import Matrix, Vector

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def open_tables(
    obj: Any, source: str, *, gaps: bool = False, codes: Sequence[float] = (), drop: Sequence[str] = ()
) -> list[Table]:
    """Checked tables, one per block, from a table with labels or from anything else that holds rows.

    `codes` are values that stand for a missing one; `drop` names columns to leave out, whatever they hold.
    """
    left_out, missing = _require_names(drop), _require_numbers(codes)
    if isinstance(obj, Table):
        tables = [_without(obj, left_out)] if obj.columns else _by_block(obj, source, left_out)
    elif isinstance(obj, str | os.PathLike):
        name = os.path.basename(obj)
        tables = [from_arrow(_as_arrow(obj, left_out, name), name)]
    elif isinstance(obj, np.ndarray):
        tables = [_without(from_array(obj, source), left_out)]
    elif isinstance(obj, Rows):
        tables = [_without(_of_rows(obj), left_out)]
    elif left_out:
        tables = [from_arrow(_as_arrow(obj, left_out, source), source)]
    else:
        tables = [as_table(obj, source, gaps=True)]
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


def _require_columns(drop: Sequence[str], names: Sequence[str], source: str) -> None:
    for name in drop:
        if name not in names:
            raise DataError(f"{source} has no column {name!r} to leave out{did_you_mean(name, names)}")


def _without(table: Table, drop: Sequence[str]) -> Table:
    """The table without some columns."""
    if not drop:
        return table
    _require_columns(drop, table.columns, table.source)
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
    arrow = _as_arrow(labelled.data, drop, source)
    for what, name in (("id", labelled.id), ("block", labelled.block_column)):
        if name and name not in arrow.column_names:
            raise DataError(f"{source} of site {labelled.site!r} has no {what} column {name!r}")
    ids: tuple[str, ...] | None = None
    if labelled.id:
        ids = tuple(str(one) for one in arrow[labelled.id].to_pylist())
        arrow = arrow.drop_columns([labelled.id])
    if not labelled.block_column:
        return [replace(from_arrow(arrow, source), site=labelled.site, block=whole, ids=ids)]
    labels = np.array([str(label) for label in arrow[labelled.block_column].to_pylist()])
    arrow = arrow.drop_columns([labelled.block_column])
    return [
        replace(
            from_arrow(arrow.filter(labels == label), source),
            site=labelled.site,
            block=label,
            ids=None if ids is None else tuple(np.array(ids)[labels == label].tolist()),
        )
        for label in dict.fromkeys(labels.tolist())
    ]


def _as_arrow(data: Any, drop: Sequence[str], source: str) -> pa.Table:
    """Columns of a path, a frame or an Arrow table but some."""
    import pyarrow as pa

    if isinstance(data, str | os.PathLike):
        arrow = read_arrow(data)
    elif isinstance(data, pa.Table):
        arrow = data
    else:
        import pandas as pd  # a second that a site which reads a file saves

        if isinstance(data, pd.DataFrame):
            return pa.Table.from_pandas(_frame_without(data, drop, source), preserve_index=False)
        arrow = pa.table(data)
    _require_columns(drop, arrow.column_names, source)
    return arrow.drop_columns(list(drop)) if drop else arrow


def _frame_without(frame: pd.DataFrame, drop: Sequence[str], source: str) -> pd.DataFrame:
    """The frame without some columns, which may hold what Arrow does not know."""
    names = [str(label) for label in frame.columns]
    _require_columns(drop, names, source)
    return frame.loc[:, [name not in drop for name in names]]
