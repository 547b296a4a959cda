"""What methods find with infinitely many rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedrcd.data import LinearModel, random_model
from fedrcd.graphs import ancestral_accuracy, is_valid_order
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.typing import IntVector
from tests.strategies import population
from tests.verification.claims import Claim, claims, counted
from tests.verification.data import random_data


def in_population(method: str, model: LinearModel, *, standardised: bool) -> IntVector:
    """Order of a method that is answered by the population itself."""
    oracle = population(model, standardised=standardised)
    return run(build(method, weights="none").rounds(oracle.setting), oracle).order


@claims(seed=5)
def deflating_methods_are_right_in_population(seed: int) -> Iterator[Claim]:
    """Methods with exact deflation on the population of random models of all families, raw and standardised."""
    for method in ("fedrcd-x", "fedrcd-t", "fedrcd-s", "fedrcd-sx"):
        for standardised in (False, True):
            wrong = []
            for k in counted(range(200), f"population of {method}"):
                data = random_data(seed, k)
                if not is_valid_order(in_population(method, data.model, standardised=standardised), data.model.B):
                    wrong.append(data.label)
            scale = "standardised" if standardised else "raw"
            result = f"{200 - len(wrong)} valid" + "".join(f"; wrong: {each}" for each in wrong)
            yield Claim(f"{method} finds a valid order of the population, {scale}", 200, result, not wrong)


@claims(seed=6)
def sorting_once_is_not_enough_in_population(seed: int) -> Iterator[Claim]:
    """Ancestral accuracy that methods without deflation reach with infinitely many rows."""
    models = [random_model(20, noise="exponential", rng=np.random.default_rng([seed, k])) for k in range(80)]
    for method in ("fedrcd-ni", "fedhc"):
        for standardised in (False, True):
            accuracy = [
                ancestral_accuracy(in_population(method, model, standardised=standardised), model.B)
                for model in counted(models, f"population of {method}")
            ]
            scale = "standardised" if standardised else "raw"
            result = f"mean {np.mean(accuracy):.3f}, exactly 1 in {sum(a == 1 for a in accuracy)}"
            yield Claim(
                f"{method} does not reach AncAcc 1 in the population (p = 20, density 0.2, exponential), {scale}",
                len(models),
                result,
                bool(np.mean(accuracy) < 1),
            )
