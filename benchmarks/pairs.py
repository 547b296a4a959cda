"""Pair sums and a whole fedrcd-ni discovery against the bare matrix products they consist of."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

import fedrcd
from benchmarks.measure import BenchmarkRow, side_by_side
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.statistics.frame import propose_frame
from fedrcd.statistics.grid import ARITHMETIC


def run() -> Iterator[BenchmarkRow]:
    """At p = 50, N = 1e6: z'z, z'z2, z'z3 and z2'z2, all in memory, against everything from the table on."""
    X = np.random.default_rng(0).laplace(size=(1_000_000, 50))
    names = tuple(f"x{j}" for j in range(50))
    z2 = X * X
    z3 = z2 * X
    question = PairQuestion(names, propose_frame([lambda: iter([X])], [len(X)]), 4)
    exact, compact = (replace(question, grid=ARITHMETIC[name]) for name in ("exact", "compact"))

    def products() -> None:
        for a, b in ((X, X), (X, z2), (X, z3), (z2, z2)):
            a.T @ b

    def one_thread_products() -> None:
        with threadpool_limits(1, user_api="blas"):
            products()

    bare, bare_one, ours, ours_one, ours_exact, ours_compact, whole = side_by_side(
        products,
        one_thread_products,
        lambda: LocalSite.of("site", X, names).answer(question),
        lambda: LocalSite.of("site", X, names, threads=1).answer(question),
        lambda: LocalSite.of("site", X, names).answer(exact),
        lambda: LocalSite.of("site", X, names).answer(compact),
        lambda: fedrcd.discover(X, "fedrcd-ni"),
    )
    yield BenchmarkRow("pair sums / four bare products, all threads", f"{ours / bare:.2f}", "<= 1.5")
    yield BenchmarkRow("pair sums / four bare products, one thread each", f"{ours_one / bare_one:.2f}", "<= 1.5")
    yield BenchmarkRow("exact pair sums (21 bits) / float64 pair sums", f"{ours_exact / ours:.2f}", "<= 3")
    yield BenchmarkRow("compact exact pair sums (11 bits) / float64 pair sums", f"{ours_compact / ours:.2f}", "<= 1.2")
    yield BenchmarkRow("whole fedrcd-ni discovery / four bare products", f"{whole / bare:.2f}", "<= 2.5")
    tracemalloc.start()
    LocalSite.of("site", X, names).answer(question)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield BenchmarkRow("memory of pair sums beyond the table of 400 MB", f"{peak / 1e6:.1f} MB", "constant in rows")
