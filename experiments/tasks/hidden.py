"""Models with hidden common causes, and how well a method tells them from effects, beside those of `lingam`.

Ten variables, edges with probability 0.2, weights of ±U[0.5, 1.5], noise of sd U[0.5, 2]; one to three hidden causes,
each of two or three of the variables, with weights and noise of the same kinds.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from experiments.harness.cells import Row
from fedrcd import discover
from fedrcd.data.simulate.models import LinearModel, random_dag, random_model
from fedrcd.graphs.dag import ancestry
from fedrcd.methods.hidden.search import Caution
from fedrcd.typing import BoolMatrix, Matrix

HSIC_ROWS = 2_000
"""Above which the tests of `lingam` need too much memory: it gets a subsample of so many rows."""


class GraphClaims(NamedTuple):
    """What a method says, or what is true: [i, j] for j on i; confounded pairs are symmetric."""

    ancestors: BoolMatrix
    confounded: BoolMatrix
    edges: BoolMatrix


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenModel:
    """A linear model of which the first p variables are seen."""

    model: LinearModel
    p: int

    @classmethod
    def draw(
        cls, p: int, noise: str, hidden: int, rng: np.random.Generator, weights: tuple[float, float] = (0.5, 1.5)
    ) -> HiddenModel:
        """A random one, with so many hidden causes of two or three variables each."""
        dag = np.pad(random_dag(p, density=0.2, rng=rng), ((0, hidden), (0, hidden)))
        for cause in range(p, p + hidden):
            dag[rng.choice(p, rng.integers(2, 4), replace=False), cause] = True
        return cls(model=random_model(len(dag), noise=noise, dag=dag, weights=weights, rng=rng), p=p)

    def sample(self, rows: int, rng: np.random.Generator) -> Matrix:
        """Rows of what is seen."""
        return self.model.sample(rows, rng)[:, : self.p]

    @property
    def truth(self) -> GraphClaims:
        """What is true of the variables that are seen."""
        seen, of_hidden = self.model.B[: self.p, : self.p], self.model.B[: self.p, self.p :] != 0
        shared = (of_hidden.astype(int) @ of_hidden.T.astype(int)) > 0
        return GraphClaims(ancestry(seen), shared & ~np.eye(self.p, dtype=bool), seen != 0)


def drawn(
    noise: str, rows: int, seed: int, *, p: int = 10, most: int = 3, weak: bool = False
) -> tuple[GraphClaims, Matrix]:
    """The truth and the rows of a data set; with `most` = 0 nothing is hidden."""
    rng = np.random.default_rng([25, seed, rows, p, most, zlib.crc32(noise.encode())])
    hidden = int(rng.integers(1, most + 1)) if most else 0
    model = HiddenModel.draw(p, noise, hidden, rng, (0.1, 0.5) if weak else (0.5, 1.5))
    return model.truth, model.sample(rows, rng)


def of_lingam(name: str) -> Callable[[Matrix], GraphClaims]:
    """A method of the `lingam` package; what it says of ancestors is its own list, or follows from its edges."""

    def claim(X: Matrix) -> GraphClaims:
        import lingam

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model: Any = getattr(lingam, name)()
            model.fit(X[:HSIC_ROWS])
        B = model.adjacency_matrix_
        edges = ~np.isnan(B) & (B != 0)
        above = ancestry(edges)
        if hasattr(model, "ancestors_list_"):
            above = np.zeros_like(edges)
            for variable, ancestors in enumerate(model.ancestors_list_):
                above[variable, list(ancestors)] = True
        return GraphClaims(above, np.isnan(B) | np.isnan(B.T), edges)

    return claim


def of_search(caution: Caution | None) -> Callable[[Matrix], GraphClaims]:
    """What `discover` says with a caution; without one, what it says as if nothing were hidden."""

    def claim(X: Matrix) -> GraphClaims:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = discover(X, "fedrcd-s") if caution is None else discover(X, hidden=True, caution=caution)
        place = {name: k for k, name in enumerate(found.names)}
        edges = ~np.isnan(found.B) & (found.B != 0)
        above, shared = ancestry(edges), np.zeros_like(edges)
        if caution is not None:
            above = np.zeros_like(edges)
            for cause, effect in found.ancestors:
                above[place[effect], place[cause]] = True
            for pair in found.confounded:
                i, j = place[pair.one], place[pair.other]
                shared[i, j] = shared[j, i] = True
        return GraphClaims(above, shared, edges)

    return claim


CLAIMANTS: dict[str, Callable[[Matrix], GraphClaims]] = {
    "alarm": of_search("alarm"),
    "screen": of_search("screen"),
    "nothing hidden": of_search(None),
    "lingam.RCD": of_lingam("RCD"),
    "lingam.BottomUpParceLiNGAM": of_lingam("BottomUpParceLiNGAM"),
}


def find_hidden(
    *, noise: str, rows: int, seed: int, method: str, most: int = 3, weak: bool = False, p: int = 10
) -> list[Row]:
    """How right the claims of a method are: hits, claims and truths of each kind, over one data set."""
    truth, X = drawn(noise, rows, seed, p=p, most=most, weak=weak)
    said = CLAIMANTS[method](X)
    row: Row = {}
    for kind, claimed, true in zip(GraphClaims._fields, said, truth, strict=True):
        half = np.triu(np.ones_like(true), 1) if kind == "confounded" else np.ones_like(true)
        row |= {
            f"{kind}_hits": int((claimed & true & half).sum()),
            f"{kind}_claimed": int((claimed & half).sum()),
            f"{kind}_true": int((true & half).sum()),
        }
    return [row]
