"""Rows that are wrong, and a site that lies: the measurement of one method on one such data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.harness.cells import Row
from experiments.tasks.baselines import BASELINES
from experiments.tasks.regimes import REGIMES
from fedrcd.data.names import default_names
from fedrcd.data.simulate.models import LinearModel, random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.data.table import Table
from fedrcd.errors import FedrcdError
from fedrcd.evaluation.evaluate import estimate_model
from fedrcd.evaluation.variants import Variant
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build, find
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from fedrcd.statistics.frame import robust_frame
from fedrcd.typing import IntVector, Matrix

SEARCH = 30
"""Tables that a liar tries against a method before the best is sent."""


def contaminate(*, kind: str, amount: float, method: str, noise: str, seed: int, p: int, rows: int) -> list[Row]:
    """Accuracy of a method, and the share of edges that its order turns, on standardised rows some of which are wrong.

    `amount` is the share of cells or rows that are wrong, or the number of sites one of which lies.
    """
    rng = np.random.default_rng([seed, NOISE_FAMILIES.index(noise), p, rows])
    model = random_model(p, noise=noise, rng=rng)
    sites = round(amount) if kind in LIARS else 10
    honest = rows - rows // sites if kind in LIARS else rows
    X = model.sample(honest, rng)
    scene = _Scene(model, (X - X.mean(axis=0)) / X.std(axis=0), method, sites)
    if kind in LIARS:
        lies = LIARS[kind](scene, rows // sites, rng)
        tables = [*np.array_split(scene.X, sites - 1), lies]
    else:
        tables = np.array_split(SPOILERS[kind](scene, amount, rng), sites)
    return [_scores(order_of(method, tables), model)]


def in_hard_regime(*, regime: str, method: str, seed: int) -> list[Row]:
    """Accuracy of a method on one clean data set of a regime; None if it refuses."""
    (found,) = (one for one in REGIMES if one.name == regime)
    B, X = found.draw(seed)
    try:
        estimate, _ = estimate_model(method, [X], default_names(len(B)))
    except FedrcdError:
        return [{"accuracy": None}]
    return [{"accuracy": ancestral_accuracy(estimate.order, B)}]


class _Scene(NamedTuple):
    """What a liar knows: the model, the honest rows, the method and the number of sites."""

    model: LinearModel
    X: Matrix
    method: str
    sites: int


def _scores(order: IntVector | None, model: LinearModel) -> Row:
    if order is None:
        return {"accuracy": None, "turned": None}
    place = np.argsort(order)
    effect, cause = np.nonzero(model.B)
    return {
        "accuracy": ancestral_accuracy(order, model.B),
        "turned": float(np.mean(place[cause] > place[effect])) if len(effect) else 0.0,
    }


def order_of(method: str, tables: list[Matrix]) -> IntVector | None:
    """The order that a method gives to tables; None if it cannot.

    With `trim` among its options, rows with a value more than so many robust scales out are left out before.
    """
    name, options = Variant.parse(method)
    if "trim" in options:
        frame = robust_frame([partial(_once, table) for table in tables])
        limit = float(options["trim"])
        tables = [table[(np.abs(frame.express(table)) <= limit).all(axis=1)] for table in tables]
    if name in BASELINES:
        return BASELINES[name].fit(tables).order
    names = default_names(tables[0].shape[1])
    blocks = [Table(table, f"site {k}", f"site {k}", columns=names) for k, table in enumerate(tables) if len(table)]
    if find(name).one_table:
        blocks = [Table(np.concatenate(tables), "all", "all", columns=names)]
    try:
        transport = in_process(blocks, names)
        return run(build(name, weights="none").rounds(transport.setting), transport).order
    except FedrcdError:
        return None


def _once(table: Matrix) -> Iterator[Matrix]:
    yield table


def _cells(scene: _Scene, share: float, rng: np.random.Generator) -> Matrix:
    """A share of all values thirty times as large."""
    X = scene.X.copy()
    X[rng.random(X.shape) < share] *= 30
    return X


def _rows(scene: _Scene, share: float, rng: np.random.Generator) -> Matrix:
    """A share of the rows from the model with every edge turned, ten times as large."""
    X, wrong = scene.X.copy(), rng.random(len(scene.X)) < share
    X[wrong] = 10 * _of_turned_edges(scene, int(wrong.sum()), rng)
    return X


def _of_turned_edges(scene: _Scene, rows: int, rng: np.random.Generator) -> Matrix:
    """Standardised rows of the model with every edge turned."""
    lies = replace(scene.model, B=scene.model.B.T.copy()).sample(rows, rng)
    standardised: Matrix = lies / np.maximum(lies.std(axis=0), 1e-9)
    return standardised


def _made_up(scene: _Scene, rows: int, rng: np.random.Generator) -> Matrix:
    """Rows of another model."""
    p = scene.X.shape[1]
    lies = random_model(p, noise="mixed", rng=rng).sample(rows, rng)[:, rng.permutation(p)]
    standardised: Matrix = lies / lies.std(axis=0)
    return standardised


def _ten_times(scene: _Scene, rows: int, rng: np.random.Generator) -> Matrix:
    return 10 * _of_turned_edges(scene, rows, rng)


def _searched(scene: _Scene, rows: int, rng: np.random.Generator) -> Matrix:
    """The best of many linear changes of the turned table: a climb on the edges that the method turns.

    The liar knows the honest rows, and tries every table on them.
    """
    start = _of_turned_edges(scene, rows, rng)
    honest = np.array_split(scene.X, scene.sites - 1)

    def success(change: Matrix) -> float:
        scores = _scores(order_of(scene.method, [*honest, start @ change]), scene.model)
        turned, accuracy = scores["turned"], scores["accuracy"]
        return -1.0 if turned is None or accuracy is None else float(turned) + 0.01 * (1 - float(accuracy))

    p = start.shape[1]
    tried = [(success(factor * np.eye(p)), factor * np.eye(p)) for factor in (0.3, 1.0, 3.0, 10.0)]
    best, change = max(tried, key=lambda one: one[0])
    for _ in range(SEARCH - len(tried)):
        other = change @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)) / np.sqrt(p)) * np.exp(0.3 * rng.normal(size=p))
        value = success(other)
        if value >= best:
            best, change = value, other
    return start @ change


SPOILERS: dict[str, Callable[[_Scene, float, np.random.Generator], Matrix]] = {
    "clean": lambda scene, _share, _rng: scene.X,
    "cells": _cells,
    "rows": _rows,
}
LIARS: dict[str, Callable[[_Scene, int, np.random.Generator], Matrix]] = {
    "made up": _made_up,
    "turned": _of_turned_edges,
    "turned, times ten": _ten_times,
    "searched": _searched,
}
