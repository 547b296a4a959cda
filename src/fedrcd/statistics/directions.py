r"""Directions of rows: what is left of a row once it is whitened and its length is taken away.

With a centre c and a matrix M, a row z becomes :math:`w = M (z - c)`, and then a point of the unit sphere in one of two
ways: its direction :math:`w / |w|`, or that of :math:`(w, 1)`, which keeps where the centre is. No row weighs more than
another, whatever it holds, and every sum has a bound that is known beforehand.

:math:`\sum v v^\top` of the directions v of (w, 1), whitened again and again, is Tyler's estimator in one dimension
more (Tyler 1987): the location and scatter of a multivariate Cauchy distribution (Kent and Tyler 1991), which a row can
move as little as any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import EXACT_UP_TO, MAP_BITS, Grid
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.steady_algebra import applied, power, product, solved, triangle
from fedrcd.typing import Matrix, Vector

SPHERE = Grid(11, 1)
"""The grid of directions where sums are exact: finer steps would change nothing that can be seen, and coarse ones keep
products of four within what float64 sums exactly."""

FAR = 16.0
"""Multiples of p, about the squared length of whitened rows, at which half of a direction is left."""

LEAST_SPREAD = 1 / 25
"""The least eigenvalue that the spread of directions may have, which is 1 on average, for rows to look whitened."""

LEAST_NEAR = 0.25
"""The least share of rows that are not far from all others: of errors with heavy tails there may be half."""

BEYOND = 1e30
"""Lengths from here on leave nothing of a row: their powers still fit a number."""

BEYOND_CHANCE = 7.0
"""Standard errors by which a product of two components must differ at a site from that of all others."""

FARTHEST = 1e100
"""Values beyond this many scales have the direction of those here: their squares still fit a number."""


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """Rows in the frame become w = matrix (z - centre); shapes (p,) and (p, p)."""

    centre: Vector
    matrix: Matrix

    @classmethod
    def of_frame(cls, frame: Frame) -> Whitening:
        """Every variable by itself; `frame` is expressed in that of the rows."""
        return cls(frame.centre, np.diag(1 / frame.scale))

    def is_start(self, grid: Grid | None) -> bool:
        """Whether it takes every variable by itself as the frame has it: then nobody chose anything."""
        start = Whitening.of_frame(Frame.identity(len(self.centre))).on_grid(grid)
        return np.array_equal(self.centre, start.centre) and np.array_equal(self.matrix, start.matrix)

    def on_grid(self, grid: Grid | None) -> Whitening:
        """The nearest one under which whole rows stay exact before they are projected; itself without a grid.

        Only ratios matter to directions, so the matrix is scaled by a power of two to use the digits there are.
        """
        if grid is None:
            return self
        unit = _unit(self.matrix, grid)
        limit = grid.largest * grid.step
        centre = np.clip(np.rint(self.centre / grid.step) * grid.step, -limit, limit)
        return Whitening(centre, np.rint(self.matrix / unit) * unit)

    def require(self, p: int, grid: Grid | None) -> None:
        """Raise unless it is for p variables, and on the grid."""
        fits = self.centre.shape == (p,) and self.matrix.shape == (p, p)
        if not fits or not (np.isfinite(self.centre).all() and np.isfinite(self.matrix).all() and self.matrix.any()):
            raise ProtocolError("the whitening of a question does not fit its variables")
        exact = self.on_grid(grid)
        if not (np.array_equal(exact.matrix, self.matrix) and np.array_equal(exact.centre, self.centre)):
            raise ProtocolError("the whitening of a question is not on the exact grid")

    def of_rows(self, z: Matrix) -> Matrix:
        """Whitened rows as columns, shape (p, n)."""
        centred = np.clip(z, -FARTHEST, FARTHEST) - self.centre
        return self.matrix @ np.ascontiguousarray(centred.T)

    def covariance(self) -> Matrix:
        """The covariance of the rows, in the frame, whose whitened ones are uncorrelated with variance 1."""
        back = np.linalg.inv(self.matrix)
        cov: Matrix = back @ back.T
        return cov


def _unit(matrix: Matrix, grid: Grid) -> float:
    """The power of two whose multiples the entries are rounded to: products with differences of rows stay exact."""
    most = EXACT_UP_TO / (4 * grid.largest) / len(matrix)  # differences of rows have one bit more; one is for rounding
    largest = float(np.abs(matrix).max())
    if largest == 0:
        return 2.0**-MAP_BITS
    digits, above = math.frexp(largest / most)
    return math.ldexp(1.0, above - (digits == 0.5))


def directions(
    blocks: Iterable[Matrix], whitening: Whitening, grid: Grid | None = None, *, lifted: bool, near: bool = False
) -> Iterator[Matrix]:
    r"""Directions of rows that arrive in blocks, in the frame: of w, shape (n, p), or of (w, 1), shape (n, p + 1).

    Every step is one that all machines round alike, so that on a grid directions have the same bits everywhere. A row
    at the centre has no direction of its own: it counts, with zeros. Where mainly those `near` are asked for, the
    direction of a row of length l is shortened by :math:`1 / (1 + (l^2 / 16 p)^4)`. There is no limit at which a row
    jumps out of the sums, so no two whitenings near each other, whoever chose them, tell a single row by what it adds
    to one of them alone.
    """
    farthest = FAR * len(whitening.centre)
    for block in blocks:
        z = block if grid is None else grid.snapped(block)
        w = whitening.of_rows(z)
        if lifted:
            w = np.concatenate([w, np.ones((1, w.shape[1]))])
        largest = _positive(np.abs(w).max(axis=0, initial=0.0))  # squares neither overflow nor vanish
        w /= largest
        square = np.zeros(w.shape[1])
        for one in w:
            square += one * one
        length = _positive(np.sqrt(square))
        w /= length
        if near:
            along = np.minimum(length * largest, BEYOND)
            far = along * along / farthest
            far *= far
            w /= 1 + far * far
        yield np.ascontiguousarray(w.T)


def _positive(size: Vector) -> Vector:
    usable: Vector = np.where(size > 0, size, 1.0)
    return usable


def sharpened(whitening: Whitening, sums: PairSums) -> Whitening:
    r"""The next whitening, from the pair sums of the directions of (w, 1) under this one.

    With :math:`C = (p + 1)\, E\, v v^\top` Tyler's step is :math:`C^{-1/2}`, which takes a share 2 / (p + 3) of an
    error over to the next; its power (p + 3) / (p + 1) leaves none of it to the first order, where rows are elliptical.
    All machines round it alike.
    """
    p, size = len(whitening.centre), len(whitening.centre) + 1
    root = power(spread_of(sums), -(size + 2) / (2 * size))
    lift = np.zeros((size, size))
    lift[:p, :p], lift[:p, p], lift[p, p] = whitening.matrix, -applied(whitening.matrix, whitening.centre), 1.0
    upper = triangle(product(root, lift))  # turned so that the last row is of the 1 alone
    matrix = upper[:p, :p] / upper[p, p]
    return Whitening(-solved(matrix, upper[:p, p] / upper[p, p]), matrix)


def code_of_distance(distance: float) -> int:
    """What may be told of a distance in standard errors: 0 within chance, then one more for each doubling."""
    return max(0, math.frexp(distance / BEYOND_CHANCE)[1]) if distance > BEYOND_CHANCE else 0


def distance_from_others(own: PairSums, others: PairSums) -> float:
    """The most by which a mean product of two components of directions differs, in standard errors.

    Directions have no length, so what chance does follows from how large components are on average.
    """
    rows, rest = float(own.count.max()), float(others.count.max())
    if not rows or not rest:
        return 0.0
    size = (np.diagonal(own.at(1, 1)) + np.diagonal(others.at(1, 1))) / (rows + rest)
    chance = np.sqrt(np.outer(size, size) * (1 / rows + 1 / rest))
    unlike = np.abs(own.at(1, 1) / rows - others.at(1, 1) / rest)
    return float((unlike / np.where(chance > 0, chance, np.inf)).max())


def spread_of(sums: PairSums) -> Matrix:
    """(p + 1) E v v' from pair sums of directions v of (w, 1): the identity once rows are whitened.

    The trace is the number of rows, where far ones count less.
    """
    products = sums.at(1, 1)
    spread: Matrix = (products + products.T) * (sums.p / (2 * math.fsum(np.diagonal(products))))
    return spread
