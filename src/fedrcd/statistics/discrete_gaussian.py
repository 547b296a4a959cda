r"""Discrete Gaussian noise: whole numbers, drawn from random bytes.

The probability of k is proportional to :math:`\exp(-k^2 / 2 \sigma^2)` for :math:`|k| \le 9 \sigma`. Noise on whole
sums has no digits that tell the sum, which noise in floating point has (Mironov 2012).

Numbers are drawn evenly from a window around 0, exactly, and kept with probability :math:`e^{-x}`,
:math:`x = k^2 / 2 \sigma^2`. With :math:`e^{-x} = 2^{-a} f` and f in (1/2, 1], a random bits must all be 0, which is
exact, and 53 more be below f. So only f is rounded, and every probability is right to a relative error of 1e-13,
whichever k: that is the error of x <= 41 in float64 twelve times over. The privacy loss of a number is off by twice as
much at most. A Gaussian number lies beyond the window with probability 2.3e-19.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.typing import IntVector, Vector

RandomBytes = Callable[[int], bytes]
"""So many bytes that nobody can foresee."""

WINDOW = 9.0
"""Standard deviations within which numbers lie."""

LARGEST = 2.0**58
"""Standard deviations above this do not fit the window into 63 bits."""

BITS = 64
"""Of a random word."""

DRAWS = 8
"""From the window for each number at a time; one in 7.2 is kept."""


def discrete_gaussian(sigma: Vector, random: RandomBytes = os.urandom) -> IntVector:
    """Independent whole numbers with these standard deviations, from random bytes."""
    if not (np.isfinite(sigma).all() and (sigma >= 1).all() and (sigma <= LARGEST).all()):
        raise StatisticError(f"the standard deviation of whole noise must lie between 1 and 2^58, got {sigma.max():g}")
    drawn = np.zeros(sigma.shape, dtype=np.int64)
    missing = np.arange(len(sigma))
    while len(missing):
        tries = np.repeat(missing, DRAWS)
        numbers, kept = _tries(sigma[tries], random)
        chosen, first = np.unique(tries[kept], return_index=True)
        drawn[chosen] = numbers[kept][first]
        missing = np.setdiff1d(missing, chosen, assume_unique=True)
    return drawn


def _tries(sigma: Vector, random: RandomBytes) -> tuple[IntVector, np.ndarray]:
    """Even draws from the window of each sigma, and which of them are kept."""
    reach = np.floor(WINDOW * sigma).astype(np.int64)
    width = (2 * reach + 1).astype(np.uint64)
    bits = np.ceil(np.log2(width.astype(float) + 1)).astype(np.uint64)
    raw = _words(len(sigma), random) >> (np.uint64(BITS) - bits)
    numbers = raw.astype(np.int64) - reach
    inside = raw < width
    x = (numbers / sigma) ** 2 / 2
    halvings = np.minimum(np.floor(x / np.log(2)), BITS - 1)
    fraction = np.exp(halvings * np.log(2) - x)
    zeros = _words(len(sigma), random) << (np.uint64(BITS - 1) - halvings.astype(np.uint64)) << np.uint64(1)
    uniform = (_words(len(sigma), random) >> np.uint64(11)) * 2.0**-53
    return numbers, inside & (zeros == 0) & (uniform < fraction)


def _words(count: int, random: RandomBytes) -> np.ndarray:
    return np.frombuffer(random(8 * count), dtype=np.uint64)
