"""Whether bootstrap probabilities are what they say: among edges given 0.9, nine in ten should be true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.trust.figures import calibration
from experiments.trust.progress import in_parallel
from fedrcd.confidence.replicates import ask_groups, draw_weights, group_replicates, one_round
from fedrcd.data.simulate.models import random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.methods.registry import find
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.transport import InProcess
from fedrcd.typing import BoolMatrix, Vector

P, REPLICATES, SEEDS = 8, 60, 22
ROWS = (500, 1_000, 2_000)
WEIGHTS = (0.1, 1.0)
"""Weak edges too: with strong ones alone nearly every probability is 0 or 1."""

CASES = ((1, 10, "adaptive-lasso"), (5, 10, "adaptive-lasso"), (1, 50, "adaptive-lasso"), (5, 10, "bic"))
"""Sites, groups per site, and how edges are selected."""

BINS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)


class CalibrationJob(NamedTuple):
    """One data set and how it is resampled."""

    sites: int
    groups: int
    rows: int
    selection: str
    seed: int


class Edges(NamedTuple):
    """Bootstrap probability of all ordered pairs, and which are edges."""

    probability: Vector
    true: BoolMatrix


def simulate(job: CalibrationJob) -> Edges:
    """One data set; data depend on rows and seed alone, so all ways of resampling meet the same."""
    rng = np.random.default_rng([105, job.seed, job.rows])
    noise = NOISE_FAMILIES[job.seed % len(NOISE_FAMILIES)]
    model = random_model(P, noise=noise, density=0.3, weights=WEIGHTS, rng=rng)
    transport = with_groups(embed(np.array_split(model.sample(job.rows, rng), job.sites), model.names))
    parts = one_round(find("fedrcd-s"), {"weights": job.selection})
    grouped = ask_groups(parts, transport.setting, transport, job.groups)
    replicates = group_replicates(parts, grouped, draw_weights(grouped.stack, REPLICATES, rng))
    off = ~np.eye(P, dtype=bool)
    return Edges((replicates.B != 0).mean(axis=0)[off], (model.B != 0)[off])


def with_groups(transport: InProcess) -> InProcess:
    """The same sites, each with a secret to split its rows by."""
    sites: Any = transport.sites
    return replace(transport, sites=[replace(site, grouping=Grouping(site.name.encode())) for site in sites])


def section(folder: Path, seeds: int = SEEDS) -> Iterator[str]:
    """Table and figure."""
    jobs = [
        CalibrationJob(sites, groups, rows, selection, seed)
        for sites, groups, selection in CASES
        for rows in ROWS
        for seed in range(seeds)
    ]
    results = dict(zip(jobs, in_parallel(simulate, jobs, "calibration"), strict=True))
    yield "## Bootstrap probabilities\n"
    yield (
        f"`fedrcd-s`, p = {P}, {', '.join(map(str, ROWS))} rows, {seeds} data sets each, families in turn, absolute "
        f"weights from {WEIGHTS[0]} to {WEIGHTS[1]}, {REPLICATES} replicates. Of all ordered pairs with a bootstrap "
        "probability in a range, the share that are edges of the true graph; in brackets how many pairs.\n"
    )
    yield "![calibration of bootstrap probabilities](figures/calibration.svg)\n"
    yield "| sites x groups, selection | 0.15-0.45 | 0.45-0.75 | 0.75-0.85 | **0.85-0.95** | above 0.95 |"
    yield "|---|---|---|---|---|---|"
    lines = []
    for sites, groups, selection in CASES:
        own = [
            edges
            for job, edges in results.items()
            if (job.sites, job.groups, job.selection) == (sites, groups, selection)
        ]
        probability = np.concatenate([edges.probability for edges in own])
        true = np.concatenate([edges.true for edges in own])
        label = f"{sites} x {groups}, {selection}"
        cells = [
            _share(true[(probability >= low) & (probability < high)])
            for low, high in ((0.15, 0.45), (0.45, 0.75), (0.75, 0.85), (0.85, 0.95), (0.95, 1.01))
        ]
        yield f"| {label} | " + " | ".join(cells) + " |"
        lines.append((label, *_binned(probability, true)))
    calibration(folder / "calibration.svg", lines)
    yield ""


def _binned(probability: Vector, true: BoolMatrix) -> tuple[list[float], list[float], list[int]]:
    """Middle, share of true edges and number of pairs per range of probability."""
    place = np.digitize(probability, BINS)
    kept = [k for k in range(len(BINS) + 1) if (place == k).any()]
    return (
        [float(probability[place == k].mean()) for k in kept],
        [float(true[place == k].mean()) for k in kept],
        [int((place == k).sum()) for k in kept],
    )


def _share(true: BoolMatrix) -> str:
    return f"{100 * true.mean():.0f} % ({len(true)})" if len(true) else "-"
