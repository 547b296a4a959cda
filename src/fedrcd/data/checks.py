"""What makes the numbers of a table unusable.

Tables may be large, so the checks rest on the minimum and maximum of every column, taken chunk by chunk: a NaN spreads
to both, an infinity is one of them, a constant column has them equal and identical columns have them in common.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fedrcd.data.names import columns
from fedrcd.data.rows import Rows
from fedrcd.errors import DataError
from fedrcd.typing import Vector


def check_values(rows: Rows, *, gaps: bool = False) -> None:
    """Refuse values from which no causal order can be learned, whatever the method.

    Parameters
    ----------
    rows : Rows
        Their `source` is what messages call the table.
    gaps : bool
        Accept missing values.

    Raises
    ------
    DataError
        Fewer than two rows or columns; missing or infinite values; constant or identical columns.
    """
    names, source = rows.columns, rows.source
    p = len(names)
    if p < 2:
        raise DataError(f"{source} has {p or 'no'} column{'s' * (p != 1)}; need at least 2 variables")
    n, low, high, missing, first = extremes(rows)
    if n < 2:
        raise DataError(f"{source} has {n or 'no'} row{'s' * (n != 1)}; need at least 2 rows")

    def those(bad: npt.NDArray[np.bool_]) -> str:
        return columns([names[j] for j in np.flatnonzero(bad).tolist()])

    if missing.any() and not gaps:
        raise DataError(f"missing values in {those(missing)} of {source}; fill them or remove those rows first")
    empty = np.isnan(low)
    if empty.any():
        raise DataError(f"nothing but missing values in {those(empty)} of {source}; leave empty columns out")
    infinite = np.isinf(low) | np.isinf(high)
    if infinite.any():
        raise DataError(f"infinite values in {those(infinite)} of {source}; remove those rows first")
    constant = low == high
    if constant.any():
        raise DataError(f"no variation in {those(constant)} of {source}; leave constant columns out")
    _check_no_twins(rows, low, high, first)


def extremes(rows: Rows) -> tuple[int, Vector, Vector, npt.NDArray[np.bool_], Vector]:
    """Rows; minimum and maximum of what is there, whether something is missing, and first value, of each column."""
    p = len(rows.columns)
    n, missing, first = 0, np.zeros(p, dtype=bool), np.full(p, np.nan)
    low, high = np.full(p, np.nan), np.full(p, np.nan)
    for values, *_ in rows.chunks():
        if not len(values):
            continue
        if not n:
            first = values[0]
        n += len(values)
        with np.errstate(invalid="ignore"):
            least, most = values.min(axis=0), values.max(axis=0)
        gaps = np.isnan(least)
        if gaps.any():
            missing |= gaps
            least, most = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        low, high = np.fmin(low, least), np.fmax(high, most)
    return n, low, high, missing, first


def _check_no_twins(rows: Rows, low: Vector, high: Vector, first: Vector) -> None:
    """Refuse two identical columns; only those that agree in minimum, maximum and first value are compared."""
    alike: dict[tuple[float, float, float], list[int]] = defaultdict(list)
    for j, traits in enumerate(zip(low.tolist(), high.tolist(), first.tolist(), strict=True)):
        alike[traits].append(j)
    suspects = [pair for group in alike.values() for pair in combinations(group, 2)]
    for i, j in suspects:
        if all(np.array_equal(values[:, i], values[:, j]) for values, *_ in rows.chunks()):
            raise DataError(
                f"{columns([rows.columns[i], rows.columns[j]])} of {rows.source} are identical; leave one out"
            )
