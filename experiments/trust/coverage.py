"""How often 95 % intervals of direct and total effects hold the true effect, given the right order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from experiments.trust.progress import in_parallel
from fedrcd.confidence.replicates import draw_weights
from fedrcd.confidence.standard_errors import effect_errors
from fedrcd.data.simulate.models import random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.graphs.dag import topological_order, total_effects
from fedrcd.methods.weights import refit
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grouped_sums import GroupedSums, Stack
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.typing import BoolMatrix, Matrix

P, ROWS, SIMULATIONS = 10, 20_000, 1_000
SITES, GROUPS, REPLICATES = 4, 10, 60
NORMAL_95 = 1.959963984540054


class Covered(NamedTuple):
    """Of one simulation: which intervals hold the truth, among the pairs that the order allows an effect."""

    noise: str
    direct: BoolMatrix
    total: BoolMatrix
    direct_bootstrap: BoolMatrix
    total_bootstrap: BoolMatrix


def simulate(seed: int) -> Covered:
    """One data set; effects of all predecessors along a true order, by least squares."""
    from scipy.stats import t

    noise = NOISE_FAMILIES[seed % len(NOISE_FAMILIES)]
    rng = np.random.default_rng([101, seed])
    model = random_model(P, noise=noise, rng=rng)
    X = model.sample(ROWS, rng)
    place = np.argsort(topological_order(model.B))
    edges: BoolMatrix = place[:, None] > place[None, :]
    stack = _groups(X, rng)
    cov = pair_cumulants(stack.combine(np.ones(SITES * GROUPS)), Frame.identity(P)).cov
    B = refit(cov, edges)
    truth, total = model.B, total_effects(model.B)
    errors = effect_errors(cov, ROWS, edges)
    again = [
        refit(pair_cumulants(stack.combine(weights), Frame.identity(P)).cov, edges)
        for weights in draw_weights(stack, REPLICATES, rng)
    ]
    reach = t.ppf(0.975, SITES * (GROUPS - 1))
    spread, total_spread = np.std(again, axis=0, ddof=1), np.std([total_effects(one) for one in again], axis=0, ddof=1)
    return Covered(
        noise,
        (np.abs(B - truth) <= NORMAL_95 * errors.direct)[edges],
        (np.abs(total_effects(B) - total) <= NORMAL_95 * errors.total)[edges],
        (np.abs(B - truth) <= reach * spread)[edges],
        (np.abs(total_effects(B) - total) <= reach * total_spread)[edges],
    )


def _groups(X: Matrix, rng: np.random.Generator) -> Stack:
    """Second moments of random groups of the rows of some sites."""
    label = rng.integers(0, SITES * GROUPS, len(X))
    parts = [pair_sums([X[label == k]], P, 2) for k in range(SITES * GROUPS)]
    sites = {(f"site {k}", f"site {k}"): tuple(parts[k * GROUPS : (k + 1) * GROUPS]) for k in range(SITES)}
    return GroupedSums(sites).stack()


def section(simulations: int = SIMULATIONS) -> Iterator[str]:
    """The table."""
    results = in_parallel(simulate, range(simulations), "coverage")
    yield "## Intervals of effects\n"
    yield (
        f"{simulations} data sets, p = {P}, {ROWS} rows, families in turn. Least squares along a true order; share of "
        f"nominal 95 % intervals that hold the true effect, over all pairs the order allows. The bootstrap has {SITES} "
        f"sites of {GROUPS} groups and {REPLICATES} replicates.\n"
    )
    yield "| noise | direct, delta method | total, delta method | direct, groups | total, groups |"
    yield "|---|---|---|---|---|"
    for noise in (*NOISE_FAMILIES, "all"):
        own = [one for one in results if noise in (one.noise, "all")]
        cells = [f"{100 * np.mean([one[k] for one in own]):.1f} %" for k in range(1, 5)] if own else ["-"] * 4
        yield "| " + " | ".join([noise, *cells]) + " |"
    yield ""
