"""Orders of one table: ours against the `lingam` package."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fedrcd
from benchmarks.measure import BenchmarkRow, seconds
from fedrcd.data.simulate.models import random_model


def run() -> Iterator[BenchmarkRow]:
    """Whole fits at p = 50, N = 20000, Laplace noise; ours, a second or two long, the least of three."""
    import lingam

    rng = np.random.default_rng(0)
    model = random_model(50, rng=rng)
    X = model.sample(20_000, rng)
    fedrcd.discover(X[:1000], "direct-lingam")  # imports are not what is measured
    theirs = lingam.DirectLiNGAM()
    reference = seconds(lambda: theirs.fit(X))
    for name, limit in (("direct-lingam", ">= 10"), ("fedrcd-s", ">= 25")):
        ours = fedrcd.FedLiNGAM(name, weights="bic")
        ratio = reference / seconds(lambda ours=ours: ours.fit(X), repeats=3)
        yield BenchmarkRow(f"lingam.DirectLiNGAM / {name}, seconds of a fit", f"{ratio:.1f}", limit)
        if name == "direct-lingam":
            same = ours.causal_order_ == list(theirs.causal_order_)
            yield BenchmarkRow("direct-lingam gives lingam's order", "yes" if same else "no", "yes")
    yield BenchmarkRow("seconds of lingam.DirectLiNGAM", f"{reference:.0f}")
