"""Notes on what rows look like: rounded columns, and columns that count rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.rows import Rows, asked_once, count_rows
from fedrcd.protocol.transport import InProcess
from fedrcd.statistics.few_levels import FEW_LEVELS
from fedrcd.typing import BoolMatrix, IntVector, Matrix

LOOKED_AT = 100_000
"""Rows from the first on that are looked at."""

LEAST_ROWS = 50
"""Rows from which something is said of them."""

ROUNDED_LEVELS = 20
"""Values up to which a column with more than a few counts as rounded."""


class RowLook(NamedTuple):
    """Of every column: whether it only rises, and its number of values; and how many rows were looked at."""

    rises: BoolMatrix
    levels: IntVector
    rows: int


def look_at(rows: Rows) -> RowLook:
    """The first rows of a source that lack nothing; rows that lie elsewhere are read once for it."""
    return asked_once(rows, "look", lambda: _looked(_first(rows)))


def _looked(X: Matrix) -> RowLook:
    levels = np.array([len(np.unique(column)) for column in X.T], dtype=np.int64)
    rises: BoolMatrix = np.min(np.diff(X, axis=0), axis=0, initial=np.inf) > 0
    return RowLook(rises, levels, len(X))


def _first(rows: Rows) -> Matrix:
    parts, left = [], LOOKED_AT
    for values, *_ in rows.chunks():
        parts.append(values[:left])
        left -= len(parts[-1])
        if left <= 0:
            break
    X = np.concatenate(parts) if parts else np.empty((0, len(rows.columns)))
    complete: Matrix = X[~np.isnan(X).any(axis=1)]
    return complete


def of_rows(transport: InProcess) -> list[str]:
    """Notes on the rows of all sites."""
    sites: Any = transport.sites
    rounded, notes = dict[str, int](), list[str]()
    for site in sites:
        look = look_at(site.rows) if count_rows(site.rows) >= LEAST_ROWS else None
        if look is None or look.rows < LEAST_ROWS:
            continue
        rising = [column for column, rises in zip(site.columns, look.rises, strict=True) if rises]
        if rising:
            notes.append(
                f"{', '.join(map(repr, rising))} of {site.name} only rises from row to row: it looks like a time or a "
                "number of rows, which is no variable of the model; leave it out (drop), or name it as time"
            )
        for column, levels in zip(site.columns, look.levels, strict=True):
            rounded[column] = max(rounded.get(column, 0), int(levels))
    shown = [f"{name!r} ({levels} values)" for name, levels in rounded.items() if FEW_LEVELS < levels <= ROUNDED_LEVELS]
    if shown:
        notes.append(
            f"rounded: {', '.join(shown)}. Steps this coarse leave part of a cause in what its effects do not explain, "
            "so errors may look dependent and arrows between such columns turn; take the values before rounding if "
            "there are any"
        )
    return notes
