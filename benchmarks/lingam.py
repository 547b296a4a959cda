"""Orders of one table: ours against the `lingam` package."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import fedrcd
from benchmarks.measure import Row
from fedrcd.data.simulate import random_model


def run() -> Iterator[Row]:
    """Whole fits at p = 50, N = 20000, Laplace noise."""
    import lingam

    rng = np.random.default_rng(0)
    model = random_model(50, rng=rng)
    X = model.sample(20_000, rng)
    fedrcd.discover(X[:1000], "direct-lingam")  # imports are not what is measured
    seconds, orders = {}, {}
    for name in ("direct-lingam", "fedrcd-s", "lingam"):
        start = time.perf_counter()
        if name == "lingam":
            orders[name] = lingam.DirectLiNGAM().fit(X).causal_order_
        else:
            orders[name] = fedrcd.FedLiNGAM(name, weights="bic").fit(X).causal_order_
        seconds[name] = time.perf_counter() - start
    for name, limit in (("direct-lingam", ">= 10"), ("fedrcd-s", ">= 25")):
        yield Row(f"lingam.DirectLiNGAM / {name}, seconds of a fit", f"{seconds['lingam'] / seconds[name]:.0f}", limit)
    same = orders["direct-lingam"] == list(orders["lingam"])
    yield Row("direct-lingam gives lingam's order", "yes" if same else "no", "yes")
    yield Row("seconds of lingam.DirectLiNGAM", f"{seconds['lingam']:.0f}")
