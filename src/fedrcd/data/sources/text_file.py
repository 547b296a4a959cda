"""CSV and TSV files, also compressed: small ones are read whole, of large ones a block at a time."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrcd.data.sources.faults import DAMAGED, file_stamp, reason
from fedrcd.errors import DataError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t"}
NOT_UTF8 = "it is not UTF-8; save it in that encoding first"

SMALL = 16_000_000
"""Bytes up to which a text file is read whole: then all rows decide what a column holds, not the first ones."""

SMALL_COMPRESSED = 1_000_000
"""The same of a compressed one, which may become much larger."""

BYTES_PER_BLOCK = 4_000_000
"""Of a large text file that are read at a time."""

BAD_COLUMN = re.compile(r"CSV column #(\d+)")


@dataclass(frozen=True, slots=True, eq=False)
class TextFile:
    """A text file whose first line names the columns. Identifiers are read as they are written."""

    path: Path = field(repr=False)
    name: str
    separator: str = ","
    waits: bool = True
    count: None = None
    _whole: dict[object, pa.Table] = field(default_factory=dict, repr=False)
    """What was read of a small file to learn its types, until its rows are asked for."""

    def stamp(self) -> object:
        """When it was written, and its size."""
        return file_stamp(self.path)

    def schema(self) -> pa.Schema:
        """Types as all rows say; those of a large file as its first rows say."""
        import pyarrow as pa

        if self._is_small():
            return self._read_whole(()).schema
        with self._opened() as reader:
            schema = reader.schema
        try:
            names = schema.names  # decoded here
        except UnicodeDecodeError:
            raise FileError(f"cannot read {self.path}: {NOT_UTF8}") from None
        self._check(names, schema.types)
        numbers = [pa.types.is_integer(kind) or pa.types.is_null(kind) for kind in schema.types]
        return pa.schema(
            [pa.field(one.name, pa.float64()) if number else one for one, number in zip(schema, numbers, strict=True)]
        )

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """The chosen columns, in blocks."""
        import pyarrow as pa

        if self._is_small():
            whole = self._read_whole(texts)
            self._whole.clear()
            yield from whole.select(list(columns)).to_batches()
            return
        kinds = {one.name: one.type for one in self.schema()} | dict.fromkeys(texts, pa.string())
        wanted = list(dict.fromkeys(columns))
        with self._opened(include_columns=wanted, column_types={name: kinds[name] for name in wanted}) as reader:
            rows = 0
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except OSError as error:
                    raise FileError(f"cannot read {self.path}: {reason(error)}") from None
                except (pa.ArrowInvalid, UnicodeDecodeError) as problem:
                    raise self._fault(problem, rows) from None
                rows += batch.num_rows
                yield batch

    def _fault(self, problem: Exception, rows: int) -> DataError | FileError:
        """What is wrong beyond the first rows."""
        column = BAD_COLUMN.search(str(problem))
        names = self.schema().names
        if column is None or "conversion error" not in str(problem) or int(column[1]) >= len(names):
            return FileError(f"cannot read {self.path}: {fault_in_text(self.path, self.separator)}")
        return DataError(
            f"column {names[int(column[1])]!r} of {self.name} holds numbers at first and something else after row "
            f"{rows:,}; encode it as numbers or leave it out"
        )

    def _is_small(self) -> bool:
        compressed = self.path.name.lower().endswith(".gz")
        return file_stamp(self.path)[0] <= (SMALL_COMPRESSED if compressed else SMALL)

    def _read_whole(self, texts: Sequence[str]) -> pa.Table:
        """All columns of a small file, types inferred from all rows but those of `texts`."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        key = (self.stamp(), tuple(texts))
        if key not in self._whole:
            convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
            try:
                whole = arrow_csv.read_csv(self.path, parse_options=self._parsing(), convert_options=convert)
                names = whole.column_names  # decoded here
            except OSError as error:
                raise FileError(f"cannot read {self.path}: {reason(error)}") from None
            except (pa.ArrowInvalid, UnicodeDecodeError):
                raise FileError(f"cannot read {self.path}: {fault_in_text(self.path, self.separator)}") from None
            self._check(names, whole.schema.types)
            self._whole[key] = whole
        return self._whole[key]

    def _opened(self, **convert: Any) -> Any:
        """A reader of blocks."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        try:
            return arrow_csv.open_csv(
                self.path,
                read_options=arrow_csv.ReadOptions(block_size=BYTES_PER_BLOCK),
                parse_options=self._parsing(),
                convert_options=arrow_csv.ConvertOptions(**convert),
            )
        except OSError as error:
            raise FileError(f"cannot read {self.path}: {reason(error)}") from None
        except (pa.ArrowInvalid, UnicodeDecodeError) as problem:
            if convert:
                raise self._fault(problem, 0) from None
            raise FileError(f"cannot read {self.path}: {fault_in_text(self.path, self.separator)}") from None

    def _parsing(self) -> Any:
        from pyarrow import csv as arrow_csv

        return arrow_csv.ParseOptions(delimiter=self.separator)

    def _check(self, names: list[str], kinds: list[pa.DataType]) -> None:
        """Refuse what is no table, by its header and types."""
        import pyarrow as pa

        if any(pa.types.is_binary(kind) for kind in kinds):
            raise FileError(f"cannot read {self.path}: {NOT_UTF8}")
        if len(names) == 1 and {";", ",", "\t"} & set(names[0]):
            raise FileError(
                f"cannot read {self.path}: its header has no {self.separator!r}; columns must be separated by it"
            )
        if looks_like_data(names):
            raise FileError(
                f"the first line of {self.path.name} looks like data; put a line with the column names before it"
            )


def looks_like_data(header: list[str]) -> bool:
    """Whether all names of a header are numbers, and not just the numbers of the columns."""
    try:
        values = [float(name) for name in header]
    except ValueError:
        return False
    counted = [float(k) for k in range(len(header))]
    return values not in (counted, [k + 1 for k in counted])


def fault_in_text(path: Path, separator: str) -> str:
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
