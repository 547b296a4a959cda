"""Columns that cannot be variables: all of them, with the reason of each."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedrcd.data.names import columns
from fedrcd.data.rows import Converted, Rows
from fedrcd.data.sources.address import source_at
from fedrcd.data.sources.arrow_rows import ArrowRows
from fedrcd.data.sources.kinds import is_number, kind_in_words
from fedrcd.data.sources.opening import FrameRows, frame_without, is_frame, kind_of_dtype, source_of
from fedrcd.data.survey import survey
from fedrcd.data.table import Table
from fedrcd.errors import DataError, FileError
from fedrcd.typing import Matrix, Vector

EMPTY, CONSTANT, IDENTIFIER = "nothing but missing values", "one value", "an identifier"
LOOKS_LIKE_ONE = re.compile(r"(?i)(^|[^a-z])(id|nr|no|mrn|key|index|number|code)$")


def unusable_columns(obj: Any, source: str, drop: Sequence[str] = (), codes: Any = ()) -> dict[str, str]:
    """What cannot be a variable in a file or in rows of any other form, and why; `drop` is left out already."""
    if isinstance(obj, Table | np.ndarray | Rows):
        return {}  # what their columns are was said by whoever made them
    if is_frame(obj):
        left = frame_without(obj, drop, source)
        kinds = {str(name): kind_of_dtype(kind) for name, kind in left.dtypes.items()}
        found = {name: kind for name, kind in kinds.items() if kind != "numbers"}
        return found | _of_one_value(FrameRows.of(frame_without(left, list(found), source), source), codes)
    place = source_of(obj, source, drop)
    schema = place.schema()
    found = {
        name: kind_in_words(schema.field(name).type)
        for name in schema.names
        if name not in drop and not is_number(schema.field(name).type)
    }
    rows = ArrowRows.of(place, drop=[*drop, *found])
    return found | _of_one_value(rows, codes)


def _of_one_value(rows: Rows, codes: Any) -> dict[str, str]:
    """Columns without any value, and those in which all are the same."""
    missing = np.atleast_1d(codes)

    def change(values: Matrix) -> Matrix:
        return np.where(np.isin(values, missing), np.nan, values)

    found = survey(Converted(rows, rows.columns, change) if len(missing) else rows)
    return {
        name: EMPTY if np.isnan(least) else CONSTANT
        for name, least, most in zip(rows.columns, found.low.tolist(), found.high.tolist(), strict=True)
        if np.isnan(least) or least == most
    }


def all_unusable(tables: Sequence[tuple[Any, str]], drop: Sequence[str], codes: Any) -> tuple[dict[str, str], str]:
    """What cannot be a variable in any of several tables, and what the first such table is called."""
    found: dict[str, str] = {}
    first = ""
    for table, name in tables:
        try:
            here = unusable_columns(table, name, drop, codes)
        except (DataError, FileError):  # something else is wrong with it
            continue
        first = first or (_called(table, name) if here else "")
        found = here | found
    return found, first


def _called(table: Any, name: str) -> str:
    """What messages call a table: its file, if it is one."""
    return Path(table).name if isinstance(table, str | os.PathLike) else name


def identifiers(rows: Rows) -> list[str]:
    """Columns that number the rows: whole numbers, none of them twice, without gaps or under a name that says so.

    The first rows decide: an identifier that repeats further down identifies something all the same.
    """
    chunk = next(iter(rows.chunks()), None)
    if chunk is None or len(chunk.values) < 20:
        return []
    return [name for name, column in zip(rows.columns, chunk.values.T, strict=True) if _numbers_rows(name, column)]


def passed_over(path: Path, drop: Sequence[str] = ()) -> dict[str, str]:
    """Columns of a file that nobody would take for variables, and why: identifiers too, which are numbers at times."""
    found = unusable_columns(path, path.name, drop)
    rows = ArrowRows.of(source_at(path), drop=[*drop, *found])
    return found | dict.fromkeys(identifiers(rows), IDENTIFIER)


def _numbers_rows(name: str, column: Vector) -> bool:
    if not np.array_equal(column, np.round(column)):  # a gap is no number, either
        return False
    if len(np.unique(column)) < len(column):
        return False
    return bool(np.ptp(column) == len(column) - 1) or LOOKS_LIKE_ONE.search(name) is not None


def refusal(found: Mapping[str, str], source: str) -> DataError:
    """One message that names them all, with what leaves them out."""
    names = list(found)
    reasons = {reason: [name for name in names if found[name] == reason] for reason in dict.fromkeys(found.values())}
    said = "; ".join(f"{columns(listed, len(listed))}: {reason}" for reason, listed in reasons.items())
    return DataError(f"{source} has columns that cannot be variables: {said}; leave them out: {flags(names)}")


def flags(names: Iterable[str]) -> str:
    """The options that leave columns out, as a shell takes them."""
    return " ".join(f"--drop {shlex.quote(name)}" for name in names)
