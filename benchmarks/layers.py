"""Several sources in a round against one at a time: rounds, seconds, and the share of ancestors before descendants."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fedrcd
from benchmarks.measure import BenchmarkRow, seconds
from fedrcd.data.simulate.models import random_model
from fedrcd.graphs.metrics import ancestral_accuracy

SMALL = ((10, 500), (10, 2000), (20, 500), (20, 2000))
GRAPHS = 20


def run() -> Iterator[BenchmarkRow]:
    """Random graphs with two parents each on average, Laplace noise."""
    for method in ("fedrcd-sx", "fed-direct"):
        rights, rounds = [], []
        for p, n in SMALL:
            for seed in range(GRAPHS):
                right, asked, _ = _compared(method, p, n, seed)
                rights.append(right)
                rounds.append(asked)
        one, several = np.mean(rights, axis=0)
        what = f"{method}, p = 10 and 20, {len(rights)} graphs: ancestors before descendants"
        yield BenchmarkRow(what, f"{several - one:+.4f} to {one:.4f}", ">= -0.001")
        yield BenchmarkRow(f"{method}, the same: rounds", f"{np.mean([b / a for a, b in rounds]):.2f}")
    for method, n in (("fedrcd-sx", 3000), ("fed-direct", 1000)):
        (one, several), (before, after), (slow, fast) = _compared(method, 100, n, 0)
        yield BenchmarkRow(f"{method}, p = 100: rounds", f"{after} of {before}", "<= 1 / 3")
        yield BenchmarkRow(f"{method}, p = 100: ancestors before descendants", f"{several - one:+.4f}", ">= -0.001")
        yield BenchmarkRow(f"{method}, p = 100: seconds", f"{fast / slow:.2f} of one at a time")


def _compared(
    method: str, p: int, n: int, seed: int
) -> tuple[tuple[float, float], tuple[int, int], tuple[float, float]]:
    """Accuracy, rounds and seconds, each one at a time and in layers."""
    rng = np.random.default_rng([seed, p, n])
    model = random_model(p, degree=2, rng=rng)
    X = model.sample(n, rng)
    found = []
    times = [
        seconds(lambda layers=layers: found.append(fedrcd.discover(X, method, layers=layers)))
        for layers in (False, True)
    ]
    orders = [[int(name[1:]) - 1 for name in one.order] for one in found]
    rights = [ancestral_accuracy(order, model.B) for order in orders]
    return (rights[0], rights[1]), (found[0].rounds, found[1].rounds), (times[0], times[1])
