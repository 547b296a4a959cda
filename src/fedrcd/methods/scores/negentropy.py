r"""The negentropy gap: which of two variables is the cause, whatever their units.

Among :math:`x_i \to x_j` and :math:`x_j \to x_i` the right direction leaves regressor and residual less Gaussian in
total. With J an approximation of negentropy from third and fourth cumulants of standardised variables,

.. math:: D_{ij} = J(x_i) + J(r_{j|i}) - J(x_j) - J(r_{i|j}), \qquad
          gap_{ij} = \frac{D_{ij}}{J(x_i) + J(x_j) + J(r_{i|j}) + J(r_{j|i})},

is positive where i causes j (Hyvarinen and Smith, 2013, with cumulants in place of log cosh). A candidate source is
charged :math:`\sum_j \min(0, gap_{ij})^2`. Everything follows from pair cumulants, by multilinearity. Third cumulants
count as far as they are more than sampling error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np

from fedrcd.statistics.pair_cumulants import PairCumulants
from fedrcd.typing import IntMatrix, Matrix, Vector

Negentropy = Literal["edgeworth", "boundary"]
Contrast = Literal["edgeworth", "boundary", "as measured"]
"""The same, and the Edgeworth value with third cumulants as they are, where noise makes all of them uncertain alike."""

COLLINEAR = 1e-9
"""Pairs with less than this share of variance left given each other say nothing about direction."""

LEAST_DISTANCE = 0.05
"""From the boundary of what third and fourth cumulants can be together: estimates may lie beyond it."""

CAUTION = 3.0
"""Sampling variances that the square of a third cumulant must reach to count half."""


def edgeworth(k3: Matrix, k4: Matrix) -> Matrix:
    """J from the Edgeworth expansion: k3²/12 + k4²/48; good near the Gaussian, too large in heavy tails."""
    return k3**2 / 12 + k4**2 / 48


def boundary(k3: Matrix, k4: Matrix) -> Matrix:
    """J that grows linearly in heavy tails and stays near the true value for short ones.

    For every distribution k4 >= k3² - 2, with equality for two points only; the distance from that boundary divides
    the Edgeworth value and is one at the Gaussian (up to the factor 2).
    """
    J: Matrix = (4 * k3**2 + k4**2) / (24 * namespace(k4).clip(2 + k4 - k3**2, LEAST_DISTANCE, None))
    return J


NEGENTROPIES: Mapping[str, Callable[[Matrix, Matrix], Matrix]] = {
    "edgeworth": edgeworth,
    "boundary": boundary,
    "as measured": edgeworth,
}


def beyond_chance(k3: Matrix, k4: Matrix, rows: int | IntMatrix) -> Matrix:
    r"""Third cumulants of unit-variance variables, shrunk where they may be sampling error.

    In heavy tails most of a third cumulant from few rows is chance, which would outvote the fourth.
    """
    shrunk: Matrix = k3 * namespace(k3).sqrt(k3**2 / (k3**2 + CAUTION * chance_of_third(k4) / rows))
    return shrunk


def chance_of_third(k4: Matrix) -> Matrix:
    r"""Rows times the variance over samples of the third cumulant of a symmetric variable of unit variance.

    It is :math:`6 + 9 \kappa_4 + \kappa_6`, with :math:`\frac{10}{3} \kappa_4^2` for :math:`\kappa_6`, which is
    right for Laplace and gamma variables. For tails shorter than the Gaussian's, the Gaussian's is taken.
    """
    tails = namespace(k4).clip(k4, 0.0, None)
    variance: Matrix = 6 + 9 * tails + 10 / 3 * tails**2
    return variance


def negentropy_of(name: Contrast, k3: Matrix, k4: Matrix, rows: int | IntMatrix) -> Matrix:
    """J of variables of unit variance whose cumulants were estimated from so many rows."""
    return NEGENTROPIES[name](k3 if name == "as measured" else beyond_chance(k3, k4, rows), k4)


@dataclass(frozen=True, slots=True)
class NegentropyGap:
    """Score of candidates by the negentropy gap of all pairs."""

    negentropy: Contrast = "boundary"

    def __call__(self, k: PairCumulants) -> Vector:
        """Minus the charge of each candidate."""
        charge: Vector = (np.minimum(gap(k, self.negentropy), 0) ** 2).sum(axis=1)
        return -charge


def gap(k: PairCumulants, negentropy: Contrast) -> Matrix:
    """The negentropy gap at [i, j], antisymmetric; positive speaks for i -> j."""
    u = k.standardised()
    return standardised_gap(u.cov, u.k3, u.k12, u.k4, u.k13, u.k22, k.count, negentropy)


def standardised_gap(
    rho: Matrix,
    k3: Matrix,
    k12: Matrix,
    k4: Matrix,
    k13: Matrix,
    k22: Matrix,
    rows: int | IntMatrix,
    negentropy: Contrast,
) -> Matrix:
    """The same from the pair cumulants of variables of unit variance; arrays of NumPy or of a card."""
    xp = namespace(rho)
    left = 1 - rho**2
    usable = left > COLLINEAR  # which no variable is with itself
    left = xp.where(usable, left, 1.0)
    # Cumulants of the residual of i given j, at [i, j].
    third = (k3 - 3 * rho * k12.T + 3 * rho**2 * k12 - rho**3 * k3.T) / left**1.5
    fourth = (k4 - 4 * rho * k13.T + 6 * rho**2 * k22 - 4 * rho**3 * k13 + rho**4 * k4.T) / left**2
    own, residual = negentropy_of(negentropy, k3, k4, rows), negentropy_of(negentropy, third, fourth, rows)
    difference = own + residual.T - own.T - residual
    total = own + own.T + residual + residual.T
    told = usable & (total > 0)
    relative: Matrix = xp.where(told, difference / xp.where(told, total, 1.0), 0.0)
    return relative


def namespace(array: Any) -> Any:
    """The library an array is of; all have the functions used here by the names of the array API standard."""
    if isinstance(array, np.ndarray | np.generic | float | int):
        return np
    own = getattr(array, "__array_namespace__", None)
    return own() if own else import_module("array_api_compat").array_namespace(array)
