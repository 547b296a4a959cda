r"""Sampling covariances of all pair cumulants: what a generalised least-squares fit weighs them by.

Third-order cumulants are listed as (i, j, j) for all (i, j), p² of them; fourth-order ones as (i, j, j, j) for all
(i, j) and then (i, i, j, j) for i < j. Variables have unit variance and correlation matrix S; covariances are times the
number of rows, which scales all alike and does not matter to an order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedrcd.typing import IntVector, Matrix, Vector


class Covariances(NamedTuple):
    """Of the third-order and of the fourth-order pair cumulants."""

    third: Matrix
    fourth: Matrix


def patterns(A: Matrix) -> tuple[Matrix, Matrix]:
    """Pair cumulants of A e when one error has unit third, or unit fourth, cumulant: a column per column of A."""
    i, j = np.triu_indices(len(A), 1)
    squares = A * A
    return _products(A, squares), np.concatenate([_products(A, squares * A), squares[i] * squares[j]])


def gaussian_covariances(S: Matrix) -> Covariances:
    """Covariances for Gaussian rows."""
    p = len(S)
    upper = _upper(p)
    ia, ib, ja, jb = S[:, None, :, None], S[:, None, None, :], S[None, :, :, None], S[None, :, None, :]
    third = _flat(2 * ia * jb**2 + 4 * ib * ja * jb)
    cubes = _flat(6 * ia * jb**3 + 18 * ib * ja * jb**2)
    mixed = _flat(12 * ia * ja * jb**2 + 12 * ib * jb * ja**2)[:, upper]
    squares = _flat(4 * ia**2 * jb**2 + 4 * ib**2 * ja**2 + 16 * ia * ib * ja * jb)[np.ix_(upper, upper)]
    return Covariances(third, np.block([[cubes, mixed], [mixed.T, squares]]))


def excess_covariances(S: Matrix, A: Matrix, k3: Vector, k4: Vector) -> Covariances:
    r"""What errors with cumulants k3 and k4 add to the Gaussian covariances, for x = A e.

    The cross cumulants (m, m, l), (m, m, l, k), (m, m, m, l) and (m, m, l, l) of errors vary otherwise than Gaussian
    ones, by k4[m], k4[m], mu6 - 6 mu4 + 3 and (mu4[m] - 1)(mu4[l] - 1) - 4. The first two enter through
    :math:`\Gamma = \sum_m \kappa_4(e_m)\, a_m^{\otimes 4}`; what that counts of the other two is corrected. (m, m, l)
    and (m, l, l) vary together, by k3[m] k3[l], and so do (m, m, m, l) and (m, l, l, l), by k4[m] k4[l]. mu6 is not
    known from cumulants up to order 4: 15 + 15 k4 + 10 k3² + c k4² is near it for the usual families.
    """
    p = len(S)
    k4 = np.maximum(np.clip(k4, -1.9, 1e3), k3**2 - 1.9)
    third, fourth = _by_single_errors(S, A, k4)
    mu4, mu6 = k4 + 3, 15 + 15 * k4 + 10 * k3**2 + np.where(k4 > 0, 10 / 3, 4.76) * k4**2
    F3, F4 = patterns(A)
    third -= (F3 * (9 * k4)) @ F3.T
    fourth -= (F4 * (72 * k4)) @ F4.T
    i, j = np.triu_indices(p, 1)
    m, other = np.nonzero(~np.eye(p, dtype=bool))
    swapped = np.argsort(other * p + m)  # the place of (other, m) for each (m, other)
    a, b = A[:, m], A[:, other]
    F = _products(b, a * a) + 2 * _products(a, a * b)
    third += (F * (k3[m] * k3[other])) @ F[:, swapped].T
    three_one = 2 * ((a * a)[i] * (a * b)[j] + (a * b)[i] * (a * a)[j])
    F = np.concatenate([_products(b, a**3) + 3 * _products(a, a * a * b), three_one])
    fourth += (F * (np.maximum(mu6 - 6 * mu4 + 3, -5.4) - 9 * k4)[m]) @ F.T
    fourth += (F * (k4[m] * k4[other])) @ F[:, swapped].T
    a, b = A[:, i], A[:, j]
    two_two = (a * a)[i] * (b * b)[j] + (b * b)[i] * (a * a)[j] + 4 * (a * b)[i] * (a * b)[j]
    F = np.concatenate([3 * _products(a, a * b * b) + 3 * _products(b, b * a * a), two_two])
    fourth += (F * (k4[i] * k4[j])) @ F.T
    return Covariances(third, fourth)


def _by_single_errors(S: Matrix, A: Matrix, k4: Vector) -> Covariances:
    r"""Terms in :math:`\Gamma S` and :math:`\Gamma S S` of the covariances of k-statistics.

    A cumulant (i, j, j) varies as :math:`a_j^2 z_i + 2 a_i a_j z_j`, (i, j, j, j) as
    :math:`3 a_j^2 z_i z_j + 3 a_i a_j z_j^2` and (i, i, j, j) as
    :math:`a_i^2 z_j^2 + a_j^2 z_i^2 + 4 a_i a_j z_i z_j`, z Gaussian with covariance S.
    """
    p = len(S)
    upper = _upper(p)
    pure = _products(A, A)
    ijab = ((pure * k4) @ pure.T).reshape(p, p, p, p)
    jjbb = np.einsum("jjbb->jb", ijab)[None, :, None, :]
    iibb = np.einsum("iibb->ib", ijab)[:, None, None, :]
    jjaa = np.einsum("jjaa->ja", ijab)[None, :, :, None]
    iiaa = np.einsum("iiaa->ia", ijab)[:, None, :, None]
    jjab = np.einsum("jjab->jab", ijab)[None]
    iiab = np.einsum("iiab->iab", ijab)[:, None]
    ijbb = np.einsum("ijbb->ijb", ijab)[:, :, None, :]
    ijaa = np.einsum("ijaa->ija", ijab)[:, :, :, None]
    ia, ib, ja, jb = S[:, None, :, None], S[:, None, None, :], S[None, :, :, None], S[None, :, None, :]
    third = _flat(jjbb * ia + 2 * jjab * ib + 2 * ijbb * ja + 4 * ijab * jb)
    cubes = 9 * _flat(jjbb * (ia * jb + ib * ja) + 2 * jjab * ib * jb + 2 * ijbb * ja * jb + 2 * ijab * jb**2)
    mixed = (
        3
        * _flat(
            2 * jjaa * ib * jb
            + 2 * jjbb * ia * ja
            + 4 * jjab * (ia * jb + ib * ja)
            + 2 * ijaa * jb**2
            + 2 * ijbb * ja**2
            + 8 * ijab * ja * jb
        )[:, upper]
    )
    squares = _flat(
        2 * iiaa * jb**2
        + 2 * iibb * ja**2
        + 2 * jjaa * ib**2
        + 2 * jjbb * ia**2
        + 8 * iiab * ja * jb
        + 8 * jjab * ia * ib
        + 8 * ijaa * ib * jb
        + 8 * ijbb * ia * ja
        + 16 * ijab * (ia * jb + ib * ja)
    )[np.ix_(upper, upper)]
    return Covariances(third, np.block([[cubes, mixed], [mixed.T, squares]]))


def _products(u: Matrix, w: Matrix) -> Matrix:
    """All products u[i] w[j] of two sets of columns, shape (p², columns)."""
    products: Matrix = (u[:, None] * w[None]).reshape(len(u) ** 2, -1)
    return products


def _flat(four: Matrix) -> Matrix:
    """An array over [i, j, a, b] as a matrix over pairs, shape (p², p²)."""
    p = len(four)
    return four.reshape(p * p, p * p)


def _upper(p: int) -> IntVector:
    """Places of the pairs i < j among all p² ordered pairs."""
    i, j = np.triu_indices(p, 1)
    return (i * p + j).astype(np.int64)
