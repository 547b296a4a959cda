"""What runs cost against what was estimated before: `fedrcd methods --p` prints the same."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np

import fedrcd
from benchmarks.measure import BenchmarkRow, seconds
from fedrcd.data.simulate.models import random_model
from fedrcd.methods.costs import Job, measured_speed
from fedrcd.methods.registry import METHODS
from fedrcd.protocol.site import available_threads

SIZES = ((20, 5000), (50, 3000), (50, 20_000))


def run() -> Iterator[BenchmarkRow]:
    """Seconds, the least of three, and peak memory of every method, over what is estimated for this machine."""
    fedrcd.discover(np.random.default_rng(0).laplace(size=(500, 4)), "fedrcd-s")  # imports are not what is measured
    for p, n in SIZES:
        rng = np.random.default_rng(p)
        X = random_model(p, degree=2, rng=rng).sample(n, rng)
        ratios = {name: _ratios(name, X) for name, card in METHODS.items() if card.cost is not None}
        for what, number in (("seconds", 0), ("memory", 1)):
            low, high = (pick(ratios, key=lambda name, k=number: ratios[name][k]) for pick in (min, max))
            figure = f"{ratios[low][number]:.2f} ({low}) to {ratios[high][number]:.2f} ({high})"
            yield BenchmarkRow(f"{what} over estimate, p = {p}, N = {n}, all methods", figure, "0.5 to 2")


def _ratios(method: str, X: np.ndarray) -> tuple[float, float]:
    estimate = METHODS[method].cost
    assert estimate is not None
    expected = estimate(Job(X.shape[1], len(X), 1, available_threads(), measured_speed()))
    took = seconds(lambda: fedrcd.discover(X, method), 3)
    tracemalloc.start()
    fedrcd.discover(X, method)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return took / expected.seconds, peak / expected.memory
