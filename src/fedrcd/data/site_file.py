"""The table of one site of a federation, in a file: a `Table` per block, and rows that meet a condition."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.checks import check_values
from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.past import SeriesReport, site_with_past
from fedrcd.data.repeated import most_repeated
from fedrcd.data.rows import count_rows
from fedrcd.data.series import series_of_site
from fedrcd.data.sources.address import source_at
from fedrcd.data.sources.arrow_rows import ArrowRows, require_number
from fedrcd.data.sources.held import fetched, held
from fedrcd.data.sources.source import Source
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean

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


def read_site(
    address: str | os.PathLike[str], federation: Federation, site: SiteEntry, *, query: str = ""
) -> list[Table]:
    """The declared columns of a site's rows, a table per declared block, in the order of the federation file.

    Rows of blocks that the federation does not name are left alone. A block may have no rows.

    Raises
    ------
    FileError
        When the rows cannot be read.
    DataError
        When columns or identifiers are not what the federation says, or values cannot be used.
    """
    return site_tables(source_at(address, query), federation, site)


def site_tables(place: Source, federation: Federation, site: SiteEntry) -> list[Table]:
    """As `read_site`, of a source."""
    if federation.lags:
        return past_of_site(place, federation, site)[0]
    rows = site_rows(place, federation, site)
    tables = []
    for label in site.blocks:
        own = rows.with_label(label) if rows.label_column else rows
        table = replace(held(own), site=site.name, block=label)
        if rows.identified and federation.unit == "row":
            times = most_repeated(chunk.ids or () for chunk in table.chunks())
            if times > 1:
                raise DataError(
                    f"column {federation.id_column!r} of {place.name} names a row of block {label!r} {times} times"
                )
        if count_rows(table):
            check_values(replace(table, source=f"block {label!r} of {place.name}"), gaps=True)
        tables.append(table)
    return tables


def past_of_site(place: Source, federation: Federation, site: SiteEntry) -> tuple[list[Table], list[SeriesReport]]:
    """A table per block, of rows beside those of the steps before them, and what became of the rows of each."""
    names = place.schema().names
    _require_declared(names, federation, site, place.name)
    for name in federation.measured(site):
        require_number(place.schema().field(name).type, name, place.name)
    formed, reports = site_with_past(series_of_site(place, federation, site), federation)
    tables = []
    for block, one in zip(site.blocks, formed, strict=True):
        if count_rows(one):
            check_values(replace(one, source=f"block {block!r} of {place.name}"), gaps=True)
        tables.append(replace(one, site=site.name, block=block))
    return tables, reports


def site_rows(place: Source, federation: Federation, site: SiteEntry) -> ArrowRows:
    """The declared columns of a site's rows, with what identifies and labels them."""
    names = place.schema().names
    _require_declared(names, federation, site, place.name)
    texts = [name for name in (federation.id_column, federation.block_column) if name in names]
    columns = federation.measured(site)
    for name in columns:
        require_number(place.schema().field(name).type, name, place.name)
    near = fetched(place, columns, texts)
    identified, labelled = (name if name in texts else "" for name in (federation.id_column, federation.block_column))
    return ArrowRows(near, columns, identified, labelled)


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
    address: str | os.PathLike[str],
    federation: Federation,
    site: SiteEntry,
    conditions: Sequence[str],
    *,
    query: str = "",
) -> dict[str, set[str]]:
    """Identifiers of the rows of every block that meet all conditions, each "column relation value" on any column."""
    return matching(source_at(address, query), federation, site, conditions)


def matching(place: Source, federation: Federation, site: SiteEntry, conditions: Sequence[str]) -> dict[str, set[str]]:
    """As `rows_matching`, of a source."""
    import pyarrow as pa

    schema = place.schema()
    _require_declared(schema.names, federation, site, place.name)
    if federation.id_column not in schema.names:
        require_identified(site_tables(place, federation, site))
        return {label: set() for label in site.blocks}  # there are no rows
    tests = [_condition(condition, schema, place.name) for condition in conditions]
    labels = federation.block_column if federation.block_column in schema.names else ""
    texts = [name for name in (federation.id_column, labels) if name in schema.names]
    found: dict[str, set[str]] = {label: set() for label in site.blocks}
    for batch in place.batches(list(dict.fromkeys([*texts, *(column for column, _ in tests)])), texts):
        chosen = np.ones(batch.num_rows, dtype=bool)
        for column, test in tests:
            chosen &= np.array([one is not None and test(one) for one in batch.column(column).to_pylist()], dtype=bool)
        part = batch.filter(pa.array(chosen))
        blocks = part.column(labels).to_pylist() if labels else [site.blocks[0]] * part.num_rows
        for block, one in zip(blocks, part.column(federation.id_column).to_pylist(), strict=True):
            if str(block) in found:
                found[str(block)].add(str(one))
    return found


def _require_declared(names: Sequence[str], federation: Federation, site: SiteEntry, source: str) -> None:
    """Refuse a table without the declared columns, or without labels where there are several blocks."""
    for name in federation.measured(site):
        if name not in names:
            raise DataError(f"{source} lacks column {name!r}, which the federation says site {site.name!r} holds")
    if federation.block_column not in names and len(site.blocks) > 1:
        raise DataError(f"{source} lacks the block column {federation.block_column!r}")


def _condition(condition: str, schema: pa.Schema, source: str) -> tuple[str, Callable[[Any], bool]]:
    """The column that a condition is on, and whether one of its values meets it; missing values meet none."""
    from pyarrow import types

    parts = CONDITION.fullmatch(condition)
    if parts is None:
        raise ConfigError(f"--where {condition!r}: must be COLUMN RELATION VALUE with one of {', '.join(RELATIONS)}")
    name, value = parts["column"], parts["value"].strip("'\"")
    if name not in schema.names:
        raise DataError(f"{source} has no column {name!r}{did_you_mean(name, schema.names)}")
    relation = RELATIONS[parts["relation"]]
    kind = schema.field(name).type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)):
        return name, lambda one: bool(relation(str(one), value))
    try:
        number = float(value)
    except ValueError:
        raise ConfigError(f"--where {condition!r}: column {name!r} holds numbers; compare it with one") from None
    return name, lambda one: bool(relation(float(one) if isinstance(one, str) else one, number))
