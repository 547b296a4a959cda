"""One site's table as a living federation sees it: rows with their identifiers and blocks, whatever their number."""

from __future__ import annotations

import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.checks import check_values
from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.read import read_arrow
from fedrcd.data.table import from_arrow
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import BoolMatrix, IntVector, Matrix

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


@dataclass(frozen=True, eq=False)
class BlockRows:
    """The rows a site has of one block, in the order of its table.

    Parameters
    ----------
    values : (n, columns) array
        The site's columns in the order the federation lists them; NaN where a value is missing.
    ids : (n,) tuple of str, optional
        Which row it is; None where the table has no column for it.
    """

    values: Matrix = field(repr=False)
    ids: tuple[str, ...] | None = field(repr=False)

    def keep(self, kept: BoolMatrix) -> BlockRows:
        """Some of the rows."""
        ids = None if self.ids is None else tuple(one for one, stays in zip(self.ids, kept, strict=True) if stays)
        return BlockRows(self.values[kept], ids)


@dataclass(frozen=True, eq=False)
class SiteRows:
    """All blocks of a site, and the whole table for conditions on any of its columns."""

    source: str
    blocks: Mapping[str, BlockRows]
    places: Mapping[str, IntVector] = field(repr=False)
    """Rows of the table that make up each block."""
    arrow: pa.Table = field(repr=False)

    def require_ids(self) -> None:
        """Raise unless rows can be told apart."""
        if any(block.ids is None for block in self.blocks.values()):
            raise DataError(
                f"{self.source} has no column that identifies rows: erased rows could not be told from others later; "
                "name it as id_column in the federation file, or erase whole blocks"
            )

    def matching(self, conditions: Sequence[str]) -> dict[str, set[str]]:
        """Identifiers of the rows of every block that meet all conditions, each "column relation value"."""
        self.require_ids()
        chosen = np.ones(self.arrow.num_rows, dtype=bool)
        for condition in conditions:
            chosen &= _meeting(self.arrow, condition, self.source)
        found = {}
        for label, block in self.blocks.items():
            assert block.ids is not None
            mine = chosen[self.places[label]]
            found[label] = {one for one, meets in zip(block.ids, mine, strict=True) if meets}
        return found


def read_site_rows(path: str | os.PathLike[str], federation: Federation, site: SiteEntry) -> SiteRows:
    """The rows of a site in a file; unlike a first run, their number is not held against the federation file.

    Raises
    ------
    FileError
        When the file cannot be read.
    DataError
        When columns or identifiers are not what the federation says, or values cannot be used.
    """
    return site_rows(read_arrow(path), federation, site, Path(path).name)


def site_rows(arrow: pa.Table, federation: Federation, site: SiteEntry, source: str) -> SiteRows:
    """As `read_site_rows`, of an Arrow table."""
    labels = block_labels(arrow, federation, site, source)
    values = from_arrow(arrow.select(list(site.columns)), source).values
    ids = _ids(arrow, federation.id_column, source)
    blocks, places = {}, {}
    for label in site.blocks:
        places[label] = np.flatnonzero(labels == label).astype(np.int64)
        mine = None if ids is None else tuple(ids[k] for k in places[label].tolist())
        if mine is not None and len(set(mine)) < len(mine):
            times = max(Counter(mine).values())
            raise DataError(f"column {federation.id_column!r} of {source} names a row of block {label!r} {times} times")
        blocks[label] = BlockRows(values[places[label]], mine)
        if len(places[label]):
            check_values(blocks[label].values, site.columns, f"block {label!r} of {source}", gaps=True)
    return SiteRows(source, blocks, places, arrow)


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
