"""Sums of powers and products of standardised residuals: what checks of a model's assumptions are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.site_moments import PowerSums, SiteMoments
from fedrcd.statistics.sums import FloatSums
from fedrcd.typing import Matrix, Vector

HIGHEST = 12
"""The sampling error of u_i³ u_j needs the sixth power of u_i, and how fast it becomes Gaussian the twelfth."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSums(FloatSums):
    """Sums over rows for p residuals u and the p variables y they belong to, all standardised; `+` pools.

    `powers` has shape (13, p): sums of u^0 to u^12. `c21[i, j]` is the sum of u_i² u_j, `c31` of u_i³ u_j and `c22` of
    u_i² u_j². `squares[a, j]` is the sum of y_a² u_j; `even` has the sums of y_a⁴, y_a⁶ and y_a⁸, shape (3, p). `site`
    tells whether the residuals of sites are alike.
    """

    powers: Matrix
    c21: Matrix
    c31: Matrix
    c22: Matrix
    squares: Matrix
    even: Matrix
    site: SiteMoments | PowerSums

    kind: ClassVar[str] = "residuals"

    @property
    def count(self) -> int:
        """Rows."""
        return round(float(self.powers[0, 0]))

    @property
    def most_rows(self) -> int:
        """As `count`."""
        return self.count

    @property
    def numbers(self) -> int:
        """How many numbers travel; of the symmetric c22 one half."""
        p = len(self.c21)
        return 1 + HIGHEST * p + 2 * p * (p - 1) + p * (p - 1) // 2 + p * p + 3 * p + self.site.numbers

    def __add__(self, other: Self) -> Self:
        """Sums of both sets of rows."""
        return type(self)(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        return type(self)(*(getattr(self, each.name) - getattr(part, each.name) for each in fields(self)))

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless all sums are finite."""
        finite = np.isfinite(self.powers).all(axis=0)
        if not finite.all():
            where = int(np.argmin(finite))
            label = f"the residual of {names[where]!r}" if names else f"residual {where}"
            raise StatisticError(f"powers of {label} overflow")
        if not all(np.isfinite(array).all() for array in (self.c21, self.c31, self.c22, self.squares, self.even)):
            raise StatisticError("products of residuals overflow")
        self.site.check(names)

    def fits(self, p: int) -> bool:
        """Whether these are sums of p residuals as they leave a site."""
        square = (self.c21, self.c31, self.c22, self.squares)
        return (
            self.powers.shape == (HIGHEST + 1, p)
            and self.even.shape == (3, p)
            and all(array.shape == (p, p) for array in square)
            and self.site.sums.shape == (7, p)
        )

    def of_first(self, p: int) -> ResidualSums:
        """The sums of the first p residuals alone."""
        c21, c31, c22, squares = (array[:p, :p] for array in (self.c21, self.c31, self.c22, self.squares))
        site = replace(self.site, sums=self.site.sums[:, :p])
        return ResidualSums(self.powers[:, :p], c21, c31, c22, squares, self.even[:, :p], site)

    def finished(self) -> ResidualSums:
        """As it leaves a site: with the site's own moments in place of its power sums."""
        return replace(self, site=self.site.site_moments())


def residual_sums(
    blocks: Iterable[Matrix], residuals: Matrix, offset: Vector, mean: Vector, sd: Vector
) -> ResidualSums:
    """Sums over complete rows z that arrive in blocks: u = residuals @ z - offset, y = (z - mean) / sd."""
    p = len(residuals)
    powers, even = np.zeros((HIGHEST + 1, p)), np.zeros((3, p))
    c21, c31, c22, squares = (np.zeros((p, p)) for _ in range(4))
    for z in blocks:
        u = z @ residuals.T - offset
        y2 = ((z - mean) / sd) ** 2
        u2 = u * u
        u3 = u2 * u
        c21 += u2.T @ u
        c31 += u3.T @ u
        c22 += u2.T @ u2
        squares += y2.T @ u
        even += [(y2**power).sum(axis=0) for power in (2, 3, 4)]
        power = np.ones_like(u)
        for k in range(HIGHEST + 1):
            powers[k] += power.sum(axis=0)
            power = power * u
    return ResidualSums(powers, c21, c31, c22, squares, even, PowerSums(powers[:5].copy()))
