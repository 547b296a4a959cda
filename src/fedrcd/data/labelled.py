"""Tables that say whose rows they hold: `fedrcd.Table`."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.read import read_arrow
from fedrcd.data.table import Table, as_table, check_table, from_array, from_arrow
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import Vector

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table with its site and the block its rows belong to.

    Parameters
    ----------
    data : DataFrame, Arrow table, array or path
        Rows are observations.
    site : str
        Name of the site.
    block : str
        Label of the block that all rows belong to; the site's name if empty. Sites that name the same block hold
        columns of the same rows.
    block_column : str
        Instead of one label, name of the column that holds each row's. Never a variable.
    id : str
        Name of the column that identifies rows. Never a variable, and it never leaves the site.
    """

    data: Any = field(repr=False)
    site: str
    block: str = ""
    block_column: str = ""
    id: str = ""


def open_tables(
    obj: Any, source: str, *, gaps: bool = False, codes: Sequence[float] = (), drop: Sequence[str] = ()
) -> list[Table]:
    """Checked tables, one per block, from a labelled table or from anything `as_table` takes.

    `codes` are values that stand for a missing one; `drop` names columns to leave out, whatever they hold.
    """
    left_out, missing = _require_names(drop), _require_numbers(codes)
    if isinstance(obj, LabelledTable):
        tables = _by_block(obj, source, left_out)
    elif isinstance(obj, str | os.PathLike):
        name = os.path.basename(obj)
        tables = [from_arrow(_as_arrow(obj, left_out, name), name)]
    elif isinstance(obj, np.ndarray):
        tables = [_without(from_array(obj, source), left_out)]
    elif isinstance(obj, Table):
        tables = [_without(obj, left_out)]
    elif left_out:
        tables = [from_arrow(_as_arrow(obj, left_out, source), source)]
    else:
        tables = [as_table(obj, source, gaps=True)]
    if len(missing):
        tables = [
            replace(table, values=np.where(np.isin(table.values, missing), np.nan, table.values)) for table in tables
        ]
    for table in tables:
        check_table(table, gaps=gaps)
    return tables


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
    _require_columns(drop, table.names, table.source)
    kept = [j for j, name in enumerate(table.names) if name not in drop]
    values = np.ascontiguousarray(table.values[:, kept])
    return replace(table, values=values, names=tuple(table.names[j] for j in kept))


def _by_block(labelled: LabelledTable, source: str, drop: Sequence[str] = ()) -> list[Table]:
    """The tables of a labelled one, one per block label, without its label columns."""
    whole = labelled.block or labelled.site
    if isinstance(labelled.data, np.ndarray):
        return [replace(_without(from_array(labelled.data, source), drop), site=labelled.site, block=whole)]
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
