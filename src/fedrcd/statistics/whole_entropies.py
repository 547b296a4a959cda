r"""Entropy sums in whole numbers: the same on any machine, and they add to the bit.

Standardised quantities are rounded to multiples of 2^-13 and cut off at 64. For each of these values a table has
log cosh u and u exp(-u^2/2), rounded to multiples of the square of the grid's step. The table is made of additions,
multiplications and divisions of float64 alone, which every machine does alike; `exp` and `log` differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.entropy_sums import EntropySums
from fedrcd.statistics.exact_sums import Clipped, ExactSums
from fedrcd.statistics.grid import EXACT_UP_TO, MAP_BITS, Grid, rounded_map
from fedrcd.statistics.limbs import PLANE
from fedrcd.typing import BoolMatrix, IntMatrix, IntVector, Matrix, Vector

FINENESS = 13
"""Standardised quantities are multiples of 2 to the power of minus this."""

LARGEST = 64 << FINENESS
"""Where they are cut off."""

ROWS_AT_ONCE = 1024
"""Rows in work at a time."""

LOG2 = math.log(2.0)
TERMS = 20
"""Of the series of exp and of atanh below: on their intervals the rest is less than float64 shows."""


def carries(grid: Grid | None) -> bool:
    """Whether a grid is fine enough for entropies."""
    return grid is not None and grid.step <= 2.0**-14


def whole_entropy_sums(
    blocks: Iterable[Matrix],
    residuals: Matrix,
    offset: Vector,
    pairs: IntMatrix,
    rho: Vector,
    grid: Grid,
    *,
    singles: bool,
) -> ExactSums:
    """Exact entropy sums of rows z that arrive in blocks, of u = residuals @ z - offset and of pair residuals.

    Parameters are as in `entropy_sums`; residuals and offset must be on the grid of maps.
    """
    _require_exact(residuals, offset, grid)
    scale = 1 / np.sqrt(1 - rho**2)
    left, right = (rounded_map(one)[:, None] for one in (scale, rho * scale))
    if len(rho) and float((np.abs(left) + np.abs(right)).max()) * LARGEST * 2.0**MAP_BITS > EXACT_UP_TO:
        raise StatisticError("two residuals are nearly the same, so that the entropy of their difference is not known")
    u = len(residuals)
    m = (u if singles else 0) + len(pairs)
    total, count, clipped = np.zeros((2, m), dtype=np.int64), 0, 0
    for block in blocks:
        for first in range(0, len(block), ROWS_AT_ONCE):
            q, beyond = grid.whole(block[first : first + ROWS_AT_ONCE].copy())
            clipped += beyond
            count += len(q)
            standardised = (q @ residuals.T - offset / grid.step) * (grid.step * 2.0**FINENESS)
            values = np.clip(np.rint(standardised), -LARGEST, LARGEST).T
            if singles:
                total[:, :u] += _looked_up(values, grid)
            if len(pairs):
                of_pairs = left * values[pairs[:, 0]] - right * values[pairs[:, 1]]
                total[:, m - len(pairs) :] += _looked_up(np.rint(of_pairs), grid)
    low, high = total & ((1 << PLANE) - 1), total >> PLANE
    halves = EntropySums(count, low[0], low[1]), EntropySums(0, high[0], high[1])
    return ExactSums(grid, *halves, Clipped(clipped, clipped))


def _require_exact(residuals: Matrix, offset: Vector, grid: Grid) -> None:
    """Raise unless residuals of whole rows are exact in float64 before they are rounded."""
    if (rounded_map(residuals) != residuals).any() or (rounded_map(offset) != offset).any():
        raise StatisticError("the residual map is not on the exact grid")
    if not exact_under(residuals, grid, offset).all():
        raise StatisticError("the coefficients of the residual map are too large for exact sums")


def exact_under(residuals: Matrix, grid: Grid, offset: Vector | float = 0.0) -> BoolMatrix:
    """Which maps have coefficients small enough for residuals of whole rows to be exact in float64."""
    largest = np.abs(residuals).sum(axis=1) * grid.largest + np.abs(offset) / grid.step
    small: BoolMatrix = largest * 2.0**MAP_BITS <= EXACT_UP_TO
    return small


def _looked_up(values: Matrix, grid: Grid) -> IntMatrix:
    """Both sums over columns of whole values, shape (2, m)."""
    log_cosh, gauss = _tables(grid)
    size = np.minimum(np.abs(values), LARGEST).astype(np.int64)
    signed = np.where(values < 0, -gauss[size], gauss[size])
    sums: IntMatrix = np.stack([log_cosh[size].sum(axis=1), signed.sum(axis=1)])
    return sums


@cache
def _tables(grid: Grid) -> tuple[IntVector, IntVector]:
    """The values of log cosh u and u exp(-u^2/2) for all u of at least 0, in squares of the grid's step."""
    unit = 1 / grid.step**2
    u = np.arange(LARGEST + 1) / 2.0**FINENESS
    log_cosh = u + log_one_plus(exp_minus(2 * u)) - LOG2
    gauss = u * exp_minus(u * u / 2)
    return np.rint(log_cosh * unit).astype(np.int64), np.rint(gauss * unit).astype(np.int64)


def exp_minus(x: Vector) -> Vector:
    """exp(-x) for x of at least 0, by additions, multiplications and divisions alone."""
    halvings = np.minimum(np.floor(x / LOG2 + 0.5), 1000.0)
    rest = x - halvings * LOG2
    total = np.ones_like(x)
    for k in range(TERMS, 0, -1):
        total = 1 - total * rest / k
    return np.ldexp(total, -halvings.astype(np.int64))


def log_one_plus(t: Vector) -> Vector:
    """log(1 + t) for t from 0 to 1, the same way."""
    s = t / (2 + t)
    square = s * s
    total = np.zeros_like(t)
    for k in range(TERMS, -1, -1):
        total = total * square + 1 / (2 * k + 1)
    return 2 * s * total
