"""Notes on what rows look like: rounded columns, columns that count rows, and rows that go along with those before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.rows import Rows, asked_once, count_rows
from fedrcd.errors import ModelWarning
from fedrcd.protocol.transport import InProcess
from fedrcd.statistics.few_levels import FEW_LEVELS
from fedrcd.typing import BoolMatrix, Matrix, Vector

LOOKED_AT = 100_000
"""Rows from the first on that are looked at."""

LEAST_ROWS = 50
"""Rows from which something is said of them."""

ROUNDED_LEVELS = 20
"""Values up to which a column with more than a few counts as rounded."""

ALONG, SURE = 0.1, 6.0
"""Correlation with the row before, and standard errors of it, from which a column goes along with itself."""

OF_TIME = re.compile(r"(?i)(^|[^a-z])(id|nr|no|number|index|time|timestamp|date|day|week|month|year)([^a-z]|$)")
"""Names of columns by which rows have an order."""


class RowLook(NamedTuple):
    """Of every column: whether it only rises, how it goes along with the row before, and its number of values."""

    rises: BoolMatrix
    along: Vector
    levels: Vector
    rows: int


def look_at(rows: Rows) -> RowLook:
    """The first rows of a source that lack nothing; rows that lie elsewhere are read once for it."""
    return asked_once(rows, "look", lambda: _looked(_first(rows)))


def _looked(X: Matrix) -> RowLook:
    if len(X) < LEAST_ROWS:
        p = X.shape[1]
        return RowLook(np.zeros(p, dtype=bool), np.zeros(p), np.zeros(p), len(X))
    steps, centred = np.diff(X, axis=0), X - X.mean(axis=0)
    spread = np.maximum((centred**2).mean(axis=0), np.finfo(float).tiny)
    along = 1 - (steps**2).mean(axis=0) / (2 * spread)
    levels = np.array([len(np.unique(column)) for column in X.T])
    rises: BoolMatrix = np.min(steps, axis=0, initial=np.inf) > 0
    return RowLook(rises, along, levels, len(X))


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


def of_rows(transport: InProcess, dropped: Iterable[str]) -> list[ModelWarning | str]:
    """Notes on the rows of all sites."""
    sites: Any = transport.sites
    looks = {site.name: (site, look_at(site.rows)) for site in sites if count_rows(site.rows) >= LEAST_ROWS}
    looks = {name: (site, look) for name, (site, look) in looks.items() if look.rows >= LEAST_ROWS}
    timed = [name for name in dropped if OF_TIME.search(name)]
    rounded = dict[str, int]()
    notes = list[ModelWarning | str]()
    for name, (site, look) in looks.items():
        rising = [column for column, rises in zip(site.columns, look.rises, strict=True) if rises]
        if rising:
            notes.append(
                f"{', '.join(map(repr, rising))} of {name} only rises from row to row: it looks like a time or a "
                "number of rows, which is no variable of the model; leave it out (drop), or name it as time"
            )
        for column, levels in zip(site.columns, look.levels, strict=True):
            rounded[column] = max(rounded.get(column, 0), int(levels))
        if (rising or timed or site.rows.identified) and not transport.setting.past:
            notes += _of_time(name, site.columns, look)
    shown = [f"{name!r} ({levels} values)" for name, levels in rounded.items() if FEW_LEVELS < levels <= ROUNDED_LEVELS]
    if shown:
        notes.append(
            f"rounded: {', '.join(shown)}. Steps this coarse leave part of a cause in what its effects do not explain, "
            "so errors may look dependent and arrows between such columns turn; take the values before rounding if "
            "there are any"
        )
    return notes


def _of_time(site: str, columns: tuple[str, ...], look: RowLook) -> list[ModelWarning]:
    """Whether most columns go along with themselves in the row before."""
    kept = ~look.rises
    goes = kept & (look.along > np.maximum(ALONG, SURE / np.sqrt(look.rows)))
    if 2 * goes.sum() <= kept.sum():
        return []
    most = [columns[k] for k in np.argsort(-look.along) if goes[k]][:3]
    return [
        ModelWarning(
            f"rows of {site} look dependent: {', '.join(map(repr, most))} go along with the row before (correlation "
            f"{look.along[goes].max():.2f}), so there is less in them than their number says; lags='auto' takes the "
            "past into account"
        )
    ]
