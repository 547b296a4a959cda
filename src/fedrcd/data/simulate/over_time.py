r"""Random linear non-Gaussian models over time, and the rows that subjects or a single series have by them.

The model is a structural vector autoregression x_t = B0 x_t + B1 x_(t-1) + ... + Bk x_(t-k) + e_t with an acyclic B0
and independent non-Gaussian e. It is made stationary: effects of the past are shrunk until a step leaves at most nine
tenths of any shock, and rows are drawn after a hundred steps that are thrown away.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from fedrcd.data.names import default_names
from fedrcd.data.simulate.models import LinearModel, random_model, random_weights
from fedrcd.data.simulate.noise import Noise
from fedrcd.errors import ConfigError
from fedrcd.graphs.exports import edge_list
from fedrcd.typing import Matrix

STEADY = 0.9
"""The largest modulus of an eigenvalue of a step: what is left of a shock after it."""

BEFORE = 100
"""Steps that are drawn before the first row, so that where a series starts does not matter."""


@dataclass(frozen=True, eq=False)
class ModelOverTime:
    """A model of now, and effects of earlier values.

    Parameters
    ----------
    now : LinearModel
        Effects within a step, and the noise.
    lagged : tuple of (p, p) array
        Effects of j on i one step later, two, and so on: entry [i, j].
    """

    now: LinearModel
    lagged: tuple[Matrix, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.now.names

    @property
    def lags(self) -> int:
        """How many steps effects last."""
        return len(self.lagged)

    def sample(self, subjects: int, visits: int, rng: np.random.Generator, *, spread: float = 0.0) -> Matrix:
        """Draw series of so many rows of subjects, shape (subjects, visits, p).

        Parameters
        ----------
        subjects : int
            How many series; 1 for a single one.
        visits : int
            Rows of each.
        rng : numpy.random.Generator
            The source of randomness.
        spread : float
            How far levels of subjects lie apart, in standard deviations of the noise: what a subject has for good, and
            rows are dependent by. Effects among variables stay as they are, for it is added to rows.
        """
        if subjects < 1 or visits < self.lags + 1:
            raise ConfigError(f"at least 1 subject and {self.lags + 1} visits are needed, got {subjects} and {visits}")
        p, steps = len(self.names), visits + BEFORE
        E = self.now.sample(subjects * steps, rng).reshape(subjects, steps, p)  # what is new at each step, mixed
        mixed = [self.now.mixing @ B for B in self.lagged]
        X: Matrix = np.zeros((subjects, steps, p))
        for t in range(steps):
            X[:, t] = E[:, t]
            for lag, A in enumerate(mixed, 1):
                if t >= lag:
                    X[:, t] += X[:, t - lag] @ A.T
        if spread:
            X += spread * self.now.noise_sd * rng.normal(size=(subjects, 1, p))
        return X[:, BEFORE:]


def random_model_over_time(
    p: int,
    *,
    lags: int = 1,
    noise: str | Noise = "laplace",
    density: float | None = None,
    degree: float | None = None,
    rng: np.random.Generator,
) -> ModelOverTime:
    """A random model of now, as `random_model` makes it, with effects of as many earlier values per step.

    Every variable depends on itself one step before, and on others with the same probability as now.
    """
    if lags < 1:
        raise ConfigError(f"lags must be at least 1, got {lags}")
    now = random_model(p, noise=noise, density=density, degree=degree, names=default_names(p), rng=rng)
    share = max(1, int(np.count_nonzero(now.B))) / max(p * (p - 1), 1)
    lagged = []
    for lag in range(1, lags + 1):
        joined = rng.random((p, p)) < share
        if lag == 1:
            joined |= np.eye(p, dtype=bool)
        lagged.append(random_weights(joined, low=0.3, high=0.7, rng=rng) / lag)
    slowest = _slowest(now.mixing, lagged)
    growth = slowest / STEADY if slowest > STEADY else 1.0
    return ModelOverTime(now, tuple(B / growth**lag for lag, B in enumerate(lagged, 1)))


def _slowest(mixing: Matrix, lagged: list[Matrix]) -> float:
    """What is left of the longest-lived shock after a step: the largest eigenvalue of the companion matrix."""
    p, lags = len(mixing), len(lagged)
    companion = np.eye(p * lags, k=-p)
    companion[:p] = np.concatenate([mixing @ B for B in lagged], axis=1)
    return float(np.abs(np.linalg.eigvals(companion)).max())


def truth_over_time(model: ModelOverTime) -> str:
    """The effects of a model as the truth files of simulations have them."""
    truth = {
        "variables": model.names,
        "noise": [noise.name for noise in model.now.noise],
        "edges": [asdict(edge) for edge in edge_list(model.now.B, model.names)],
        "lagged": {
            str(lag): [asdict(edge) for edge in edge_list(effects, model.names)]
            for lag, effects in enumerate(model.lagged, 1)
        },
    }
    return json.dumps(truth, indent=1) + "\n"
