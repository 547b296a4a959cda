"""Data sets that claims share, and how differences between orders are told."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedrcd.data import NOISE_FAMILIES, LinearModel, random_model
from fedrcd.data.names import default_names
from fedrcd.methods.skeleton import Estimate
from fedrcd.typing import Matrix


class Data(NamedTuple):
    """Rows of a random model, with what is needed to tell which they are."""

    model: LinearModel
    X: Matrix
    label: str
    rng: np.random.Generator


def random_data(seed: int, k: int) -> Data:
    """Data set k: families and sizes take turns, p from 4 to 12, n from 300 to 1000."""
    rng = np.random.default_rng([seed, k])
    noise, p, n = NOISE_FAMILIES[k % len(NOISE_FAMILIES)], 4 + k % 9, int(rng.integers(300, 1001))
    model = random_model(p, noise=noise, density=0.5, rng=rng)
    return Data(model, model.sample(n, rng), f"data set {k} ({noise}, p = {p}, n = {n})", rng)


def parting(ours: Estimate, theirs: list[int]) -> tuple[int, float]:
    """At which step two orders part, and by what margin we decided there."""
    step = next(k for k, (i, j) in enumerate(zip(ours.order, theirs, strict=True)) if i != j)
    return step, ours.steps[step].margin if step < len(ours.steps) else 0.0


def difference(data: Data, ours: Estimate, theirs: list[int]) -> str:
    """Where two orders part, in words."""
    step, margin = parting(ours, theirs)
    names = default_names(len(theirs))
    kind = "a tie" if margin == 0 else f"margin {margin:.1e}"
    return f"{data.label}, step {step + 1}: {names[ours.order[step]]} instead of {names[theirs[step]]}, {kind}"


def told(differences: list[str], count: int) -> str:
    """A result that lists every case that differs."""
    return f"{count - len(differences)} identical" + "".join(f"; differs: {each}" for each in differences)
