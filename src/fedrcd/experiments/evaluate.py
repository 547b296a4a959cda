"""How well methods recover simulated models: one row per method and data set.

Random numbers depend on data settings only, never on the method, so all methods meet the same rows.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedrcd.data.noise import NOISE_FAMILIES, Noise
from fedrcd.data.partition import split_rows
from fedrcd.data.simulate import LinearModel, random_model
from fedrcd.errors import ConfigError
from fedrcd.graphs.metrics import ancestral_accuracy, shd, varsortability
from fedrcd.methods.registry import build, find
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import embed
from fedrcd.protocol.transport import Traffic
from fedrcd.typing import Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetting:
    """How one data set is simulated; the defaults are the paper's."""

    noise: str
    seed: int
    p: int = 20
    sites: int = 10
    rows: int = 2000
    density: float | None = None
    degree: float | None = None
    standardise: bool = False

    def __post_init__(self) -> None:
        if self.noise not in NOISE_FAMILIES:
            Noise(self.noise)  # says which families there are
        for name, least in (("p", 2), ("sites", 1), ("rows", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, got {getattr(self, name)}")

    def draw(self) -> tuple[LinearModel, list[Matrix]]:
        """The model and one table per site; `standardise` divides by the pooled standard deviation."""
        family = zlib.crc32(self.noise.encode())
        rng = np.random.default_rng([self.seed, family, self.p, self.sites * self.rows])
        model = random_model(self.p, noise=self.noise, density=self.density, degree=self.degree, rng=rng)
        X = model.sample(self.sites * self.rows, rng)
        if self.standardise:
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        return model, [X[part] for part in split_rows(len(X), self.sites, rng=rng)]


class Score(NamedTuple):
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


def evaluate(methods: Sequence[str], settings: Sequence[DataSetting]) -> Iterator[Score]:
    """Scores of all methods on all data sets, data set by data set."""
    for method in methods:
        find(method)  # an unknown name is an error before the first data set is drawn
    for setting in settings:
        model, tables = setting.draw()
        variances = np.concatenate(tables).var(axis=0)
        for method in methods:
            start = time.perf_counter()
            estimate, traffic = estimate_model(method, tables, model.names)
            yield Score(
                method=method,
                noise=setting.noise,
                seed=setting.seed,
                ancestral_accuracy=ancestral_accuracy(estimate.order, model.B),
                shd=shd(estimate.B, model.B),
                varsortability=varsortability(variances, model.B),
                rounds=traffic.rounds,
                bytes_per_site=traffic.bytes_sent / len(tables),
                seconds=time.perf_counter() - start,
            )


def estimate_model(method: str, tables: Sequence[Matrix], names: tuple[str, ...]) -> tuple[Estimate, Traffic]:
    """Run a method over tables as sites of one process; a method for one table gets them stacked."""
    transport = embed(tables, names, stack=find(method).one_table)
    return run(build(method).rounds(transport.setting), transport), transport.traffic
