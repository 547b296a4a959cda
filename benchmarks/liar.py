"""What one site does that sends sums of a table it made up: under masks nobody sees them, so nothing stops it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fedrcd
from benchmarks.measure import BenchmarkRow
from fedrcd.data.simulate.models import random_model
from fedrcd.graphs.dag import ancestry
from fedrcd.typing import Matrix

P, ROWS, GRAPHS = 8, 1000, 20
METHODS = ("fedrcd-s", "fedrcd-sx", "fedrcd-r")


def run() -> Iterator[BenchmarkRow]:
    """Sites of 1,000 rows, eight variables; the liar has the moments of the others, and effects turned round."""
    for sites in (3, 5, 10, 20):
        for method in METHODS:
            shares = [_turned(method, sites, seed) for seed in range(GRAPHS)]
            error = np.std(shares, ddof=1) / np.sqrt(GRAPHS)
            what = f"{method}: causal pairs turned by one of {sites} sites"
            yield BenchmarkRow(what, f"{np.mean(shares):.2f} ± {error:.2f}")


def _turned(method: str, sites: int, seed: int) -> float:
    """Share of the causal pairs that the result with the liar has the other way round."""
    rng = np.random.default_rng([19, seed])
    model = random_model(P, degree=2, rng=rng)
    tables = np.split(model.sample(sites * ROWS, rng), sites)
    tables[-1] = _made_up(np.concatenate(tables[:-1]), rng)
    order = [int(name[1:]) - 1 for name in fedrcd.discover(tables, method, weights="none").order]
    related, place = ancestry(model.B), np.argsort(order)
    return float((related & (place[:, None] < place[None, :])).sum() / max(related.sum(), 1))


def _made_up(honest: Matrix, rng: np.random.Generator) -> Matrix:
    """Rows with the mean and covariance of others, in which causes follow from effects, by errors with heavy tails."""
    turned = [int(name[1:]) - 1 for name in reversed(fedrcd.discover(honest, "fedrcd-s").order)]
    noise = rng.standard_exponential((ROWS, P)) ** 5
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0)
    rows = np.empty_like(noise)
    rows[:, turned] = noise @ np.linalg.cholesky(np.cov(honest.T)[np.ix_(turned, turned)]).T
    return rows + honest.mean(axis=0)
