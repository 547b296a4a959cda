"""Random tables, cuts and frames for hypothesis, and the short ways tests take to a model's rows or population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedrcd.data import LinearModel
from fedrcd.data.names import default_names
from fedrcd.methods.registry import build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.protocol.population_oracle import Oracle
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.frame import Frame, propose_frame
from fedrcd.statistics.pair_sums import PairSums, pair_sums
from fedrcd.typing import Matrix, Vector

seeds = st.integers(0, 2**32 - 1)


def tables(*, rows: tuple[int, int] = (1, 12), columns: tuple[int, int] = (1, 4), size: float = 100.0) -> Any:
    """Arrays of rows by columns, entries up to `size`."""
    entries = st.floats(-size, size, allow_subnormal=False)
    return arrays(np.float64, st.tuples(st.integers(*rows), st.integers(*columns)), elements=entries)


@st.composite
def wild_tables(draw: Any) -> Matrix:
    """Real rows at their worst: few, constant, integer, heavy-tailed, of very different size, far from zero."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 40))
    kinds = draw(st.lists(st.sampled_from(list(WILD)), min_size=1, max_size=4))
    size = [10.0 ** draw(st.integers(-20, 20)) for _ in kinds]
    return np.stack([s * WILD[kind](rng, n) for kind, s in zip(kinds, size, strict=True)], axis=1)


WILD = {
    "constant": lambda rng, n: np.full(n, rng.normal()),
    "zero": lambda _, n: np.zeros(n),
    "heavy": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "far": lambda rng, n: 1e6 + rng.normal(size=n),
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "smooth": lambda rng, n: rng.normal(size=n),
}


@st.composite
def cut_tables(draw: Any, *, parts: tuple[int, int] = (1, 5), columns: tuple[int, int] = (1, 4)) -> list[Matrix]:
    """One table cut into parts at random rows; every part has a row."""
    X = draw(tables(rows=(parts[1], 20), columns=columns))
    cuts = draw(st.sets(st.integers(1, len(X) - 1), min_size=parts[0] - 1, max_size=parts[1] - 1))
    return np.split(X, sorted(cuts))


def random_frame(p: int, rng: np.random.Generator) -> Frame:
    """A frame that is wrong by a few standard deviations and a factor of up to ten."""
    return Frame(rng.uniform(-3, 3, p), 10 ** rng.uniform(-1, 1, p))


def random_cov(p: int, rng: np.random.Generator) -> Matrix:
    """A well-conditioned covariance of p variables in different units."""
    root = rng.normal(size=(p, 2 * p)) * 10 ** rng.uniform(-1, 1, (p, 1))
    return root @ root.T / (2 * p)


def sums_of(X: Matrix, order: int = 4) -> PairSums:
    """Pair sums of one table in one block."""
    return pair_sums([X], X.shape[1], order)


def population(model: LinearModel, *, standardised: bool = False, frame: Frame | None = None) -> Oracle:
    """The oracle of a model, of its variables as they are or divided by their standard deviations."""
    A = model.mixing
    if standardised:
        A = A / population_sd(model)[:, None]
    return Oracle(Setting(model.names, frame or Frame.identity(len(A))), A, *model.noise_cumulants)


def population_sd(model: LinearModel) -> Vector:
    """Standard deviation of every variable of a model."""
    return np.sqrt(np.sum(model.mixing**2 * model.noise_cumulants.variance, axis=1))


def estimate(method: str, parts: Sequence[Matrix], **options: Any) -> Estimate:
    """What a method makes of tables that are its sites."""
    transport = embed(parts, default_names(parts[0].shape[1]))
    return run(build(method, **options).rounds(transport.setting), transport)


def proposed(arrays):
    """The frame that is proposed for arrays."""
    return propose_frame([lambda one=one: iter([one]) for one in arrays], [len(one) for one in arrays])
