"""Tables that say whose rows they hold: `fedrcd.Table`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.read import read_arrow
from fedrcd.data.table import Table, as_table, check_table, from_arrow
from fedrcd.errors import DataError
from fedrcd.suggest import did_you_mean

if TYPE_CHECKING:
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
    if isinstance(obj, LabelledTable):
        tables = _by_block(obj, source, drop)
    elif isinstance(obj, str | os.PathLike):
        name = os.path.basename(obj)
        tables = [from_arrow(_without(read_arrow(obj), drop, name), name)]
    elif drop and not isinstance(obj, np.ndarray | Table):
        tables = [from_arrow(_without(_as_arrow(obj), drop, source), source)]
    else:
        tables = [as_table(obj, source, gaps=True)]
    if len(codes):
        tables = [
            replace(table, values=np.where(np.isin(table.values, codes), np.nan, table.values)) for table in tables
        ]
    for table in tables:
        check_table(table, gaps=gaps)
    return tables


def _without(arrow: pa.Table, drop: Sequence[str], source: str) -> pa.Table:
    """The table without some columns."""
    for name in drop:
        if name not in arrow.column_names:
            raise DataError(f"{source} has no column {name!r} to leave out{did_you_mean(name, arrow.column_names)}")
    return arrow.drop_columns(list(drop)) if drop else arrow


def _by_block(labelled: LabelledTable, source: str, drop: Sequence[str] = ()) -> list[Table]:
    """The tables of a labelled one, one per block label, without its label columns."""
    whole = labelled.block or labelled.site
    if isinstance(labelled.data, np.ndarray):
        return [replace(as_table(labelled.data, source, gaps=True), site=labelled.site, block=whole)]
    arrow = _without(_as_arrow(labelled.data), drop, source)
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


def _as_arrow(data: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data
    if isinstance(data, str | os.PathLike):
        return read_arrow(data)
    import pandas as pd  # a second that a site which reads a file saves

    if isinstance(data, pd.DataFrame):
        return pa.Table.from_pandas(data, preserve_index=False)
    return pa.table(data)
