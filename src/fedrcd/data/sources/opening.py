"""From whatever users give to rows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.data.names import check_names
from fedrcd.data.rows import ROWS_PER_CHUNK, Chunk, Rows
from fedrcd.data.sources.address import source_at
from fedrcd.data.sources.arrow_rows import ArrowRows, not_numeric
from fedrcd.data.sources.in_memory import ArrowTable, no_rows, source_in_memory
from fedrcd.data.sources.source import Source
from fedrcd.errors import DataError
from fedrcd.suggest import did_you_mean

if TYPE_CHECKING:
    import pandas as pd


def rows_of(obj: Any, name: str, drop: Sequence[str] = ()) -> Rows:
    """Rows of a path, a frame, an Arrow stream or a source; of all columns but some, which may hold anything."""
    if is_frame(obj):
        return FrameRows.of(frame_without(obj, drop, name), name)
    return ArrowRows.of(source_of(obj, name, drop), drop=drop)


def source_of(obj: Any, name: str, drop: Sequence[str] = ()) -> Source:
    """The source in a path or an object of another library; `drop` names columns that must be there, to be left out."""
    if isinstance(obj, str | os.PathLike):
        source: Source | None = source_at(obj)
    elif is_frame(obj):
        import pyarrow as pa

        left = frame_without(obj, drop, name)
        return ArrowTable(pa.Table.from_pandas(left, preserve_index=False), name)
    else:
        source = source_in_memory(obj, name)
    if source is None:
        raise no_rows(obj, name)
    require_columns(drop, source.schema().names, source.name)
    return source


def require_columns(wanted: Sequence[str], names: Sequence[str], source: str) -> None:
    """Raise unless all columns to leave out are there."""
    for name in wanted:
        if name not in names:
            raise DataError(f"{source} has no column {name!r} to leave out{did_you_mean(name, names)}")


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Rows of a DataFrame of pandas; missing entries become NaN."""

    frame: pd.DataFrame = field(repr=False)
    columns: tuple[str, ...]
    source: str
    identified: bool = False
    told: dict[object, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, frame: pd.DataFrame, source: str) -> FrameRows:
        """All columns; whatever cannot be a variable is refused."""
        if frame.columns.nlevels > 1:
            raise DataError(f"{source} has column names of several levels; flatten them first")
        columns = tuple(_names(frame))
        check_names(columns, source)
        for j, name in enumerate(columns):
            if kind_of_dtype(frame.dtypes.iloc[j]) != "numbers":
                raise not_numeric(name, source)
        return cls(frame, columns, source)

    @property
    def count(self) -> int:
        """Rows of the frame."""
        return len(self.frame)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        for first in range(0, len(self.frame), ROWS_PER_CHUNK):
            part = self.frame.iloc[first : first + ROWS_PER_CHUNK]
            values = np.empty(part.shape)
            for j in range(part.shape[1]):
                values[:, j] = part.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
            yield Chunk(values)


def kind_of_dtype(kind: Any) -> str:
    """What a column of pandas holds, in words."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if is_bool_dtype(kind) or (is_numeric_dtype(kind) and not is_complex_dtype(kind)):
        return "numbers"
    if is_complex_dtype(kind):
        return "complex numbers"
    return "dates" if is_datetime64_any_dtype(kind) else "text"


def frame_without(frame: pd.DataFrame, drop: Sequence[str], source: str) -> pd.DataFrame:
    """The frame without some columns, which may hold what Arrow does not know."""
    if not drop:
        return frame
    names = _names(frame)
    require_columns(drop, names, source)
    return frame.loc[:, [name not in drop for name in names]]


def is_frame(obj: Any) -> bool:
    """Whether something is a DataFrame of pandas: whoever has one has loaded it, which takes a second."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(obj, pandas.DataFrame)


def _names(frame: pd.DataFrame) -> list[str]:
    import pandas as pd

    return ["" if pd.isna(label) else str(label) for label in frame.columns]
