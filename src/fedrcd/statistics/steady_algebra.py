"""Linear algebra that every machine rounds alike: eigenvectors, powers and triangles of small matrices.

Libraries of linear algebra add in an order that depends on the processor and the number of threads. Here every step is
one addition, multiplication, division or square root per element, as IEEE 754 rounds it; sums are rounded once.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

from fedrcd.typing import IntVector, Matrix, Vector

SWEEPS = 40
"""Jacobi's method doubles the digits in every sweep at the end; ten are many."""

SETTLED = 1e-15
"""Share of the largest diagonal element within which all others count as 0."""

SMALLEST = 1e-12
"""Least eigenvalue of which a power is taken."""

DIGITS = 40
"""Decimal digits in which powers are found before they are rounded."""


def eigen(symmetric: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues, in no order, and eigenvectors as columns: Jacobi's method, half of the variables turned at once."""
    A, V = symmetric.copy(), np.eye(len(symmetric))
    rounds = _pairings(len(A))
    for _ in range(SWEEPS):
        if np.abs(A - np.diag(np.diagonal(A))).max(initial=0.0) <= SETTLED * np.abs(np.diagonal(A)).max(initial=0.0):
            break
        for i, j in rounds:
            cos, sin = _rotations(A[i, i], A[j, j], A[i, j])
            for turned in (A, A.T, V.T):
                first, second = turned[i], turned[j]
                turned[i] = cos[:, None] * first - sin[:, None] * second
                turned[j] = sin[:, None] * first + cos[:, None] * second
    return np.diagonal(A).copy(), V


def _rotations(first: Vector, second: Vector, between: Vector) -> tuple[Vector, Vector]:
    """Cosines and sines of the turns after which nothing is left between two variables."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = (second - first) / (2 * between)
        tangent = np.where(slope < 0, -1.0, 1.0) / (np.abs(slope) + np.sqrt(slope * slope + 1))
    tangent = np.where(between == 0, 0.0, tangent)
    cos = 1 / np.sqrt(tangent * tangent + 1)
    return cos, tangent * cos


def _pairings(n: int) -> list[tuple[IntVector, IntVector]]:
    """Rounds of a tournament in which everybody meets everybody once."""
    players = [*range(n), *([-1] if n % 2 else [])]
    rounds = []
    for _ in range(len(players) - 1):
        met = [(a, b) for a, b in zip(players[: len(players) // 2], reversed(players), strict=False) if min(a, b) >= 0]
        rounds.append((np.array([a for a, _ in met], dtype=np.int64), np.array([b for _, b in met], dtype=np.int64)))
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def power(symmetric: Matrix, exponent: float) -> Matrix:
    """A power of a positive definite matrix."""
    values, vectors = eigen(symmetric)
    with localcontext() as context:
        context.prec = DIGITS
        raised = [float((Decimal(value).ln() * Decimal(exponent)).exp()) for value in np.maximum(values, SMALLEST)]
    return product(vectors * np.array(raised), vectors.T)


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B, added in the order of the columns of A."""
    total = np.zeros((len(A), B.shape[1]))
    for column, row in zip(A.T, B, strict=True):
        total += column[:, None] * row
    return total


def triangle(A: Matrix) -> Matrix:
    """The upper triangle R with R' R = A' A: Gram and Schmidt's method as modified."""
    left, upper = A.copy(), np.zeros_like(A)
    for k in range(len(A)):
        upper[k, k] = math.sqrt(math.fsum((left[:, k] * left[:, k]).tolist()))
        along = left[:, k] / upper[k, k]
        upper[k, k + 1 :] = _sums((left[:, k + 1 :] * along[:, None]).T)
        left[:, k + 1 :] -= along[:, None] * upper[k, k + 1 :]
    return upper


def solved(upper: Matrix, values: Vector) -> Vector:
    """X with R x = values, for an upper triangle R."""
    x = np.zeros(len(values))
    for k in reversed(range(len(values))):
        x[k] = (values[k] - math.fsum((upper[k, k + 1 :] * x[k + 1 :]).tolist())) / upper[k, k]
    return x


def applied(A: Matrix, x: Vector) -> Vector:
    """A x."""
    return _sums(A * x)


def _sums(rows: Matrix) -> Vector:
    return np.array([math.fsum(row) for row in rows.tolist()])
