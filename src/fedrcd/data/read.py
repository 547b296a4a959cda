"""Tables in files: CSV, compressed CSV, TSV, Parquet and Arrow.

Files are read by Arrow, which keeps repeated and empty column names as they are, so that they can be refused.
Its error messages quote the file's text and are therefore replaced, not passed on.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from fedrcd.data.sources.address import ending_of, source_at
from fedrcd.data.sources.arrow_rows import ArrowRows
from fedrcd.data.sources.faults import reason
from fedrcd.data.sources.held import held
from fedrcd.data.sources.text_file import SEPARATORS
from fedrcd.data.table import Table, check_table
from fedrcd.errors import FileError


def read_table(path: str | os.PathLike[str], *, gaps: bool = False) -> Table:
    """Checked table in memory from a file; its first line, or its schema, names the columns.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .csv.gz, .tsv, .parquet, .arrow or .feather, or a folder of them. Text is UTF-8 with a
        point as decimal mark.
    gaps : bool
        Accept missing values.

    Raises
    ------
    FileError
        When the file is missing, damaged, empty, not UTF-8 or of another kind.
    DataError
        When the table in it cannot be used.
    """
    table = held(ArrowRows.of(source_at(path)), limit=math.inf)
    check_table(table, gaps=gaps)
    return table


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write a table so that `read_table` gives it back, to the last bit of every value.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .csv.gz, .tsv, .parquet, .arrow or .feather; an existing one is replaced.
    table : Table
        What to write.

    Raises
    ------
    FileError
        When the file cannot be written or has another ending.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import feather, parquet

    path = Path(path)
    ending = ending_of(path)
    arrow = pa.Table.from_arrays([pa.array(column) for column in table.values.T], names=list(table.columns))
    try:
        if ending == ".parquet":
            parquet.write_table(arrow, path)
        elif ending not in SEPARATORS:
            feather.write_feather(arrow, path)
        else:
            with pa.output_stream(path) as stream:  # compresses when the name ends in .gz
                arrow_csv.write_csv(arrow, stream, arrow_csv.WriteOptions(delimiter=SEPARATORS[ending]))
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from None
