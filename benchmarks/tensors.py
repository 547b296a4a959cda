"""Tensor sums against one bare symmetric product of the same arithmetic, and the growth of fedrcd-s and fed-direct."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from math import comb, isqrt

import numpy as np
from threadpoolctl import threadpool_limits

import fedrcd
from benchmarks.measure import BenchmarkRow, side_by_side
from fedrcd.data.simulate.models import random_model
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.frame import propose_frame


def run() -> Iterator[BenchmarkRow]:
    """The packed tensor at p = 50 and N = 20000; fits at growing p with N = 5000."""
    yield from _ratio()
    for method, sizes in (("fedrcd-s", (10, 20, 50, 80)), ("fed-direct", (10, 20, 50, 100))):
        yield from _growth(method, sizes)


def _ratio() -> Iterator[BenchmarkRow]:
    p, n = 50, 20_000
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(n, p))
    side = isqrt(2 * comb(p + 4, 4))  # a symmetric product with as many distinct entries as the packed tensor
    columns = rng.standard_normal((n, side))
    names = tuple(f"x{j}" for j in range(p))
    question = TensorQuestion(names, propose_frame([lambda: iter([X])], [len(X)]))

    def one_thread_product() -> None:
        with threadpool_limits(1, user_api="blas"):
            columns.T @ columns

    bare, bare_one, ours, ours_one = side_by_side(
        lambda: columns.T @ columns,
        one_thread_product,
        lambda: LocalSite.of("site", X, names).answer(question),
        lambda: LocalSite.of("site", X, names, threads=1).answer(question),
        repeats=20,
    )
    yield BenchmarkRow("tensor sums / bare symmetric product, all threads", f"{ours / bare:.2f}", "<= 1.5")
    yield BenchmarkRow("tensor sums / bare symmetric product, one thread", f"{ours_one / bare_one:.2f}", "<= 1.5")


def _growth(method: str, sizes: tuple[int, ...]) -> Iterator[BenchmarkRow]:
    times = []
    fedrcd.discover(np.random.default_rng(0).laplace(size=(1000, 3)), method)  # imports are not what is measured
    for p in sizes:
        rng = np.random.default_rng(p)
        X = random_model(p, degree=2, rng=rng).sample(5000, rng)
        start = time.perf_counter()
        fedrcd.discover(X, method)
        times.append(time.perf_counter() - start)
        tracemalloc.start()
        fedrcd.discover(X, method)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        yield BenchmarkRow(f"{method}, p = {p}, N = 5000", f"{times[-1]:.2f} s, {peak / 1e6:.0f} MB")
    exponent = np.polyfit(np.log(sizes[1:]), np.log(times[1:]), 1)[0]
    yield BenchmarkRow(
        f"{method}, time grows as p to the power", f"{exponent:.1f}", f"fitted to p = {sizes[1]} .. {sizes[-1]}"
    )
