"""How far each variable is from Gaussian, in standard errors: without distance the order is not identified."""

from __future__ import annotations

import numpy as np

from fedrcd.statistics.entropy_sums import GAMMA, EntropySums
from fedrcd.statistics.pair_cumulants import PairCumulants
from fedrcd.typing import Vector

LOG_COSH_VARIANCE = 0.0063279
"""Variance over rows of log cosh u of a standardised Gaussian, less what standardising by the sample takes away."""

GAUSS_VARIANCE = 3**-1.5 - 1 / 8
"""The same for u exp(-u²/2)."""


def distance_from_gaussian(k: PairCumulants) -> Vector:
    """The larger of standardised skewness and excess kurtosis per variable, in standard errors of Gaussian rows.

    Below order 4 only what the order holds is used; of the covariance alone nothing can be said, and the distance
    is infinite.
    """
    if not k.k12.size:
        return np.full(k.p, np.inf)
    n, variance = k.count.min(), np.diagonal(k.cov)
    distance: Vector = np.abs(np.diagonal(k.k12)) / variance**1.5 / np.sqrt(6 / n)
    if k.k13.size:
        distance = np.maximum(distance, np.abs(np.diagonal(k.k13)) / variance**2 / np.sqrt(24 / n))
    return distance


def entropy_distance_from_gaussian(sums: EntropySums) -> Vector:
    """The larger of both entropy terms' distance from their Gaussian values, in standard errors."""
    n = sums.count
    log_cosh = np.abs(sums.log_cosh / n - GAMMA) / np.sqrt(LOG_COSH_VARIANCE / n)
    gauss = np.abs(sums.gauss / n) / np.sqrt(GAUSS_VARIANCE / n)
    distance: Vector = np.maximum(log_cosh, gauss)
    return distance
