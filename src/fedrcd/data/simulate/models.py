r"""Random linear non-Gaussian acyclic models and the rows they generate.

The model is x = B x + e with independent non-Gaussian e  [P, Sec. 2.1]. The paper's experiments use Erdős-Rényi
graphs of density 0.2 and weights from U([-1.5, -0.5] ∪ [0.5, 1.5])  [P, Sec. 4.1]. What it leaves open, and what is
done here:

- *Parameters of the noise families*: not given. See :mod:`fedrcd.data.simulate.noise`.
- *Scale of the noise*: not given. Every family is brought to unit variance and each variable draws its own standard
  deviation from U[0.5, 2].
- *Centring*: not given. Noise has population mean zero, as the model demands; samples are not centred.
- *The mixed setting*: "a different family" per variable cannot be meant literally beyond ten variables. Families
  are drawn with replacement.
- *ER-2 and density 0.2*: they agree at p = 20 only. ER-2 means 2p expected edges (`degree=2`); density 0.2 means
  that each pair is joined with probability 0.2 (`density=0.2`, the default at every p).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedrcd.data.names import default_names
from fedrcd.data.simulate.noise import Noise, noise_per_variable
from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import is_acyclic, total_effects
from fedrcd.typing import BoolMatrix, Matrix, Vector

DENSITY = 0.2
"""Expected share of joined pairs in the paper's graphs."""


