"""Rows that another library holds in memory, or makes whenever it is asked: nothing is copied but a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fedrcd.data.sources.dask_rows import DaskFrame
from fedrcd.data.sources.source import ROWS_PER_BATCH, Source
from fedrcd.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class ArrowTable:
    """An Arrow table."""

    table: pa.Table = field(repr=False)
    name: str
    waits: bool = False

    @property
    def count(self) -> int:
        """Its rows."""
        return int(self.table.num_rows)

    def stamp(self) -> None:
        """It cannot tell."""

    def schema(self) -> pa.Schema:
        """Of the table."""
        return self.table.schema

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Views of the table."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=ROWS_PER_BATCH)


@dataclass(frozen=True, slots=True, eq=False)
class ArrowDataset:
    """A `pyarrow.dataset`: files, a selection of columns and rows that somebody else made."""

    dataset: Any = field(repr=False)
    name: str
    count: None = None
    waits: bool = True

    def stamp(self) -> None:
        """It cannot tell."""

    def schema(self) -> pa.Schema:
        """Of the dataset."""
        return self.dataset.schema

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Its batches, few of them ahead."""
        yield from self.dataset.to_batches(
            columns=list(columns), batch_size=ROWS_PER_BATCH, batch_readahead=2, fragment_readahead=1
        )


@dataclass(frozen=True, slots=True, eq=False)
class ArrowStream:
    """Whatever hands out an Arrow stream each time it is asked for one: relations of DuckDB, frames of polars."""

    exporter: Any = field(repr=False)
    name: str
    count: None = None
    waits: bool = False

    def stamp(self) -> None:
        """It cannot tell."""

    def schema(self) -> pa.Schema:
        """Of the stream."""
        return self._reader().schema

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """A stream of its own for each pass."""
        for batch in self._reader():
            yield batch.select(list(columns))

    def _reader(self) -> Any:
        import pyarrow as pa

        try:
            return pa.RecordBatchReader.from_stream(self.exporter)
        except (pa.ArrowException, ValueError):
            raise no_rows(self.exporter, self.name) from None  # a single column exports a stream, too


def source_in_memory(obj: Any, name: str) -> Source | None:
    """The source in an object of another library; None if it is none."""
    import sys

    import pyarrow as pa

    if isinstance(obj, Source):
        return obj
    if isinstance(obj, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([obj]), name)
    if isinstance(obj, pa.RecordBatchReader):  # gives its rows once
        return ArrowTable(obj.read_all(), name)
    if isinstance(obj, pa.Table):
        return ArrowTable(obj, name)
    dataset = sys.modules.get("pyarrow.dataset")  # whoever has one has loaded it
    if dataset is not None and isinstance(obj, dataset.Dataset):
        return ArrowDataset(obj, name)
    if hasattr(obj, "to_delayed") and hasattr(obj, "_meta"):
        return DaskFrame(obj, name)
    return ArrowStream(obj, name) if hasattr(obj, "__arrow_c_stream__") else None


def no_rows(obj: Any, name: str) -> DataError:
    """Something that is no table."""
    kind = type(obj).__name__
    return DataError(f"{name} must be a DataFrame, a 2-d array, an Arrow stream or a path, got {kind}")
