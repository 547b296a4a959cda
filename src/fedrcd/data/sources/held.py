"""Rows that are kept in memory once they were read, if they are few; of many, only the way to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedrcd.data.rows import Chunk, Rows, spread_of
from fedrcd.data.sources.in_memory import ArrowTable
from fedrcd.data.sources.source import Source, SpreadSource
from fedrcd.data.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

HELD = 4_000_000
"""Values of a source that are kept in memory: 32 MB."""


def held(rows: Rows, limit: float | None = None) -> Table:
    """A table over rows: with their values in memory if there are at most `limit`, by default `HELD`."""
    limit = HELD if limit is None else limit
    table = Table(rows, columns=rows.columns, source=rows.source)
    p = max(len(rows.columns), 1)
    if spread_of(rows) is not None:
        return table
    if rows.count is not None and rows.count * p > limit:
        return table
    chunks: list[Chunk] = []
    values = 0
    for chunk in rows.chunks():
        chunks.append(chunk)
        values += chunk.values.size
        if values > limit:
            return table
    together = np.concatenate([np.empty((0, len(rows.columns))), *(chunk.values for chunk in chunks)])
    ids = tuple(one for chunk in chunks for one in chunk.ids or ()) if rows.identified else None
    return Table(together, columns=rows.columns, source=rows.source, ids=ids)


def fetched(place: Source, columns: Sequence[str], texts: Sequence[str], limit: float | None = None) -> Source:
    """A source with some columns of another: in memory, if there are at most `limit` values, by default `HELD`."""
    import pyarrow as pa

    limit = HELD if limit is None else limit
    wanted = list(dict.fromkeys([*columns, *texts]))
    if isinstance(place, SpreadSource):
        return place
    if place.count is not None and place.count * len(wanted) > limit:
        return place
    batches: list[pa.RecordBatch] = []
    values = 0
    for batch in place.batches(wanted, texts):
        batches.append(batch.select(wanted))
        values += batch.num_rows * len(wanted)
        if values > limit:
            return place
    if not batches:
        return ArrowTable(place.schema().empty_table().select(wanted), place.name)
    return ArrowTable(pa.Table.from_batches(_of_one_type(batches)), place.name)


def _of_one_type(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Batches with the types of the first; files of one folder may have whole numbers and fractions."""
    schema = batches[0].schema
    if all(batch.schema.equals(schema) for batch in batches):
        return batches
    import pyarrow as pa

    unified = pa.unify_schemas([batch.schema.remove_metadata() for batch in batches], promote_options="permissive")
    return [batch.cast(unified) for batch in batches]
