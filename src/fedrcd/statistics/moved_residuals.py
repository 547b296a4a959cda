r"""Maps to all residuals that moving one variable of an order can meet, in p^3 operations.

Neighbours change places: a variable v with residual r given some set, and the variable u that follows it with residual
e given that set and v. With c the coefficient of u on r, u has the residual :math:`f = e + c\,r` once v no longer
precedes it, and v has :math:`r - c \frac{\operatorname{var} r}{\operatorname{var} f} f` behind it. Carrying every
variable along the order, step by step, meets every residual of every single move.

For sums on a grid it is done in whole numbers, which every machine does alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.whole_maps import BITS, nearest, whole
from fedrcd.typing import Matrix, Vector

Given = tuple[int, int]
"""A variable and the set of its predecessors, as bits."""


class Carried(NamedTuple):
    """A residual as a map from the variables, its covariances with them, and its variance."""

    map: Any
    along: Any
    variance: Any


class FloatArithmetic:
    """Numbers are float64."""

    @staticmethod
    def array(values: Matrix) -> Any:
        """Numbers from float64."""
        return np.array(values)

    @staticmethod
    def times(a: Any, b: Any) -> Any:
        """Products."""
        return a * b

    @staticmethod
    def over(a: Any, b: Any) -> Any:
        """The quotient of two numbers."""
        return a / b

    @staticmethod
    def floats(values: Any) -> Vector:
        """Numbers as float64."""
        return np.asarray(values, dtype=float)


class WholeArithmetic:
    """Numbers are multiples of 2 to the power of minus `BITS`, kept as Python's whole numbers."""

    @staticmethod
    def array(values: Matrix) -> Any:
        """Numbers from float64."""
        flat = np.empty(values.size, dtype=object)
        flat[:] = [whole(value) for value in values.ravel().tolist()]
        return flat.reshape(values.shape)

    @staticmethod
    def times(a: Any, b: Any) -> Any:
        """Products."""
        return a * b >> BITS

    @staticmethod
    def over(a: Any, b: Any) -> Any:
        """The quotient of two numbers."""
        return (a << BITS) // b

    @staticmethod
    def floats(values: Any) -> Vector:
        """Numbers as float64."""
        return np.array([nearest(value) for value in values])


NumberKind = type[FloatArithmetic] | type[WholeArithmetic]


def moved_residuals(cov: Matrix, order: Sequence[int], *, exact: bool) -> Iterator[tuple[Given, Vector]]:
    """Residuals of unit variance along an order, and of every order that moves one variable, as maps from variables.

    Some come twice.
    """
    number: NumberKind = WholeArithmetic if exact else FloatArithmetic
    along = residuals_along(number, cov, order)
    before = _sets_before(order)
    for place, variable in enumerate(order):
        yield (variable, before[place]), _standardised(number, along[place])
    for h, v in enumerate(order):
        carried, given = along[h], before[h]
        for n in range(h + 1, len(order)):
            u = order[n]
            passed, carried = _exchanged(number, carried, along[n], u)
            yield (u, given), _standardised(number, passed)
            given |= 1 << u
            yield (v, given), _standardised(number, carried)
        carried = along[h]
        for n in range(h - 1, -1, -1):
            u = order[n]
            carried, passed = _exchanged(number, along[n], carried, v)
            yield (v, before[n]), _standardised(number, carried)
            yield (u, before[n] | 1 << v), _standardised(number, passed)


def _exchanged(number: NumberKind, first: Carried, second: Carried, variable: int) -> tuple[Carried, Carried]:
    """The residuals of two neighbours in the other order: that of the second, which is of `variable`, comes first."""
    c = number.over(first.along[variable], first.variance)
    leading = Carried(
        second.map + number.times(c, first.map),
        second.along + number.times(c, first.along),
        second.variance + number.times(c, first.along[variable]),
    )
    share = number.over(first.along[variable], leading.variance)
    following = Carried(
        first.map - number.times(share, leading.map),
        first.along - number.times(share, leading.along),
        first.variance - number.times(share, first.along[variable]),
    )
    return leading, following


def residuals_along(number: NumberKind, cov: Matrix, order: Sequence[int]) -> list[Carried]:
    """The residual of every variable given those before it, by one sweep after the other."""
    p = len(cov)
    maps, left = number.array(np.eye(p)), number.array(cov)
    found = []
    for k, variable in enumerate(order):
        own = Carried(maps[variable].copy(), left[variable].copy(), left[variable, variable])
        if own.variance <= 0:
            raise StatisticError("a variable does not vary, given others, so nothing can be regressed on it")
        found.append(own)
        for u in order[k + 1 :]:
            weight = number.over(own.along[u], own.variance)
            maps[u] = maps[u] - number.times(weight, own.map)
            left[u] = left[u] - number.times(weight, own.along)
    return found


def _standardised(number: NumberKind, residual: Carried) -> Vector:
    """Its map to unit variance, in float64."""
    values = number.floats(residual.map)
    variance = number.floats(np.array([residual.variance], dtype=object))[0]
    scaled: Vector = values / np.sqrt(max(variance, SMALLEST))
    return scaled


SMALLEST = 1e-14
"""Floor of a residual variance."""


def _sets_before(order: Sequence[int]) -> list[int]:
    """The predecessors of each place, as bits."""
    sets, before = [], 0
    for variable in order:
        sets.append(before)
        before |= 1 << variable
    return sets
