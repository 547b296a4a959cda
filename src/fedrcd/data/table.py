"""One site's rows as the rest of the package knows them: numbers, names and where they came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from fedrcd.data.checks import check_values
from fedrcd.data.names import check_names, default_names
from fedrcd.data.rows import ROWS_PER_CHUNK, Chunk, Keep, Rows, Selected, Spread, count_rows, is_complete, spread_of
from fedrcd.data.survey import survey
from fedrcd.errors import DataError
from fedrcd.typing import BoolMatrix, IntVector, Matrix


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of one site, with the block they belong to: `fedrcd.Table`.

    Parameters
    ----------
    data : array, DataFrame, Arrow stream, path or Rows
        Rows are observations. Whatever exports an Arrow stream counts as one, and a path may be that of a folder. Not
        part of the `repr`: rows do not belong in logs.
    site : str
        Name of the site; empty where nobody said.
    block : str
        Label of the block that all rows belong to; the site's name if empty. Sites that name the same block hold
        columns of the same rows.
    block_column : str
        Instead of one label, name of the column that holds each row's. Never a variable.
    id : str
        Name of the column that identifies rows. Never a variable, and it never leaves the site.
    columns : tuple of str
        Name of each column of an array; of other data they are read.
    source : str
        What messages call this table: a file name, or "table 2".
    ids : tuple of str, optional
        Identifier of each row of an array.
    """

    data: Any = field(repr=False)
    site: str = ""
    block: str = ""
    block_column: str = ""
    id: str = ""
    _: KW_ONLY
    columns: tuple[str, ...] = ()
    source: str = ""
    ids: tuple[str, ...] | None = field(repr=False, default=None)
    places: IntVector | None = field(repr=False, default=None)
    """Where the rows of an array were in the table they were taken from, if not in this one."""

    @property
    def values(self) -> Matrix:
        """All rows, float64, shape (n, p); not copied where they lie in memory already."""
        if isinstance(self.data, np.ndarray):
            return self.data
        parts = [chunk.values for chunk in self.chunks()]
        return np.concatenate(parts) if parts else np.empty((0, len(self.columns)))

    @property
    def count(self) -> int | None:
        """How many rows there are."""
        return len(self.data) if isinstance(self.data, np.ndarray) else self._rows().count

    @property
    def identified(self) -> bool:
        """Whether rows have identifiers."""
        return self.ids is not None or (not isinstance(self.data, np.ndarray) and self._rows().identified)

    @property
    def told(self) -> dict[object, Any] | None:
        """What passes over rows that lie elsewhere told, where they keep it."""
        return None if isinstance(self.data, np.ndarray) else getattr(self.data, "told", None)

    def chunks(self) -> Iterator[Chunk]:
        """All rows, some at a time."""
        if not isinstance(self.data, np.ndarray):
            yield from self._rows().chunks()
            return
        for first in range(0, len(self.data), ROWS_PER_CHUNK):
            last = min(first + ROWS_PER_CHUNK, len(self.data))
            places = np.arange(first, last) if self.places is None else self.places[first:last]
            yield Chunk(self.data[first:last], None if self.ids is None else self.ids[first:last], places)

    def spread(self) -> Spread | None:
        """How the rows are spread over a cluster, if they are."""
        behind = spread_of(self.data)
        return behind and behind.through(lambda part: replace(self, data=part))

    def select(self, stays: Keep, *, by_values: bool = False) -> Table:
        """The rows that stay, which keep their labels; itself if all do. Takes a pass, unless it is known.

        `by_values` says that neither places nor identifiers decide.
        """
        if not isinstance(self.data, np.ndarray):
            if stays is is_complete:
                found = survey(self)
                kept, all_stay, by_values = found.complete, found.complete == found.rows, True
            else:
                kept = sum(int(stays(chunk).sum()) for chunk in self.chunks())
                all_stay = kept == self.count
            return self if all_stay else replace(self, data=Selected(self._rows(), stays, kept, by_values))
        marks = [stays(chunk) for chunk in self.chunks()]
        return self if all(one.all() for one in marks) else self.keep(np.concatenate(marks))

    def keep(self, kept: IntVector | BoolMatrix) -> Table:
        """Some of the rows, by their places or marks; they keep their identifiers."""
        ids = None if self.ids is None else tuple(np.array(self.ids, dtype=object)[kept].tolist())
        places = np.arange(count_rows(self)) if self.places is None else self.places
        return replace(self, data=self.values[kept], ids=ids, places=places[kept])

    def _rows(self) -> Rows:
        """Where the rows are, if not in an array."""
        if isinstance(self.data, Rows):
            return self.data
        from fedrcd.data.open_tables import open_tables

        (opened,) = open_tables(self, self.source or "the table", gaps=True)
        return opened


def as_table(obj: object, source: str = "table", *, gaps: bool = False) -> Table:
    """Checked table from a DataFrame, a 2-d array, an Arrow stream, a path or a `Table`.

    Integers, booleans and single precision become float64; a C-contiguous float64 array is not copied, nor is what
    fills more than 32 MB elsewhere.

    Parameters
    ----------
    obj : DataFrame, array, Arrow stream, path or Table
        Rows are observations. Columns of an array are called x1, x2, .... Polars frames and whatever else
        exports an Arrow stream count as Arrow streams.
    source : str
        What messages call the table; a path is called by its file name.
    gaps : bool
        Accept missing values, as NaN.

    Raises
    ------
    DataError
        When the table cannot be used; the message names the column and never a value.
    FileError
        When the path cannot be read.
    """
    if isinstance(obj, Table):
        table = obj
    elif isinstance(obj, np.ndarray):
        table = from_array(obj, source)
    else:
        from fedrcd.data.sources.held import held
        from fedrcd.data.sources.opening import rows_of

        table = held(rows_of(obj, source))
    check_table(table, gaps=gaps)
    return table


def check_table(table: Table, *, gaps: bool = False) -> None:
    """Refuse a table that no method can use.

    Names must be given and differ; values must be finite, or missing if there may be `gaps`; no column may be
    constant and no two identical; at least two rows and two columns are needed.

    Raises
    ------
    DataError
        One line that names the table and the column, and says what to do.
    """
    shape = table.data.shape if isinstance(table.data, np.ndarray) else (0, len(table.columns))
    if len(shape) != 2 or shape[1] != len(table.columns):
        raise DataError(
            f"{table.source} must be 2-d, rows by variables, with a name per column; "
            f"got shape {shape} and {len(table.columns)} names"
        )
    check_names(table.columns, table.source)
    check_values(table, gaps=gaps)


def from_array(array: np.ndarray[Any, Any], source: str) -> Table:
    """Unchecked table of the columns of an array, called x1, x2, ...; masked entries become NaN.

    Parameters
    ----------
    array : (n, p) array
        Real numbers; rows are observations.
    source : str
        What messages call the table.
    """
    if array.ndim != 2:
        raise DataError(f"{source} must be 2-d, rows by variables, got {array.ndim}-d; reshape it first")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{source} must hold real numbers, got dtype {array.dtype.name}; convert it first")
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    values = np.ascontiguousarray(array, dtype=np.float64)
    return Table(values, columns=default_names(values.shape[1]), source=source)
