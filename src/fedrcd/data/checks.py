"""What makes the numbers of a table unusable.

Tables may be large, so the checks rest on the minimum and maximum of every column: two passes over the memory and no
temporary of the table's size. A NaN spreads to both, an infinity is one of them, a constant column has them equal
and identical columns have them in common.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fedrcd.data.names import columns
from fedrcd.errors import DataError
from fedrcd.typing import Matrix, Vector

ROWS_PER_PIECE = 8192


def check_values(values: Matrix, names: Sequence[str], source: str, *, gaps: bool = False) -> None:
    """Refuse values from which no causal order can be learned, whatever the method.

    Parameters
    ----------
    values : (n, p) array
        Rows are observations.
    names : (p,) sequence of str
        Name of each column.
    source : str
        What messages call the table.
    gaps : bool
        Accept missing values.

    Raises
    ------
    DataError
        Fewer than two rows or columns; missing or infinite values; constant or identical columns.
    """
    n, p = values.shape
    if p < 2:
        raise DataError(f"{source} has {p or 'no'} column{'s' * (p != 1)}; need at least 2 variables")
    if n < 2:
        raise DataError(f"{source} has {n or 'no'} row{'s' * (n != 1)}; need at least 2 rows")
    with np.errstate(invalid="ignore"):
        low, high = values.min(axis=0), values.max(axis=0)
    missing = np.isnan(low)
    if gaps and missing.any():
        low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)

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
    _check_no_twins(values, low, high, names, source)


def _check_no_twins(values: Matrix, low: Vector, high: Vector, names: Sequence[str], source: str) -> None:
    """Refuse two identical columns; only those that agree in minimum, maximum and first value are compared."""
    alike: dict[tuple[float, float, float], list[int]] = defaultdict(list)
    for j, traits in enumerate(zip(low.tolist(), high.tolist(), values[0].tolist(), strict=True)):
        alike[traits].append(j)
    for group in alike.values():
        for i, j in combinations(group, 2):
            if _identical(values[:, i], values[:, j]):
                raise DataError(f"{columns([names[i], names[j]])} of {source} are identical; leave one out")


def _identical(first: Vector, second: Vector) -> bool:
    """Whether two columns are equal; different ones are usually told apart by their first piece."""
    starts = range(0, len(first), ROWS_PER_PIECE)
    return all(
        np.array_equal(first[start : start + ROWS_PER_PIECE], second[start : start + ROWS_PER_PIECE])
        for start in starts
    )
