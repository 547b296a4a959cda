"""What it costs to leave out rows that make up much of a fourth moment: rows lost, and ancestors before descendants."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fedrcd
from benchmarks.measure import BenchmarkRow
from fedrcd.data.simulate.models import random_model
from fedrcd.data.table import Table
from fedrcd.federation.site.dominance import without_dominant_rows
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.typing import Matrix

SHARES = (1.0, 0.5, 0.25, 0.1)
"""Smaller ones may leave nothing of 1,000 rows with heavy tails."""
NOISE = ("uniform", "laplace", "gaussian-cubed")
GRAPHS = 20
SITES, ROWS, P = 3, 1000, 10


def run() -> Iterator[BenchmarkRow]:
    """Random graphs of ten variables over three sites of 1,000 rows; every site leaves out its own rows."""
    for noise in NOISE:
        for share in SHARES:
            lost, rights = zip(*(_measured(noise, share, seed) for seed in range(GRAPHS)), strict=True)
            error = np.std(rights, ddof=1) / np.sqrt(GRAPHS)
            said = f"{np.mean(rights):.3f} ± {error:.3f}"
            yield BenchmarkRow(f"{noise}, share {share:g}: {np.mean(lost):.2%} of rows left out", said)


def _measured(noise: str, share: float, seed: int) -> tuple[float, float]:
    """Share of the rows that are left out, and accuracy of the order by what is left."""
    rng = np.random.default_rng([27, seed])
    model = random_model(P, degree=2, noise=noise, rng=rng)
    parts = [_left(part, share) for part in np.split(model.sample(SITES * ROWS, rng), SITES)]
    order = [int(name[1:]) - 1 for name in fedrcd.discover(parts, "fedrcd-s").order]
    return 1 - sum(map(len, parts)) / (SITES * ROWS), ancestral_accuracy(order, model.B)


def _left(rows: Matrix, share: float) -> Matrix:
    """Rows of one site that are no such part."""
    return without_dominant_rows(Table(rows, columns=tuple(f"x{j}" for j in range(P))), share).values
