"""Numbers out of Arrow batches: the one class of rows that do not lie in an array.

Batches become chunks of float64 as they come, so no more than a few of them are in memory, whatever the number of rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fedrcd.data.names import check_names
from fedrcd.data.rows import ROWS_PER_CHUNK, Chunk, Spread
from fedrcd.data.sources.kinds import is_number
from fedrcd.data.sources.source import Source, SpreadSource
from fedrcd.errors import DataError
from fedrcd.passes import Meter
from fedrcd.typing import BoolMatrix, Matrix

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

BATCHES_AHEAD = 2
"""Batches that are read while others are in work."""

ROWS_AT_ONCE = 1024
"""Rows whose columns are laid side by side at a time: as many as fit into the cache of a processor."""


@dataclass(slots=True)
class Passes:
    """What is known of a source after it was read: rows and stamp of the first pass, how many there were, and more."""

    done: int = 0
    rows: int | None = None
    stamp: object = None
    told: dict[object, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ArrowRows:
    """Rows of a source: some of its columns, and if one is named that holds labels, the rows with one of them."""

    place: Source = field(repr=False)
    columns: tuple[str, ...]
    id: str = ""
    label_column: str = ""
    label: str = ""
    known: Passes = field(default_factory=Passes, repr=False)

    @classmethod
    def of(cls, place: Source, *, drop: Sequence[str] = (), id: str = "", label_column: str = "") -> ArrowRows:  # noqa: A002 - as in `Table`
        """All rows, with all columns but some; whatever cannot be a variable is refused."""
        schema = place.schema()
        check_names(schema.names, place.name)
        columns = tuple(name for name in schema.names if name not in {*drop, id, label_column})
        for name in columns:
            require_number(schema.field(name).type, name, place.name)
        return cls(place, columns, id, label_column)

    @property
    def source(self) -> str:
        """What messages call it."""
        return self.place.name

    @property
    def identified(self) -> bool:
        """Whether a column identifies rows."""
        return bool(self.id)

    @property
    def told(self) -> dict[object, Any]:
        """What passes told."""
        return self.known.told

    @property
    def count(self) -> int | None:
        """How many rows there are, if the source tells or a pass did."""
        return self.known.rows if self.label_column or self.place.count is None else self.place.count

    def with_label(self, label: str) -> ArrowRows:
        """Those of the rows that have one label."""
        return replace(self, label=label, known=Passes())

    def labels(self) -> list[str]:
        """All labels, as they are met; takes a pass."""
        found: dict[str, None] = {}
        for batch in self.place.batches([self.label_column], texts=[self.label_column]):
            found |= dict.fromkeys(_texts(batch.column(self.label_column).unique()))
        return list(found)

    def spread(self) -> Spread | None:
        """By the parts of the source, if a cluster reads it."""
        if not isinstance(self.place, SpreadSource):
            return None
        parts = [replace(self, place=part, known=Passes()) for part in self.place.parts()]
        return Spread(parts, self.place.cluster.add_up)

    def chunks(self) -> Iterator[Chunk]:
        """All rows, a batch at a time."""
        known = self.known
        meter = Meter(self.source, known.done + 1, self.count)
        if known.stamp is None:
            known.stamp = self.place.stamp()
        self._require_unchanged()
        for chunk in self._read():
            meter.add(len(chunk.values))
            yield chunk
        if known.rows is None:
            known.rows = meter.rows
        self._require_unchanged(meter.rows)
        known.done += 1

    def _require_unchanged(self, rows: int | None = None) -> None:
        """Refuse rows of which others were read before: what is summed in one pass must be what was seen in another."""
        known = self.known
        if self.place.stamp() != known.stamp or rows not in (None, known.rows):
            raise DataError(
                f"{self.source} changed while it was read; run again once nobody writes to it, or on a copy"
            )

    def _read(self) -> Iterator[Chunk]:
        texts = list(dict.fromkeys(filter(None, (self.id, self.label_column))))
        batches = self.place.batches([*self.columns, *(name for name in texts if name not in self.columns)], texts)
        chunks: Any = (chunk for batch in batches for chunk in self._chunks_of(batch))
        return ahead(chunks, BATCHES_AHEAD) if self.place.waits else chunks

    def _chunks_of(self, batch: pa.RecordBatch) -> Iterator[Chunk]:
        """The rows of a batch, which may be of any size."""
        for first in range(0, batch.num_rows, ROWS_PER_CHUNK):
            part = batch.slice(first, ROWS_PER_CHUNK)
            values = as_matrix(part, self.columns, self.source)
            ids = None if not self.id else _identifiers(part.column(self.id), self.id, self.source)
            chunk = Chunk(values, ids)
            if self.label_column:
                chunk = chunk.keep(self._labelled(part))
            if len(chunk.values):
                yield chunk

    def _labelled(self, batch: pa.RecordBatch) -> BoolMatrix:
        """Which rows have the label."""
        labels = batch.column(self.label_column).dictionary_encode()
        wanted = np.array([one == self.label for one in _texts(labels.dictionary)] + [self.label == "None"])
        codes = labels.indices.fill_null(len(wanted) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(wanted[codes], dtype=bool)


def as_matrix(batch: pa.RecordBatch, columns: Sequence[str], source: str) -> Matrix:
    """Columns of a batch side by side, float64, shape (n, p); missing values become NaN."""
    import pyarrow as pa

    parts = []
    for name in columns:
        column = batch.column(name)
        require_number(column.type, name, source)
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        parts.append(column.to_numpy(zero_copy_only=False) if column.null_count else np.from_dlpack(column))
    values = np.empty((batch.num_rows, len(columns)))
    for first in range(0, batch.num_rows, ROWS_AT_ONCE):
        last = first + ROWS_AT_ONCE
        for j, part in enumerate(parts):
            values[first:last, j] = part[first:last]
    return values


def require_number(kind: pa.DataType, name: str, source: str) -> None:
    """Refuse a column whose type does not convert to float64."""
    if not is_number(kind):
        raise not_numeric(name, source)


def not_numeric(name: str, source: str) -> DataError:
    """A column that cannot be a variable."""
    return DataError(f"column {name!r} of {source} does not hold real numbers; encode it as numbers or leave it out")


def ahead(items: Generator[T], number: int) -> Iterator[T]:
    """The items in order, some of them made in another thread before they are asked for."""
    end: Any = object()
    with closing(items), ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[T]] = deque(pool.submit(next, items, end) for _ in range(number))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, items, end))
            yield item


def _texts(column: pa.Array) -> list[str]:
    return [str(one) for one in column.to_pylist()]


def _identifiers(column: pa.Array, name: str, source: str) -> list[str]:
    """Identifiers as texts, every row with one."""
    found = column.to_pylist()
    if any(one is None or one == "" for one in found):
        raise DataError(f"column {name!r} of {source} has a row without identifier")
    return found if all(type(one) is str for one in found[:1]) else [str(one) for one in found]
