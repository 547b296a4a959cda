"""Columns of several tables brought into one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedrcd.data.names import columns
from fedrcd.data.rows import Converted
from fedrcd.data.table import Table
from fedrcd.errors import DataError


def align_tables(tables: Sequence[Table]) -> list[Table]:
    """Tables with their columns in the order of the first; one already in that order is not copied.

    Parameters
    ----------
    tables : sequence of Table
        At least one; all must have the same set of column names.

    Raises
    ------
    DataError
        When a table lacks columns of the first or has others; the message names both.
    """
    if not tables:
        raise DataError("no table was given; need at least one")
    first = tables[0]
    return [_aligned(table, first) for table in tables]


def _aligned(table: Table, first: Table) -> Table:
    if table.columns == first.columns:
        return table
    lacking = [name for name in first.columns if name not in table.columns]
    additional = [name for name in table.columns if name not in first.columns]
    if lacking or additional:
        faults = [f"lacks {columns(lacking)}"] * bool(lacking)
        faults += [f"has {columns(additional)} in addition"] * bool(additional)
        raise DataError(
            f"{table.source} {' and '.join(faults)}, compared with {first.source}; "
            "all tables must have the same columns"
        )
    if not isinstance(table.data, np.ndarray):
        return replace(table, data=Converted(table.data, first.columns), columns=first.columns)
    position = {name: j for j, name in enumerate(table.columns)}
    index = [position[name] for name in first.columns]
    return replace(table, data=np.take(table.values, index, axis=1), columns=first.columns)
