"""Sites that differ, rows with gaps, sites that lack columns: the measurement of one method on one such data set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.harness.cells import Row
from experiments.tasks.baselines import BASELINES
from fedrcd.data.names import default_names
from fedrcd.data.simulate.models import random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.data.table import Table
from fedrcd.errors import FedrcdError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build, find
from fedrcd.methods.within import choose_within
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from fedrcd.typing import Matrix

ROWS = 20_000


def shifted(X: Matrix, rng: np.random.Generator) -> Matrix:
    """A site whose level of each variable is off by N(0, 1) standard deviations."""
    return X + rng.normal(size=X.shape[1])


def rescaled(X: Matrix, rng: np.random.Generator) -> Matrix:
    """A site whose unit of each variable is off by a factor U[0.5, 2]."""
    return X * rng.uniform(0.5, 2, X.shape[1])


def gappy(share: float) -> Callable[[Matrix, np.random.Generator], Matrix]:
    """A site that lacks a share of its values."""

    def spoil(X: Matrix, rng: np.random.Generator) -> Matrix:
        return np.where(rng.random(X.shape) < share, np.nan, X)

    return spoil


def lacking(X: Matrix, rng: np.random.Generator) -> Matrix:
    """A site without two of its columns."""
    holes = X.copy()
    holes[:, rng.choice(X.shape[1], 2, replace=False)] = np.nan
    return holes


SPOILERS: dict[str, Callable[[Matrix, np.random.Generator], Matrix]] = {
    "alike": lambda X, _: X,
    "shifted": shifted,
    "rescaled": rescaled,
    "5 % missing": gappy(0.05),
    "20 % missing": gappy(0.2),
    "40 % missing": gappy(0.4),
    "each site lacks 2 columns": lacking,
}


def federate(
    *, spoiled: str, method: str, option: str, value: str, p: int, sites: int, noise: str, seed: int
) -> list[Row]:
    """Accuracy on standardised rows that were spoiled site by site; missing where the method cannot run.

    `option` and `value` are a setting of the federation, such as `within` and `centre`.
    """
    rng = np.random.default_rng([seed, NOISE_FAMILIES.index(noise), p])
    model = random_model(p, noise=noise, rng=rng)
    X = model.sample(ROWS, rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    tables = [SPOILERS[spoiled](rows, rng) for rows in np.array_split(X, sites)]
    if method in BASELINES:
        return [{"accuracy": ancestral_accuracy(BASELINES[method].fit(tables).order, model.B)}]
    names = default_names(p)
    blocks = [_block(f"site {k}", table, names) for k, table in enumerate(tables)]
    if find(method).one_table:
        blocks = [Table(np.concatenate(tables), "all", "all", columns=names)]
    try:
        if (option, value) == ("within", "auto"):
            value = choose_within(in_process(blocks, names)).within
        transport = in_process(blocks, names, **{option: value})  # type: ignore[arg-type]
        estimate = run(build(method).rounds(transport.setting), transport)
    except FedrcdError:
        return [{"accuracy": float("nan")}]
    return [{"accuracy": ancestral_accuracy(estimate.order, model.B)}]


def _block(site: str, table: Matrix, names: tuple[str, ...]) -> Table:
    """A site's table without the columns of which it has no value."""
    held = np.flatnonzero(np.isfinite(table).any(axis=0))
    columns = tuple(names[k] for k in held)
    return Table(table[:, held], site, site, columns=columns)
