"""Covariances whose entries come from different rows need not be positive definite; this makes them so."""

from __future__ import annotations

import numpy as np

from fedrcd.typing import Matrix

INDEFINITE = 1e-6
FLOOR = 1e-3


def positive_definite(cov: Matrix) -> tuple[Matrix, bool]:
    """A positive definite covariance near the given one, and whether it had to be changed.

    A correlation matrix with an eigenvalue below `INDEFINITE` gets all eigenvalues below `FLOOR` raised to it and its
    diagonal scaled back to one; variances stay as they are. Covariances of complete rows are never changed.
    """
    sd = np.sqrt(np.diagonal(cov))
    values, vectors = np.linalg.eigh(cov / np.outer(sd, sd))
    if values[0] >= INDEFINITE:
        return cov, False
    raised = (vectors * np.maximum(values, FLOOR)) @ vectors.T
    size = sd / np.sqrt(np.diagonal(raised))
    repaired: Matrix = raised * np.outer(size, size)
    return (repaired + repaired.T) / 2, True
