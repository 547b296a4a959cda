"""Many variables: what the coordinator adds to the sums of sites, and one round against many."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, isqrt

import numpy as np
from threadpoolctl import threadpool_limits

import fedrcd
from benchmarks.measure import BenchmarkRow, seconds, side_by_side
from fedrcd.data.simulate.models import random_model
from fedrcd.methods.weights import Weights
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.frame import propose_frame


def run() -> Iterator[BenchmarkRow]:
    """Random graphs with two parents each on average; least times of alternatives that take turns."""
    yield from _against_products()
    yield from _coordinator()
    yield from _one_round()
    yield from _weights()


def _drawn(p: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(p)
    return random_model(p, degree=2, rng=rng).sample(n, rng)


def _against_products() -> Iterator[BenchmarkRow]:
    """A whole fit over the multiply-adds of its tensor, at the rate of a symmetric product."""
    p, n = 50, 20_000
    X, side = _drawn(p, n), isqrt(2 * comb(p + 3, 4))
    columns = np.random.default_rng(0).standard_normal((n, side))

    def product() -> None:
        with threadpool_limits(1, user_api="blas"):
            columns.T @ columns

    fedrcd.discover(X[:500, :5], "fedrcd-s")  # imports are not what is measured
    bare, whole = side_by_side(product, lambda: fedrcd.discover(X, "fedrcd-s"), repeats=3)
    what = "whole fedrcd-s, p = 50, N = 20000 / bare symmetric product, one thread"
    yield BenchmarkRow(what, f"{whole / bare:.2f}", "<= 2")


def _coordinator() -> Iterator[BenchmarkRow]:
    p, n = 80, 20_000
    X = _drawn(p, n)
    names = tuple(f"x{j}" for j in range(p))
    question = TensorQuestion(names, propose_frame([lambda: iter([X])], [len(X)]))
    sums, whole = side_by_side(
        lambda: LocalSite.of("site", X, names).answer(question), lambda: fedrcd.discover(X, "fedrcd-s"), repeats=3
    )
    what = "all but tensor sums / tensor sums, fedrcd-s, p = 80, N = 20000"
    yield BenchmarkRow(what, f"{whole / sums - 1:.2f}", "<= 1.5")


def _one_round() -> Iterator[BenchmarkRow]:
    X = _drawn(107, 1000)
    once, often = side_by_side(
        lambda: fedrcd.discover(X, "fedrcd-s"), lambda: fedrcd.discover(X, "fedrcd-sx"), repeats=2
    )
    yield BenchmarkRow("fedrcd-s / fedrcd-sx, p = 107, N = 1000", f"{once / often:.1f}", "<= 5")


def _weights() -> Iterator[BenchmarkRow]:
    p, n = 1000, 10_000
    rng = np.random.default_rng(0)
    B = random_model(p, degree=2, rng=rng).B
    mixing = np.linalg.inv(np.eye(p) - B)
    cov = mixing @ mixing.T
    order = np.argsort((mixing != 0).sum(axis=1), kind="stable").astype(np.int64)
    yield BenchmarkRow(
        "effects along an order, p = 1000", f"{seconds(lambda: Weights(correlation=True).along(order, cov, n)):.1f} s"
    )
