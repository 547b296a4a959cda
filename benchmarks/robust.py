"""What robustness costs, and whether the method is right where rows are so many that chance plays no part."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import fedrcd
from benchmarks.measure import BenchmarkRow
from fedrcd.data.simulate.models import random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.graphs.metrics import ancestral_accuracy

ROBUST, PLAIN = "fedrcd-r", "fedrcd-s"
P, ROWS, PAIRS = 50, 20_000, 3
FEW, MANY, GRAPHS = 6, 1_000_000, 50


def run() -> Iterator[BenchmarkRow]:
    """CPU seconds of whole fits in turn, the least of three each; orders of fifty graphs, each from a million rows."""
    rng = np.random.default_rng(0)
    X = random_model(P, degree=2, rng=rng).sample(ROWS, rng)
    for arithmetic in ("float", "exact"):
        took: dict[str, list[float]] = {ROBUST: [], PLAIN: []}
        for _ in range(PAIRS):
            for method, times in took.items():
                times.append(_cpu(partial(fedrcd.discover, X, method, arithmetic=arithmetic)))
        ratio = min(took[ROBUST]) / min(took[PLAIN])
        what = f"{ROBUST} over {PLAIN}, p = {P}, N = {ROWS}, {arithmetic}"
        yield BenchmarkRow(what, f"{ratio:.2f}", "<= 2.5")
    valid = sum(_valid(seed) for seed in range(GRAPHS))
    yield BenchmarkRow(
        f"graphs of {FEW} variables whose order is valid, N = {MANY}", f"{valid} of {GRAPHS}", str(GRAPHS)
    )


def _cpu(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _valid(seed: int) -> bool:
    """Whether no effect stands before its cause; families of noise take turns."""
    rng = np.random.default_rng([18, seed])
    model = random_model(FEW, noise=NOISE_FAMILIES[seed % len(NOISE_FAMILIES)], rng=rng)
    found = fedrcd.discover(model.sample(MANY, rng), ROBUST, weights="none")
    return ancestral_accuracy([found.names.index(name) for name in found.order], model.B) == 1.0
