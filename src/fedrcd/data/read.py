"""Tables in files: CSV, compressed CSV, TSV and Parquet.

Files are read by Arrow, which keeps repeated and empty column names as they are, so that they can be refused.
Its error messages quote the file's text and are therefore replaced, not passed on.
"""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fedrcd.data.table import Table, check_table, from_arrow
from fedrcd.errors import FileError
from fedrcd.suggest import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATORS, ".parquet")
DAMAGED = "it is damaged, or not what its ending says"
NOT_UTF8 = "it is not UTF-8; save it in that encoding first"


def read_table(path: str | os.PathLike[str], *, gaps: bool = False) -> Table:
    """Checked table from a file; its first line, or its schema, names the columns.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .csv.gz, .tsv or .parquet. Text is UTF-8 with a point as decimal mark.
    gaps : bool
        Accept missing values.

    Raises
    ------
    FileError
        When the file is missing, damaged, empty, not UTF-8 or of another kind.
    DataError
        When the table in it cannot be used.
    """
    table = from_arrow(read_arrow(path), Path(path).name)
    check_table(table, gaps=gaps)
    return table


def read_arrow(path: str | os.PathLike[str]) -> pa.Table:
    """Whatever columns a file has, unchecked; raises as `read_table` does for files."""
    path = Path(path)
    _require_file(path)
    if _ending(path) == ".parquet":
        return _read_parquet(path)
    arrow = _read_text(path)
    if _looks_like_data(arrow.column_names):
        raise FileError(f"the first line of {path.name} looks like data; put a line with the column names before it")
    return arrow


def _looks_like_data(header: list[str]) -> bool:
    """Whether all names of a header are numbers, and not just the numbers of the columns."""
    try:
        values = [float(name) for name in header]
    except ValueError:
        return False
    counted = [float(k) for k in range(len(header))]
    return values not in (counted, [k + 1 for k in counted])


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write a table so that `read_table` gives it back, to the last bit of every value.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .csv.gz, .tsv or .parquet; an existing one is replaced.
    table : Table
        What to write.

    Raises
    ------
    FileError
        When the file cannot be written or has another ending.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    path = Path(path)
    ending = _ending(path)
    arrow = pa.Table.from_arrays([pa.array(column) for column in table.values.T], names=list(table.columns))
    try:
        if ending == ".parquet":
            parquet.write_table(arrow, path)
        else:
            with pa.output_stream(path) as stream:  # compresses when the name ends in .gz
                arrow_csv.write_csv(arrow, stream, arrow_csv.WriteOptions(delimiter=SEPARATORS[ending]))
    except OSError as error:
        raise FileError(f"cannot write {path}: {_reason(error)}") from None


def _ending(path: Path) -> str:
    """The one of `ENDINGS` that a file has."""
    for ending in ENDINGS:
        if path.name.lower().endswith(ending):
            return ending
    raise FileError(f"{path.name} has an unknown ending; known are {', '.join(ENDINGS)}")


def _require_file(path: Path) -> None:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileError(f"there is no folder {path.parent}, so no file {path.name} in it")
    if not path.exists():
        others = [other.name for other in path.parent.iterdir() if other.is_file()]
        raise FileError(f"there is no file {path}{did_you_mean(path.name, others)}")


def _read_text(path: Path) -> pa.Table:
    """Arrow table in a text file, types inferred from all rows."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    separator = SEPARATORS[_ending(path)]
    try:
        arrow = arrow_csv.read_csv(path, parse_options=arrow_csv.ParseOptions(delimiter=separator))
        names = arrow.column_names  # decoded here
    except OSError as error:
        raise FileError(f"cannot read {path}: {_reason(error)}") from None
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise FileError(f"cannot read {path}: {_fault_in_text(path, separator)}") from None
    if any(pa.types.is_binary(kind) for kind in arrow.schema.types):
        raise FileError(f"cannot read {path}: {NOT_UTF8}")
    if len(names) == 1 and {";", ",", "\t"} & set(names[0]):
        raise FileError(f"cannot read {path}: its header has no {separator!r}; columns must be separated by it")
    return arrow


def _read_parquet(path: Path) -> pa.Table:
    """Arrow table in a Parquet file, without the row labels that pandas stores beside the columns."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            arrow = file.read()
    except OSError as error:
        raise FileError(f"cannot read {path}: {_reason(error)}") from None
    except pa.ArrowException:
        raise FileError(f"cannot read {path}: {DAMAGED}") from None
    labels = (arrow.schema.pandas_metadata or {"index_columns": []})["index_columns"]
    return arrow.drop_columns([label for label in labels if isinstance(label, str)])


def _fault_in_text(path: Path, separator: str) -> str:
    """What is wrong with a text file that Arrow refused, without a word of its content."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=separator)
            header = next((row for row in rows if row), None)
            if header is None:
                return "it is empty"
            for row in rows:
                if row and len(row) != len(header):
                    return (
                        f"line {rows.line_num} has {len(row)} fields and the header {len(header)}; "
                        f"check quotes and separators, which must be {separator!r}"
                    )
    except UnicodeDecodeError:
        return NOT_UTF8
    except csv.Error:
        return DAMAGED
    return DAMAGED


def _reason(error: OSError) -> str:
    """What the operating system said; errors of Arrow itself have no number and may quote the file."""
    return os.strerror(error.errno).lower() if error.errno else DAMAGED