class NoiseCumulants(NamedTuple):
    """Population cumulants of e, one entry per variable."""

    variance: Vector
    k3: Vector
    k4: Vector


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear acyclic model x = B x + e with independent noise.

    Parameters
    ----------
    B : (p, p) array
        Weights, ``B[i, j]`` the effect of j on i.
    noise : (p,) tuple of Noise
        Unit-variance distribution of each e_i.
    noise_sd : (p,) array
        Standard deviation of each e_i.
    names : (p,) tuple of str
        Name of each variable.
    """

    B: Matrix
    noise: tuple[Noise, ...]
    noise_sd: Vector
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        p = len(self.B)
        if self.B.shape != (p, p) or not len(self.noise) == len(self.noise_sd) == len(self.names) == p:
            raise ConfigError("B must be (p, p), with p noises, p standard deviations and p names")
        if not np.all(self.noise_sd > 0):
            raise ConfigError("every standard deviation in noise_sd must be above 0")
        if not is_acyclic(self.B):
            raise ConfigError("B has a cycle; an acyclic model is needed")

    @property
    def mixing(self) -> Matrix:
        """Mixing matrix A = (I - B)^-1 with x = A e, shape (p, p)."""
        return total_effects(self.B) + np.eye(len(self.B))

    @property
    def noise_cumulants(self) -> NoiseCumulants:
        """Population cumulants of the scaled noise: what exact cumulants of x follow from."""
        k3, k4 = np.array([noise.cumulants() for noise in self.noise]).T
        return NoiseCumulants(self.noise_sd**2, k3 * self.noise_sd**3, k4 * self.noise_sd**4)

    def sample(self, n: int, rng: np.random.Generator) -> Matrix:
        """Draw n independent rows of x, shape (n, p).

        Parameters
        ----------
        n : int
            Number of rows.
        rng : numpy.random.Generator
            The source of randomness; variable after variable is drawn from it.
        """
        E = np.empty((n, len(self.B)))
        for j, (noise, sd) in enumerate(zip(self.noise, self.noise_sd, strict=True)):
            E[:, j] = sd * noise.draw(n, rng)
        X: Matrix = E @ self.mixing.T
        return X


def random_dag(
    p: int, *, density: float | None = None, degree: float | None = None, rng: np.random.Generator
) -> BoolMatrix:
    """Erdős-Rényi directed acyclic graph over randomly permuted variables, ``[i, j]`` True iff j -> i.

    Parameters
    ----------
    p : int
        Number of variables.
    density : float, optional
        Probability that a pair is joined, in [0, 1].
    degree : float, optional
        Expected number of edges per variable; ER-k has degree k. A pair is joined with probability
        ``2 * degree / (p - 1)``, at most 1. Exactly one of `density` and `degree` is given.
    rng : numpy.random.Generator
        The source of randomness.
    """
    if p < 1:
        raise ConfigError(f"p must be at least 1, got {p}")
    joined = np.tril(rng.random((p, p)) < _pair_probability(p, density, degree), k=-1)
    labels = rng.permutation(p)
    return joined[np.ix_(labels, labels)]


def random_weights(dag: BoolMatrix, *, low: float = 0.5, high: float = 1.5, rng: np.random.Generator) -> Matrix:
    """Weights from U([-high, -low] ∪ [low, high]) on the edges of a graph, zero elsewhere.

    Parameters
    ----------
    dag : (p, p) array
        ``dag[i, j]`` True iff j -> i.
    low, high : float
        Bounds of the absolute weights, 0 < low <= high.
    rng : numpy.random.Generator
        The source of randomness.
    """
    if not 0 < low <= high:
        raise ConfigError(f"weights need 0 < low <= high, got low={low!r}, high={high!r}")
    size = rng.uniform(low, high, dag.shape)
    sign = rng.choice([-1.0, 1.0], dag.shape)
    return np.where(dag, sign * size, 0.0)


def random_model(
    p: int,
    *,
    noise: str | Noise = "laplace",
    density: float | None = None,
    degree: float | None = None,
    weights: tuple[float, float] = (0.5, 1.5),
    noise_sd: tuple[float, float] = (0.5, 2.0),
    dag: BoolMatrix | None = None,
    names: Sequence[str] | None = None,
    rng: np.random.Generator,
) -> LinearModel:
    """Linear model with a random graph, random weights and random noise scales.

    Parameters
    ----------
    p : int
        Number of variables.
    noise : str or Noise
        A family's name, `mixed` included, or one noise for all variables.
    density, degree : float, optional
        As in :func:`random_dag`; density 0.2 when neither they nor `dag` are given.
    weights : (low, high)
        Bounds of the absolute weights.
    noise_sd : (low, high)
        Bounds of the uniform distribution of the noise's standard deviations.
    dag : (p, p) array, optional
        A fixed graph instead of a random one.
    names : (p,) sequence of str, optional
        Names of the variables; x1, x2, ... by default.
    rng : numpy.random.Generator
        The source of randomness.
    """
    if not 0 < noise_sd[0] <= noise_sd[1]:
        raise ConfigError(f"noise_sd needs 0 < low <= high, got {noise_sd!r}")
    if dag is None:
        dag = random_dag(p, density=_default_density(density, degree), degree=degree, rng=rng)
    elif density is not None or degree is not None:
        raise ConfigError("a given dag leaves nothing to density or degree; drop them or drop dag")
    return LinearModel(
        B=random_weights(dag, low=weights[0], high=weights[1], rng=rng),
        noise=noise_per_variable(noise, p, rng=rng) if isinstance(noise, str) else (noise,) * p,
        noise_sd=rng.uniform(*noise_sd, p),
        names=default_names(p) if names is None else tuple(names),
    )


def _default_density(density: float | None, degree: float | None) -> float | None:
    return DENSITY if density is None and degree is None else density


def _pair_probability(p: int, density: float | None, degree: float | None) -> float:
    """Probability that a pair is joined, from whichever of the two settings is given."""
    if density is not None and degree is None:
        if not 0 <= density <= 1:
            raise ConfigError(f"density must be between 0 and 1, got {density!r}")
        return density
    if degree is not None and density is None:
        if not degree >= 0:
            raise ConfigError(f"degree must be at least 0, got {degree!r}")
        return min(1.0, 2 * degree / max(p - 1, 1))
    raise ConfigError("exactly one of density and degree must be given")
