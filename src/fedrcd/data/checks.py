"""What makes the numbers of a table unusable.

Tables may be large, so the checks rest on what one pass tells of every column, chunk by chunk: an infinity is its
minimum or maximum, a constant column has both equal and identical columns have them in common.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fedrcd.data.names import columns
from fedrcd.data.rows import Rows
from fedrcd.data.survey import survey
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
    found = survey(rows)
    n, low, high, missing = found.rows, found.low, found.high, found.missing
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
    _check_no_twins(rows, low, high, found.first)


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
