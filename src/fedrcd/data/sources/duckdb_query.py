"""A query of DuckDB: of a database file, or of files that the query names."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrcd.data.sources.query import needs, one_statement, quoted, selecting
from fedrcd.errors import DataError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

CONFIGURATION: dict[str, Any] = {
    "autoinstall_known_extensions": "false",  # nothing is downloaded
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "preserve_insertion_order": "true",
}


class DuckDBQuery:
    """The rows that a query gives, of a file that is opened to be read only, in one snapshot.

    Parameters
    ----------
    path : str
        The database file; empty for none, where the query names files itself: `select * from 'rows/*.parquet'`.
    query : str
        One statement that gives rows.
    """

    count = None
    waits = True

    def __init__(self, path: str, query: str) -> None:
        self.name = f"duckdb:{Path(path).name}"
        self.query = one_statement(query, self.name)
        self._connection = self._connected(path)
        weakref.finalize(self, self._connection.close)

    def stamp(self) -> None:
        """A snapshot does not change."""

    def schema(self) -> pa.Schema:
        """What the query gives."""
        return self._reader(selecting(["*"], self.query) + " limit 0").schema

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """The query runs once for each pass."""
        import pyarrow as pa

        chosen = list(dict.fromkeys(columns))
        reader = self._reader(selecting([quoted(name) for name in chosen], self.query))
        try:
            yield from reader
        except (pa.ArrowException, OSError):
            raise DataError(f"the query of {self.name} failed half-way; run it in DuckDB to see why") from None

    def _reader(self, statement: str) -> Any:
        import duckdb
        import pyarrow as pa

        try:
            return pa.RecordBatchReader.from_stream(self._connection.cursor().sql(statement))
        except duckdb.Error as problem:  # its text may quote values
            kind = type(problem).__name__.removesuffix("Exception")
            raise DataError(f"the query of {self.name} failed ({kind} error); run it in DuckDB to see why") from None

    def _connected(self, path: str) -> Any:
        try:
            import duckdb
        except ImportError:
            raise needs("duckdb") from None
        if path and not Path(path).is_file():
            raise FileError(f"there is no file {path}")
        try:
            return duckdb.connect(path or ":memory:", read_only=bool(path), config=CONFIGURATION)
        except duckdb.Error:
            raise FileError(
                f"cannot open {path}: it is no DuckDB database, may not be read, or another process writes to it"
            ) from None
