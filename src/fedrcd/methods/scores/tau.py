"""Pairwise asymmetries of cumulants that vanish in row i when x_i is a source."""

from __future__ import annotations

import numpy as np

from fedrcd.statistics.pair_cumulants import PairCumulants
from fedrcd.typing import Matrix, Vector


def tau4(k: PairCumulants) -> Vector:
    """Minus the row sums of the fourth-order asymmetry [P, Eqs. tau4, source]."""
    return -_row_sums(tau4_matrix(k))


def tau3(k: PairCumulants) -> Vector:
    """Minus the row sums of the third-order asymmetry [P, Eq. tau3]."""
    return -_row_sums(tau3_matrix(k))


def tau4_matrix(k: PairCumulants) -> Matrix:
    r""":math:`|\kappa_4(x_i) \kappa_{1,3}(x_i, x_j) - \kappa_{2,2}(x_i, x_j) \kappa_{3,1}(x_i, x_j)|` at [i, j]."""
    return np.abs(k.k4 * k.k13 - k.k22 * k.k31)


def tau3_matrix(k: PairCumulants) -> Matrix:
    r""":math:`|\kappa_3(x_i) \kappa_{1,2}(x_i, x_j) - \kappa_{2,1}(x_i, x_j) \kappa_{1,2}(x_j, x_i)|` at [i, j].

    :math:`\kappa_{1,2}(x_j, x_i)` has one copy of x_j and two of x_i, so the second term is the square of
    :math:`\kappa_{2,1}(x_i, x_j)`. There is no denominator, although the paper's text speaks of one.
    """
    return np.abs(k.k3 * k.k12 - k.k21**2)


def _row_sums(tau: Matrix) -> Vector:
    """Sums over j other than i."""
    total: Vector = tau.sum(axis=1) - np.diagonal(tau)
    return total
