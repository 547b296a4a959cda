"""How well methods recover simulated models: one row per method and data set.

Random numbers depend on data settings only, never on the method, so all methods meet the same rows.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fedrcd.data.simulate.models import LinearModel, random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES, Noise
from fedrcd.data.simulate.partition import split_rows
from fedrcd.data.simulate.topologies import topology
from fedrcd.errors import ConfigError
from fedrcd.evaluation.variants import Variant
from fedrcd.graphs.metrics import ancestral_accuracy, shd, varsortability
from fedrcd.methods.registry import build, find
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.changed_units import scaled_by_sd
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.transport import Traffic
from fedrcd.typing import Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetting:
    """How one data set is simulated; the defaults are the paper's.

    `topology` names a bnlearn graph instead of a random one. With a `spread` the standard deviations of the noise are
    log-uniform between 1/sqrt(spread) and sqrt(spread) instead of uniform between 0.5 and 2.
    """

    noise: str
    seed: int
    p: int = 20
    sites: int = 10
    rows: int = 2000
    density: float | None = None
    degree: float | None = None
    topology: str | None = None
    spread: float | None = None

    def __post_init__(self) -> None:
        if self.noise not in NOISE_FAMILIES:
            Noise(self.noise)  # says which families there are
        for name, least in (("p", 2), ("sites", 1), ("rows", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, got {getattr(self, name)}")

    def draw(self) -> tuple[LinearModel, list[Matrix]]:
        """The model and one table per site; the last data sets drawn are remembered, so do not change them."""
        return _draw(self)

    @property
    def model(self) -> LinearModel:
        """The model alone."""
        return _draw_model(self, self.rng())

    def rng(self, *more: int) -> np.random.Generator:
        """Random numbers that depend on the data setting alone, and on further numbers if given."""
        family = zlib.crc32(self.noise.encode())
        return np.random.default_rng([self.seed, family, self.p, self.sites * self.rows, *more])


def standardised(tables: Sequence[Matrix]) -> list[Matrix]:
    """The tables with every variable of mean 0 and standard deviation 1 over all rows."""
    X = np.concatenate(tables)
    return [(rows - X.mean(axis=0)) / X.std(axis=0) for rows in tables]


@lru_cache(maxsize=2)
def _draw(setting: DataSetting) -> tuple[LinearModel, list[Matrix]]:
    rng = setting.rng()
    model = _draw_model(setting, rng)
    X = model.sample(setting.sites * setting.rows, rng)
    return model, [X[part] for part in split_rows(len(X), setting.sites, rng=rng)]


def _draw_model(setting: DataSetting, rng: np.random.Generator) -> LinearModel:
    graph = None if setting.topology is None else topology(setting.topology)
    model = random_model(
        setting.p,
        noise=setting.noise,
        density=setting.density,
        degree=setting.degree,
        dag=None if graph is None else graph.dag,
        names=None if graph is None else graph.names,
        rng=rng,
    )
    if setting.spread is None:
        return model
    # The same uniform numbers, stretched: settings that differ in spread alone have the same graph and weights.
    where = (model.noise_sd - 0.5) / 1.5 - 0.5
    return LinearModel(model.B, model.noise, setting.spread**where, model.names)


class ScoredRun(NamedTuple):
    """What one method did on one data set."""

    method: str
    noise: str
    seed: int
    ancestral_accuracy: float
    shd: int
    varsortability: float
    rounds: int
    bytes_per_site: float
    seconds: float


def evaluate(methods: Sequence[str], settings: Sequence[DataSetting], *, scaling: float = 0.0) -> Iterator[ScoredRun]:
    """Scores of all methods on all data sets, data set by data set; `scaling` is that of `estimate_model`."""
    for method in methods:
        find(method)  # an unknown name is an error before the first data set is drawn
    for setting in settings:
        model, tables = setting.draw()
        for method in methods:
            start = time.perf_counter()
            estimate, traffic = estimate_model(method, tables, model.names, scaling=scaling)
            yield ScoredRun(
                method=method,
                noise=setting.noise,
                seed=setting.seed,
                ancestral_accuracy=ancestral_accuracy(estimate.order, model.B),
                shd=shd(estimate.B, model.B),
                varsortability=varsortability(variances(tables, scaling), model.B),
                rounds=traffic.rounds,
                bytes_per_site=traffic.bytes_sent / len(tables),
                seconds=time.perf_counter() - start,
            )


def estimate_model(
    method: str, tables: Sequence[Matrix], names: tuple[str, ...], *, scaling: float = 0.0, weights: str = "auto"
) -> tuple[Estimate, Traffic]:
    """Run a method over tables as sites of one process; a method for one table gets them stacked.

    Parameters
    ----------
    method : str
        A name, perhaps with options: see :class:`fedrcd.evaluation.variants.Variant`.
    tables : sequence of (n, p) arrays
        One per site.
    names : (p,) tuple of str
        Of the variables.
    scaling : float
        The coordinator divides every variable by this power of its standard deviation: raw data at 0, standardised
        data at 1. Sites answer the same questions with the same sums.
    weights : str
        How edges are selected, unless the variant says it.
    """
    variant = Variant.parse(method)
    embedded = embed(tables, names, stack=find(variant.method).one_table)
    transport = scaled_by_sd(embedded, scaling)
    estimate = run(
        build(variant.method, **{"weights": weights, **variant.options}).rounds(transport.setting), transport
    )
    return estimate, embedded.traffic


def variances(tables: Sequence[Matrix], scaling: float) -> Vector:
    """Marginal variances of the pooled rows, divided by a power of the standard deviations; shape (p,)."""
    pooled: Vector = np.concatenate(tables).var(axis=0)
    return pooled ** (1 - scaling)
