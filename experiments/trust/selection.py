"""What each way of selecting edges does to the structural Hamming distance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from experiments.trust.calibration import with_groups
from experiments.trust.progress import in_parallel
from fedrcd.confidence.replicates import ask_groups, draw_weights, group_replicates, one_round
from fedrcd.data.simulate.models import random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.graphs.knowledge.constraints import Constraints
from fedrcd.graphs.metrics import shd
from fedrcd.methods.registry import find
from fedrcd.protocol.in_process import embed

P, SITES, GROUPS, REPLICATES, SEEDS = 8, 5, 10, 60, 22
ROWS = (500, 2_000, 20_000)
THRESHOLDS = (0.5, 0.7, 0.9)
CHOICES = (
    *("none", "adaptive-lasso", "bic"),
    *(f"bootstrap of {selection}, {threshold}" for selection in ("adaptive-lasso", "bic") for threshold in THRESHOLDS),
)


class SelectionJob(NamedTuple):
    """One data set."""

    rows: int
    low: float
    seed: int


def simulate(job: SelectionJob) -> list[int]:
    """Distances of all choices on one data set."""
    rng = np.random.default_rng([106, job.seed, job.rows, int(100 * job.low)])
    noise = NOISE_FAMILIES[job.seed % len(NOISE_FAMILIES)]
    model = random_model(P, noise=noise, density=0.3, weights=(job.low, 1.0 + job.low), rng=rng)
    transport = with_groups(embed(np.array_split(model.sample(job.rows, rng), SITES), model.names))
    distances = []
    by_probability = []
    for selection in ("none", "adaptive-lasso", "bic"):
        parts = one_round(find("fedrcd-s"), {"weights": selection})
        grouped = ask_groups(parts, transport.setting, transport, GROUPS)
        distances.append(shd(grouped.estimate.B, model.B))
        if selection == "none":
            continue
        replicates = group_replicates(parts, grouped, draw_weights(grouped.stack, REPLICATES, rng))
        probability = (replicates.B != 0).mean(axis=0)
        for threshold in THRESHOLDS:
            probable = probability >= threshold
            edges = Constraints.none(P).grow(grouped.estimate.order, lambda i, _, free: probable[i, free])  # noqa: B023
            by_probability.append(shd(edges, model.B))
    return distances + by_probability


def section(seeds: int = SEEDS) -> Iterator[str]:
    """The table."""
    cases = [(rows, low) for low in (0.1, 0.5) for rows in ROWS]
    jobs = [SelectionJob(rows, low, seed) for rows, low in cases for seed in range(seeds)]
    results = dict(zip(jobs, in_parallel(simulate, jobs, "edge selection"), strict=True))
    yield "## Edge selection\n"
    yield (
        f"`fedrcd-s`, p = {P}, {SITES} sites, {seeds} data sets each, families in turn; mean structural Hamming "
        f"distance to the true graph. The bootstrap keeps edges along the order that at least this share of "
        f"{REPLICATES} replicates has; {GROUPS} groups a site.\n"
    )
    yield "| selection | " + " | ".join(f"weights from {low}, {rows} rows" for rows, low in cases) + " |"
    yield "|---" * (len(cases) + 1) + "|"
    for k, choice in enumerate(CHOICES):
        means = [np.mean([results[SelectionJob(rows, low, seed)][k] for seed in range(seeds)]) for rows, low in cases]
        yield f"| {choice} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |"
    yield ""
