r"""Linear NOTEARS with the least-squares loss (Zheng et al. 2018), from a covariance matrix.

The loss :math:`\tfrac{1}{2n} \|X - X W\|_F^2 = \tfrac12 \mathrm{tr}\,(I - W)^\top S (I - W)` reads the data through the
covariance S alone. Sums of squares and products add over sites, so this is federated NOTEARS without approximation:
schemes that alternate between sites, such as NOTEARS-ADMM, have this solution as their limit. It is written here
because the packages that offer it could not be had: the original is not on PyPI, gCastle and DAGMA import PyTorch.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

from fedrcd.graphs.dag import is_acyclic
from fedrcd.typing import Matrix, Vector

STEPS = 100
TOLERANCE = 1e-8
LARGEST_PENALTY = 1e16


def notears(cov: Matrix, *, penalty: float = 0.1, threshold: float = 0.3) -> Matrix:
    """Effects B, shape (p, p), with B[i, j] the effect of j on i; acyclic.

    Parameters
    ----------
    cov : (p, p) array
        Covariance matrix.
    penalty : float
        Of the absolute values of the weights.
    threshold : float
        Smaller weights are no edges; raised, weight by weight, while a cycle is left. Both defaults are the original's.
    """
    W = _weights(cov, penalty)
    sizes = np.sort(np.abs(W[np.abs(W) > 0]))
    for cut in (threshold, *(float(b) for _, b in pairwise(sizes) if b > threshold)):
        B: Matrix = np.where(np.abs(W) > cut, W, 0.0).T
        if is_acyclic(B):
            return B
    return np.zeros_like(cov)


def _weights(cov: Matrix, penalty: float) -> Matrix:
    """Solution of the augmented Lagrangian, ``W[j, i]`` the effect of j on i."""
    p = len(cov)
    bounds = [(0.0, 0.0) if i == j else (0.0, None) for _ in range(2) for i in range(p) for j in range(p)]
    w, rho, multiplier, h = np.zeros(2 * p * p), 1.0, 0.0, np.inf
    for _ in range(STEPS):
        new, new_h = w, h
        while rho < LARGEST_PENALTY:
            arguments = (cov, penalty, rho, multiplier)
            new = minimize(_lagrangian, w, arguments, method="L-BFGS-B", jac=True, bounds=bounds).x
            new_h = _acyclicity(_joined(new, p))[0]
            if new_h <= 0.25 * h:
                break
            rho *= 10
        w, h = new, new_h
        multiplier += rho * h
        if h <= TOLERANCE or rho >= LARGEST_PENALTY:
            break
    return _joined(w, p)


def _lagrangian(w: Vector, cov: Matrix, penalty: float, rho: float, multiplier: float) -> tuple[float, Vector]:
    """Value and gradient; positive and negative parts of the weights are variables of their own."""
    W = _joined(w, len(cov))
    left = cov @ (np.eye(len(cov)) - W)
    loss = 0.5 * float(np.trace(left) - np.sum(W * left))
    h, slope = _acyclicity(W)
    value = loss + 0.5 * rho * h * h + multiplier * h + penalty * float(w.sum())
    gradient = -left + (rho * h + multiplier) * slope
    return value, np.concatenate([gradient + penalty, -gradient + penalty], axis=None)


def _acyclicity(W: Matrix) -> tuple[float, Matrix]:
    """A smooth measure of cycles, zero without any, and its gradient (Yu et al. 2019)."""
    p = len(W)
    M = np.eye(p) + W * W / p
    E = np.linalg.matrix_power(M, p - 1)
    return float(np.sum(E.T * M)) - p, E.T * W * 2


def _joined(w: Vector, p: int) -> Matrix:
    return (w[: p * p] - w[p * p :]).reshape(p, p)
