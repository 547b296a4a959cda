"""Harder settings than the paper's: what a method for LiNGAM should be tried on before it is believed.

Ten variables, 1000 rows, edges with probability 0.2, weights of ±U[0.5, 1.5], mixed noise of sd U[0.5, 2], standardised
data; every regime changes something.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fedrcd.data.simulate.models import LinearModel, random_dag, random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES, Noise
from fedrcd.typing import BoolMatrix, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """How data sets of one kind are drawn."""

    name: str
    p: int = 10
    rows: int = 1000
    noise: str | Noise = "mixed"
    graph: str = "random"
    density: float = 0.2
    weights: tuple[float, float] = (0.5, 1.5)
    noise_sd: tuple[float, float] = (0.5, 2.0)
    log_sd: bool = False
    gaussians: int = 0
    levels: int = 0
    confounded: bool = False

    def draw(self, seed: int) -> tuple[Matrix, Matrix]:
        """The true effects B, shape (p, p), and standardised rows X, shape (rows, p)."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        hidden = int(self.confounded)
        dag = GRAPHS[self.graph](self.p, self.density, rng)
        if hidden:  # the last variable causes two others and is then left out
            dag = np.pad(dag, ((0, 1), (0, 1)))
            dag[rng.choice(self.p, 2, replace=False), -1] = True
        model = self._model(dag, rng)
        X = model.sample(self.rows, rng)[:, : self.p]
        if self.levels:
            X = _discretise(X, self.levels)
        return model.B[: self.p, : self.p], (X - X.mean(axis=0)) / X.std(axis=0)

    def _model(self, dag: BoolMatrix, rng: np.random.Generator) -> LinearModel:
        p = len(dag)
        model = random_model(p, noise=self.noise, dag=dag, weights=self.weights, noise_sd=self.noise_sd, rng=rng)
        if self.log_sd:
            model = replace(model, noise_sd=np.exp(rng.uniform(np.log(self.noise_sd[0]), np.log(self.noise_sd[1]), p)))
        if self.gaussians:
            chosen = set(rng.choice(p, self.gaussians, replace=False).tolist())
            noise = tuple(Noise("gaussian") if j in chosen else one for j, one in enumerate(model.noise))
            model = replace(model, noise=noise)
        return model


def _discretise(X: Matrix, levels: int) -> Matrix:
    """Columns rounded to a few levels, evenly spaced between their 1 % and 99 % quantiles."""
    low, high = np.quantile(X, [0.01, 0.99], axis=0)
    step = (high - low) / (levels - 1)
    rounded: Matrix = np.clip(np.round((X - low) / step), 0, levels - 1) * step
    return rounded


def _random(p: int, density: float, rng: np.random.Generator) -> BoolMatrix:
    return random_dag(p, density=density, rng=rng)


def _shuffled(dag: BoolMatrix, rng: np.random.Generator) -> BoolMatrix:
    labels = rng.permutation(len(dag))
    return dag[np.ix_(labels, labels)]


def _chain(p: int, density: float, rng: np.random.Generator) -> BoolMatrix:  # noqa: ARG001
    return _shuffled(np.eye(p, k=-1, dtype=bool), rng)


def _star(p: int, density: float, rng: np.random.Generator) -> BoolMatrix:  # noqa: ARG001
    dag = np.zeros((p, p), dtype=bool)
    dag[1:, 0] = True
    return _shuffled(dag, rng)


def _collider(p: int, density: float, rng: np.random.Generator) -> BoolMatrix:  # noqa: ARG001
    dag = np.zeros((p, p), dtype=bool)
    dag[-1, :-1] = True
    return _shuffled(dag, rng)


def _scale_free(p: int, density: float, rng: np.random.Generator) -> BoolMatrix:  # noqa: ARG001
    """Every variable takes two earlier ones as parents, those with many children more likely."""
    dag = np.zeros((p, p), dtype=bool)
    for j in range(1, p):
        popularity = 1.0 + dag[:, :j].sum(axis=0)
        parents = rng.choice(j, size=min(2, j), replace=False, p=popularity / popularity.sum())
        dag[j, parents] = True
    return _shuffled(dag, rng)


GRAPHS: dict[str, Callable[[int, float, np.random.Generator], BoolMatrix]] = {
    "random": _random,
    "chain": _chain,
    "star": _star,
    "collider": _collider,
    "scale-free": _scale_free,
}

FOUR = ("laplace", "uniform", "gamma", "mixed")
WEAK, STRONG = (0.1, 0.5), (1.0, 3.0)
NEAR_GAUSSIAN = {
    "exponent 1.5": Noise("generalised-normal", 1.5),
    "exponent 2.5": Noise("generalised-normal", 2.5),
    "t with 20 degrees": Noise("student-t", 20.0),
    "gamma of shape 20": Noise("gamma", 20.0),
}

REGIMES: tuple[Regime, ...] = (
    *(Regime(name=f"{family} noise", noise=family) for family in NOISE_FAMILIES),
    *(Regime(name=f"near-Gaussian, {name}", noise=noise) for name, noise in NEAR_GAUSSIAN.items()),
    *(Regime(name=f"weak edges, {noise}", noise=noise, weights=WEAK) for noise in FOUR),
    *(Regime(name=f"strong edges, {noise}", noise=noise, weights=STRONG) for noise in FOUR),
    Regime(name="density 0.5", density=0.5),
    Regime(name="density 0.5, laplace", density=0.5, noise="laplace"),
    Regime(name="density 0.8", density=0.8),
    Regime(name="density 0.1", density=0.1),
    *(Regime(name=graph, graph=graph) for graph in ("chain", "star", "collider", "scale-free")),
    Regime(name="2 of 10 Gaussian", gaussians=2),
    Regime(name="4 of 10 Gaussian", gaussians=4),
    *(Regime(name=f"{rows} rows", rows=rows) for rows in (100, 200, 500, 2000, 5000)),
    *(Regime(name=f"200 rows, {noise}", rows=200, noise=noise) for noise in ("laplace", "uniform", "exponential")),
    Regime(name="5 variables", p=5),
    Regime(name="20 variables", p=20),
    Regime(name="20 variables, density 0.4", p=20, density=0.4),
    Regime(name="noise sd 0.1 to 10, uniform", noise_sd=(0.1, 10.0)),
    Regime(name="noise sd 0.1 to 10, log-uniform", noise_sd=(0.1, 10.0), log_sd=True),
    Regime(name="5 levels", levels=5),
    Regime(name="10 levels", levels=10),
    Regime(name="hidden confounder", confounded=True),
    Regime(name="hidden confounder, laplace", confounded=True, noise="laplace"),
    Regime(name="weak edges, 200 rows", weights=WEAK, rows=200),
    Regime(name="density 0.5, 200 rows", density=0.5, rows=200),
    *(Regime(name=f"20 variables, 500 rows, {noise}", p=20, rows=500, noise=noise) for noise in FOUR),
    *(Regime(name=f"20 variables, 2000 rows, {noise}", p=20, rows=2000, noise=noise) for noise in FOUR),
)
