r"""Residual maps in whole numbers: the same bits on any machine, whatever its linear algebra.

Regressing on one source after another is a sweep of the covariance; with numbers that are multiples of 2^-160 it loses
nothing that float64 could show. What comes back is the nearest float64, so that whoever has the same covariance has the
same map.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.typing import Matrix

BITS = 160
"""Numbers are multiples of 2 to the power of minus this."""

UNIT = 1 << BITS

WholeMatrix = tuple[tuple[int, ...], ...]


class Swept(NamedTuple):
    """Residuals given some sources: their maps from the variables, and their covariances; rows of sources are stale."""

    maps: WholeMatrix
    cov: WholeMatrix


class ResidualMap(NamedTuple):
    """R with r = R x the residuals of the variables `rest`, and their covariance."""

    R: Matrix
    rest: tuple[int, ...]
    cov: Matrix


def whole_residual_map(cov: Matrix, given: tuple[int, ...]) -> ResidualMap:
    """Least-squares residuals of all other variables on `given`, the same on any machine."""
    swept = _swept(np.ascontiguousarray(cov).tobytes(), len(cov), given)
    rest = tuple(j for j in range(len(cov)) if j not in given)
    R = np.array([[nearest(value) for value in swept.maps[j]] for j in rest])
    left = np.array([[nearest(swept.cov[i][j]) for j in rest] for i in rest])
    return ResidualMap(R, rest, (left + left.T) / 2)


@lru_cache(maxsize=64)
def _swept(cov: bytes, p: int, given: tuple[int, ...]) -> Swept:
    """All residuals given some variables; those given one less are mostly known already."""
    if not given:
        values = np.frombuffer(cov).reshape(p, p)
        own = tuple(tuple(UNIT if i == j else 0 for j in range(p)) for i in range(p))
        return Swept(own, tuple(tuple(whole(value) for value in row) for row in values.tolist()))
    maps, left = _swept(cov, p, given[:-1])
    source = given[-1]
    of_source, source_map, variance = left[source], maps[source], left[source][source]
    if variance <= 0:
        raise StatisticError("a variable does not vary, given others, so nothing can be regressed on it")
    weights = [(left[j][source] << BITS) // variance for j in range(p)]
    gone = set(given)
    maps = tuple(
        row if j in gone else tuple(a - (weights[j] * b >> BITS) for a, b in zip(row, source_map, strict=True))
        for j, row in enumerate(maps)
    )
    left = tuple(
        row if j in gone else tuple(a - (weights[j] * b >> BITS) for a, b in zip(row, of_source, strict=True))
        for j, row in enumerate(left)
    )
    return Swept(maps, left)


def whole(value: float) -> int:
    """A number as a multiple of the unit."""
    above, below = value.as_integer_ratio()
    return above * UNIT // below


def nearest(value: int) -> float:
    """The float64 nearest to a multiple of the unit."""
    return value / UNIT
