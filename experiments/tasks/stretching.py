r"""Data whose variances say more or less about the order, by a choice of units or by the way they are generated.

*Units*: every variable is standardised and then measured in a unit of its own, so that standard deviations climb from 1
to `TOP` along a true order that was disturbed: by nothing at `amount` 0, beyond recognition at large amounts.

*Generation*: each variable is divided by its standard deviation to the power `amount` before its effects get it, as
internally standardised models do at 1 (Ormaniec et al. 2024). The model stays linear, with other weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from experiments.harness.cells import Row
from fedrcd.data.simulate.models import LinearModel
from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.graphs.dag import topological_order, total_effects
from fedrcd.graphs.metrics import ancestral_accuracy, varsortability
from fedrcd.methods.registry import build
from fedrcd.protocol.changed_units import in_units
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.typing import Matrix, Vector

TOP = 30.0
"""Largest over smallest standard deviation where units are chosen: about that of the paper's raw data."""

Way = Literal["units", "generation"]


def stretch(*, way: Way, amount: float, method: str, **data: Any) -> list[Row]:
    """Accuracy of a method, and of a plain sort by variance, on data of some varsortability."""
    setting = DataSetting(**data)
    rng = setting.rng(round(1000 * amount))
    if way == "generation":
        model = internally_scaled(setting.model, amount)
        tables = np.split(model.sample(setting.sites * setting.rows, rng), setting.sites)
        unit = np.ones(setting.p)
    else:
        model, tables = setting.draw()
        unit = np.concatenate(tables).std(axis=0) / climbing(model.B, amount, rng)
    transport = in_units(embed(tables, model.names), unit)
    estimate = run(build(method).rounds(transport.setting), transport)
    variance = np.concatenate(tables).var(axis=0) / unit**2
    return [
        {
            "accuracy": ancestral_accuracy(estimate.order, model.B),
            "sorted_accuracy": ancestral_accuracy(np.argsort(variance), model.B),
            "varsortability": varsortability(variance, model.B),
        }
    ]


def climbing(B: Matrix, amount: float, rng: np.random.Generator) -> Vector:
    """Standard deviations from 1 to `TOP` along a causal order disturbed by `amount` times its length; shape (p,)."""
    p = len(B)
    position = np.argsort(topological_order(B)) + amount * p * rng.normal(size=p)
    climb: Vector = TOP ** (np.argsort(np.argsort(position)) / (p - 1))
    return climb


def internally_scaled(model: LinearModel, power: float) -> LinearModel:
    """The model in which every variable is divided by its sd^power before its effects get it."""
    B, noise_sd = model.B.copy(), model.noise_sd.copy()
    for variable in topological_order(B):
        # Later variables do not matter to this one, so the model as changed so far gives its standard deviation.
        mixing = total_effects(B)[variable] + np.eye(len(B))[variable]
        factor = np.sqrt(np.sum((mixing * noise_sd) ** 2)) ** -power
        B[variable] *= factor
        noise_sd[variable] *= factor
    return replace(model, B=B, noise_sd=noise_sd)
