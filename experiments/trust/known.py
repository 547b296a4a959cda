"""What prior knowledge adds: accuracy with the true tiers against accuracy without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from experiments.trust.progress import in_parallel
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.evaluation.evaluate import DataSetting, standardised
from fedrcd.graphs.dag import topological_order
from fedrcd.graphs.knowledge.statements import Knowledge
from fedrcd.graphs.metrics import ancestral_accuracy, shd
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed

P, SITES, ROWS, SEEDS, TIERS = 12, 4, 500, 3, 3


class Gain(NamedTuple):
    """Accuracy and structural Hamming distance of one method on one data set, without and with tiers."""

    method: str
    accuracy: tuple[float, float]
    shd: tuple[int, int]


def simulate(setting: DataSetting) -> list[Gain]:
    """All methods on one data set."""
    model, raw = setting.draw()
    tables = standardised(raw)
    order = topological_order(model.B)
    tiers = [[model.names[i] for i in part] for part in np.array_split(order, TIERS)]
    constraints = Knowledge(tiers=tiers).constraints(model.names)
    gains = []
    for method, card in METHODS.items():
        transport = embed(tables, model.names, stack=card.one_table)
        found = [
            run(build(method).rounds(replace(transport.setting, constraints=known)), transport)
            for known in (None, constraints)
        ]
        without, given = (ancestral_accuracy(one.order, model.B) for one in found)
        distances = [shd(one.B, model.B) for one in found]
        gains.append(Gain(method, (without, given), (distances[0], distances[1])))
    return gains


def section(seeds: int = SEEDS) -> Iterator[str]:
    """The table."""
    settings = [
        DataSetting(noise=noise, seed=200 + seed, p=P, sites=SITES, rows=ROWS)
        for noise in NOISE_FAMILIES
        for seed in range(seeds)
    ]
    gains = [gain for one in in_parallel(simulate, settings, "prior knowledge") for gain in one]
    yield "## What prior knowledge adds\n"
    yield (
        f"p = {P}, {SITES} sites of {ROWS} rows, standardised, {len(settings)} data sets; the true order cut into "
        f"{TIERS} tiers is given. Mean ancestral accuracy and mean structural Hamming distance.\n"
    )
    yield "| method | accuracy, nothing known | with tiers | rise | data sets worse | SHD, nothing known | with tiers |"
    yield "|---|---|---|---|---|---|---|"
    for method in METHODS:
        own = [gain for gain in gains if gain.method == method]
        accuracy, distance = np.array([gain.accuracy for gain in own]), np.array([gain.shd for gain in own])
        without, given = accuracy.mean(axis=0)
        worse = int((accuracy[:, 1] < accuracy[:, 0] - 1e-12).sum())
        before, after = distance.mean(axis=0)
        yield (
            f"| {method} | {without:.4f} | {given:.4f} | {given - without:+.4f} | {worse} | {before:.1f} "
            f"| {after:.1f} |"
        )
    yield ""
