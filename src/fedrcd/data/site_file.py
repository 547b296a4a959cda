"""The table of one site of a federation, in a file: a `Table` per block, and rows that meet a condition."""

from __future__ import annotations

import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.checks import check_values
from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.read import read_arrow
from fedrcd.data.table import Table, from_arrow
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import BoolMatrix

if TYPE_CHECKING:
    import pyarrow as pa

CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<relation>==|!=|<=|>=|<|>|=)\s*(?P<value>.+?)\s*")
RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def read_site(path: str | os.PathLike[str], federation: Federation, site: SiteEntry) -> list[Table]:
    """The declared columns of a site's file, a table per declared block, in the order of the federation file.

    Rows of blocks that the federation does not name are left alone. A block may have no rows.

    Raises
    ------
    FileError
        When the file cannot be read.
    DataError
        When columns or identifiers are not what the federation says, or values cannot be used.
    """
    return site_tables(read_arrow(path), federation, site, Path(path).name)


def site_tables(arrow: pa.Table, federation: Federation, site: SiteEntry, source: str) -> list[Table]:
    """As `read_site`, of an Arrow table."""
    labels = block_labels(arrow, federation, site, source)
    values = from_arrow(arrow.select(list(site.columns)), source).values
    ids = _ids(arrow, federation.id_column, source)
    tables = []
    for label in site.blocks:
        places = np.flatnonzero(labels == label)
        mine = None if ids is None else tuple(ids[k] for k in places.tolist())
        if mine is not None and federation.unit == "row" and len(set(mine)) < len(mine):
            times = max(Counter(mine).values())
            raise DataError(f"column {federation.id_column!r} of {source} names a row of block {label!r} {times} times")
        own = values if len(places) == len(values) else values[places]
        table = Table(own, site.name, label, columns=site.columns, source=source, ids=mine)
        if len(places):
            check_values(replace(table, source=f"block {label!r} of {source}"), gaps=True)
        tables.append(table)
    return tables


def require_same_rows(tables: Sequence[Table]) -> None:
    """Raise unless sites that share a block have as many rows of it."""
    first: dict[str, Table] = {}
    for table in tables:
        other = first.setdefault(table.block, table)
        if table.count != other.count:
            raise DataError(
                f"{other.source} has {other.count} rows of block {table.block!r} and {table.source} has {table.count}: "
                "sites that share a block hold columns of the same rows"
            )


def require_identified(tables: Sequence[Table]) -> None:
    """Raise unless rows can be told apart."""
    for table in tables:
        if not table.identified and table.count:
            raise DataError(
                f"{table.source} has no column that identifies rows: erased rows could not be told from others later; "
                "name it as id_column in the federation file, or erase whole blocks"
            )


def rows_matching(
    path: str | os.PathLike[str], federation: Federation, site: SiteEntry, conditions: Sequence[str]
) -> dict[str, set[str]]:
    """Identifiers of the rows of every block that meet all conditions, each "column relation value" on any column."""
    return matching(read_arrow(path), federation, site, conditions, Path(path).name)


def matching(
    arrow: pa.Table, federation: Federation, site: SiteEntry, conditions: Sequence[str], source: str
) -> dict[str, set[str]]:
    """As `rows_matching`, of an Arrow table."""
    labels = block_labels(arrow, federation, site, source)
    ids = _ids(arrow, federation.id_column, source)
    if ids is None:
        require_identified(site_tables(arrow, federation, site, source))
    chosen = np.ones(arrow.num_rows, dtype=bool)
    for condition in conditions:
        chosen &= _meeting(arrow, condition, source)
    return {label: {(ids or [])[k] for k in np.flatnonzero(chosen & (labels == label))} for label in site.blocks}


def block_labels(arrow: pa.Table, federation: Federation, site: SiteEntry, source: str) -> Any:
    """The block of every row of a site's table, which must have the declared columns."""
    for name in site.columns:
        if name not in arrow.column_names:
            raise DataError(f"{source} lacks column {name!r}, which the federation says site {site.name!r} holds")
    if federation.block_column in arrow.column_names:
        return np.array([str(label) for label in arrow[federation.block_column].to_pylist()], dtype=object)
    if len(site.blocks) > 1:
        raise DataError(f"{source} lacks the block column {federation.block_column!r}")
    return np.full(arrow.num_rows, site.blocks[0], dtype=object)


def _ids(arrow: pa.Table, column: str, source: str) -> list[str] | None:
    """Identifiers as texts, if there is a column of them."""
    if column not in arrow.column_names:
        return None
    found = arrow[column].to_pylist()
    if any(one is None for one in found):
        raise DataError(f"column {column!r} of {source} has a row without identifier")
    return [str(one) for one in found]


def _meeting(arrow: pa.Table, condition: str, source: str) -> BoolMatrix:
    """Which rows of a table meet a condition; missing values meet none."""
    parts = CONDITION.fullmatch(condition)
    if parts is None:
        raise ConfigError(f"--where {condition!r}: must be COLUMN RELATION VALUE with one of {', '.join(RELATIONS)}")
    name, value = parts["column"], parts["value"].strip("'\"")
    if name not in arrow.column_names:
        raise DataError(f"{source} has no column {name!r}{did_you_mean(name, arrow.column_names)}")
    relation = RELATIONS[parts["relation"]]
    column = arrow[name].to_pylist()
    number: float | None
    try:
        number = float(value)
    except ValueError:
        number = None
    numeric = all(one is None or isinstance(one, int | float) for one in column)
    if numeric and number is None:
        raise ConfigError(f"--where {condition!r}: column {name!r} holds numbers; compare it with one")
    wanted: Any = number if numeric else value
    return np.array([one is not None and bool(relation(one if numeric else str(one), wanted)) for one in column])
