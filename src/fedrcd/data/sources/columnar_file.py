"""Parquet and Arrow files, read some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrcd.data.sources.faults import DAMAGED, file_stamp, reason
from fedrcd.data.sources.source import ROWS_PER_BATCH
from fedrcd.errors import FileError

if TYPE_CHECKING:
    import pyarrow as pa

BYTES_PER_COLUMN = 1 << 18
"""Of a Parquet file that are read at a time: a row group need not fit into memory."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Errors of a file, without a word of its content."""
    import pyarrow as pa

    try:
        yield
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
    except (pa.ArrowException, UnicodeDecodeError, ValueError, KeyError):
        raise FileError(f"cannot read {path}: {DAMAGED}") from None


@dataclass(frozen=True, slots=True, eq=False)
class ParquetFile:
    """A Parquet file; the row labels that pandas stores beside the columns are no columns."""

    path: Path = field(repr=False)
    name: str
    waits: bool = True

    @property
    def count(self) -> int:
        """As its footer says."""
        with told(self.path), self._opened() as file:
            return int(file.metadata.num_rows)

    def stamp(self) -> object:
        """When it was written, and its size."""
        return file_stamp(self.path)

    def schema(self) -> pa.Schema:
        """As its footer says."""
        with told(self.path), self._opened() as file:
            schema = file.schema_arrow
        labels = (schema.pandas_metadata or {"index_columns": []})["index_columns"]
        for label in labels:
            if isinstance(label, str):
                schema = schema.remove(schema.get_field_index(label))
        return schema

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """The chosen columns alone are read."""
        with told(self.path), self._opened() as file:
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=list(columns)):
                yield batch.select(list(columns))

    def _opened(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self.path, buffer_size=BYTES_PER_COLUMN, pre_buffer=False)


@dataclass(frozen=True, slots=True, eq=False)
class ArrowFile:
    """An Arrow file, also called Feather; what is not compressed is not copied."""

    path: Path = field(repr=False)
    name: str
    waits: bool = True
    count: None = None

    def stamp(self) -> object:
        """When it was written, and its size."""
        return file_stamp(self.path)

    def schema(self) -> pa.Schema:
        """As it says."""
        with told(self.path), self._opened() as file:
            return file.schema

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """The batches that were written."""
        with told(self.path), self._opened() as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number).select(list(columns))

    def _opened(self) -> Any:
        import pyarrow as pa

        return pa.ipc.open_file(pa.memory_map(str(self.path)))
