"""What a discovery under noise finds in simulated tables: to be known before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.graphs.metrics import ancestral_accuracy, shd
from fedrcd.methods.registry import PRIVATE, build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.discrete_gaussian import RandomBytes
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.privacy_loss import require_delta, require_epsilon
from fedrcd.typing import Matrix

COLLUDING = 1
"""Sites that may tell what noise they added."""


class Expected(NamedTuple):
    """What one simulated discovery under noise came to; the scores are None where noise left nothing to compute."""

    epsilon: float
    noise: str
    seed: int
    ancestral_accuracy: float | None
    shd: int | None
    worth: int
    """As many rows without noise leave effects as uncertain."""


def declared_frame(X: Matrix, rng: np.random.Generator) -> Frame:
    """A frame that somebody may have declared: scales off by up to 2, centres by up to half a standard deviation."""
    sd, p = X.std(axis=0), X.shape[1]
    scale = np.exp2(np.round(np.log2(sd) + rng.uniform(-1, 1, p)))
    return Frame(sd * rng.uniform(-0.5, 0.5, p), scale)


def estimate_under_noise(
    X: Matrix,
    frame: Frame,
    names: tuple[str, ...],
    epsilon: float,
    delta: float,
    *,
    part: float = 1.0,
    random: RandomBytes = os.urandom,
) -> Estimate:
    """The estimate from all rows in a declared frame; `part` is the variance of the noise in shares of what is due."""
    transport = embed([X], names)
    setting = replace(transport.setting, frame=frame, robust=None, noise_part=part)
    sites: Any = transport.sites
    sites = [replace(site, random=random) for site in sites]
    parts = build(next(iter(PRIVATE)), epsilon=epsilon, delta=delta)
    return run(parts.rounds(setting), replace(transport, sites=sites, setting=setting))


def expect(
    epsilons: Sequence[float], *, p: int, rows: int, sites: int, delta: float, seeds: int, own_noise: bool
) -> Iterator[Expected]:
    """Discoveries under noise in data sets of all families.

    With `own_noise` every site adds all of it; else they share it under masks, where one of them may collude.
    """
    require_delta(delta)
    for epsilon in epsilons:
        require_epsilon(epsilon)
    if seeds < 1 or sites < 1:
        raise ConfigError(f"seeds and sites must be at least 1, got {seeds} and {sites}")
    for seed in range(seeds):
        for noise in NOISE_FAMILIES:
            setting = DataSetting(noise=noise, seed=seed, p=p, sites=1, rows=rows)
            model, (X,) = setting.draw()
            frame = declared_frame(X, setting.rng(1))
            for epsilon in epsilons:
                shared = sites / (sites - COLLUDING) if sites > COLLUDING + 1 else 1.0
                part = float(sites) if own_noise else shared
                try:
                    found = estimate_under_noise(X, frame, model.names, epsilon, delta, part=part)
                except FedrcdError:
                    yield Expected(epsilon, noise, seed, None, None, 0)
                    continue
                accuracy = ancestral_accuracy(found.order, model.B)
                yield Expected(epsilon, noise, seed, accuracy, shd(found.B, model.B), found.marginals.worth)
