"""Harder settings than the paper's: what a method for LiNGAM should be tried on before it is believed.

Ten variables, 1000 rows, edges with probability 0.2, weights of ±U[0.5, 1.5], mixed noise of sd U[0.5, 2], standardised
data; every regime changes something. Those of `BROKEN` break a rule of the model.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedrcd.data.simulate.models import LinearModel, random_dag, random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES, Noise
from fedrcd.graphs.dag import topological_order
from fedrcd.typing import BoolMatrix, Matrix, Vector


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
    levelled: float = 1.0
    """Share of the columns that take `levels` values only."""
    hidden: int = 0
    """Causes of two variables each that nobody measured."""
    bend: str = "none"
    """What becomes of a cause of unit variance before it acts."""
    uneven: float = 0.0
    """By how much the logarithm of an error's spread follows its causes."""
    memory: float = 0.0
    """Correlation of an error with that of the row before."""
    blur: float = 0.0
    """Errors of measurement, Gaussian, in standard deviations of each variable."""
    feedback: float = 0.0
    """Effect of one variable back on a cause of it, in their standard deviations."""

    def draw(self, seed: int) -> tuple[Matrix, Matrix]:
        """The true effects B, shape (p, p), and standardised rows X, shape (rows, p)."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        dag = GRAPHS[self.graph](self.p, self.density, rng)
        for _ in range(self.hidden):  # the last variable causes two others and is then left out
            dag = np.pad(dag, ((0, 1), (0, 1)))
            dag[rng.choice(self.p, 2, replace=False), -1] = True
        model = self._model(dag, rng)
        X: Matrix = (model.sample(self.rows, rng) if self.linear else self._sampled(model, rng))[:, : self.p]
        if self.blur:
            X = X + self.blur * X.std(axis=0) * rng.normal(size=X.shape)
        if self.levels:
            columns = rng.random(self.p) < self.levelled if self.levelled < 1 else np.ones(self.p, dtype=bool)
            X[:, columns] = _discretise(X[:, columns], self.levels)
        return model.B[: self.p, : self.p], (X - X.mean(axis=0)) / X.std(axis=0)

    @property
    def linear(self) -> bool:
        """Whether rows are independent draws of a linear model without a cycle."""
        return self.bend == "none" and not (self.uneven or self.memory or self.feedback)

    def _sampled(self, model: LinearModel, rng: np.random.Generator) -> Matrix:
        """Rows of a model with bent effects, uneven errors, errors that remember, or one arrow back."""
        p = len(model.B)
        E = np.column_stack([noise.draw(self.rows, rng) for noise in model.noise])
        if self.memory:
            for row in range(1, self.rows):
                E[row] = self.memory * E[row - 1] + np.sqrt(1 - self.memory**2) * E[row]
        E *= model.noise_sd
        if self.feedback:
            return self._with_feedback(model, E, rng)
        X: Matrix = np.zeros((self.rows, p))
        for j in topological_order(model.B):
            causes = np.flatnonzero(model.B[j])
            spread = np.ones(self.rows)
            for i in causes:
                sd = X[:, i].std()
                X[:, j] += model.B[j, i] * sd * BENDS[self.bend](X[:, i] / sd)
                spread *= np.exp(self.uneven * X[:, i] / sd)
            X[:, j] += E[:, j] * spread / np.sqrt(np.mean(spread**2))
        return X

    def _with_feedback(self, model: LinearModel, E: Matrix, rng: np.random.Generator) -> Matrix:
        effects = np.argwhere(model.B)
        if not len(effects):
            return E
        i, j = effects[rng.integers(len(effects))]
        sd = (E @ model.mixing.T).std(axis=0)
        B = model.B.copy()
        B[j, i] = self.feedback * sd[j] / sd[i]
        solved: Any = np.linalg.solve(np.eye(len(B)) - B, E.T)
        return np.asarray(solved).T

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


def _tanh(z: Vector) -> Vector:
    bent: Vector = np.tanh(2 * z)
    return bent


def _quadratic(z: Vector) -> Vector:
    bent: Vector = z + 0.5 * (z**2 - 1)
    return bent


BENDS: dict[str, Callable[[Vector], Vector]] = {"none": lambda z: z, "tanh": _tanh, "quadratic": _quadratic}


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

BROKEN: tuple[Regime, ...] = (
    *(Regime(name=f"tanh edges, {noise}", bend="tanh", noise=noise) for noise in ("laplace", "mixed")),
    Regime(name="quadratic edges", bend="quadratic"),
    Regime(name="heteroscedastic", uneven=0.5),
    Regime(name="AR(1) errors, 0.8", memory=0.8),
    Regime(name="measurement error, 0.3", blur=0.3),
    Regime(name="30 % of columns with 4 levels", levels=4, levelled=0.3),
    Regime(name="30 % of columns with 10 levels", levels=10, levelled=0.3),
    Regime(name="a cycle", feedback=0.4),
    Regime(name="two hidden confounders", hidden=2),
    Regime(name="two hidden confounders, laplace", hidden=2, noise="laplace"),
)
"""Regimes whose data break a rule of the model."""

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
    Regime(name="hidden confounder", hidden=1),
    Regime(name="hidden confounder, laplace", hidden=1, noise="laplace"),
    Regime(name="weak edges, 200 rows", weights=WEAK, rows=200),
    Regime(name="density 0.5, 200 rows", density=0.5, rows=200),
    *(Regime(name=f"20 variables, 500 rows, {noise}", p=20, rows=500, noise=noise) for noise in FOUR),
    *(Regime(name=f"20 variables, 2000 rows, {noise}", p=20, rows=2000, noise=noise) for noise in FOUR),
    *BROKEN,
)
