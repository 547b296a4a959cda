"""The measurement behind most experiments: one method on one data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from experiments.harness.cells import Cell, Row
from experiments.tasks.baselines import BASELINES
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.errors import StatisticError
from fedrcd.evaluation.evaluate import DataSetting, estimate_model, variances
from fedrcd.graphs.metrics import ancestral_accuracy, shd, varsortability

FAMILY = ("fedrcd-x", "fedrcd-ni", "fedhc", "fedrcd-def", "fedishc-tau4", "fedishc")
"""The paper's federated methods."""

SCALE_FREE = ("fedrcd-s", "fedrcd-sx", "fedrcd-sp", "fed-direct")
"""Ours beside them."""

DATA = tuple(each.name for each in fields(DataSetting))
"""Columns that say which data set a row is about."""


def recovery_cells(
    settings: Iterable[DataSetting], methods: Iterable[str], *, scalings: Iterable[float] = (0.0,), slow: int = 1
) -> Iterator[Cell]:
    """Cells for every data set, scaling and method; slow baselines get the data sets of `slow` seeds only."""
    methods, scalings = list(methods), list(scalings)
    for setting in settings:
        data = {name: getattr(setting, name) for name in DATA}
        for scaling in scalings:
            for method in methods:
                baseline = BASELINES.get(method)
                if baseline is None or not baseline.slow or setting.seed < slow:
                    package = baseline.package if baseline else ""
                    yield Cell(recover, {**data, "scaling": scaling, "method": method}, package)


def paper_settings(seeds: int, **changes: Any) -> list[DataSetting]:
    """The paper's default data sets: eleven noise families, so many seeds of each."""
    return [DataSetting(noise=noise, seed=seed, **changes) for seed in range(seeds) for noise in NOISE_FAMILIES]


def recover(*, method: str, scaling: float, **data: Any) -> list[Row]:
    """Accuracy and cost of a method on a data set whose variables are divided by sd^scaling."""
    setting = DataSetting(**data)
    model, tables = setting.draw()
    row: Row = {"varsortability": varsortability(variances(tables, scaling), model.B)}
    if method in BASELINES:
        unit = np.concatenate(tables).std(axis=0) ** scaling
        order, B = BASELINES[method].fit([table / unit for table in tables])
    else:
        try:
            # The paper's edges for all: then distances between graphs compare orders.
            estimate, traffic = estimate_model(method, tables, model.names, scaling=scaling, weights="adaptive-lasso")
        except StatisticError:
            return [{**row, "failed": True}]
        order, B = estimate.order, estimate.B
        row |= {"rounds": traffic.rounds, "bytes_per_site": traffic.bytes_sent / len(tables)}
    return [{**row, "accuracy": ancestral_accuracy(order, model.B), "shd": shd(B, model.B), "failed": False}]
