"""Prior knowledge is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedrcd.data import random_model
from fedrcd.graphs import is_valid_order
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from tests.knowledge import consistent_knowledge
from tests.verification.claims import Claim, claims, counted


@claims(seed=91)
def prior_knowledge_is_kept(seed: int) -> Iterator[Claim]:
    """Random statements, true or not, over all methods and selections."""
    broken, count, names = [], 2000, list(METHODS)
    for k in counted(range(count), "prior knowledge"):
        rng = np.random.default_rng([seed, k])
        model = random_model(4 + k % 6, noise="gamma", density=0.5, rng=rng)
        known, constraints = consistent_knowledge(model.names, rng)
        method = names[k % len(names)]
        transport = embed(np.array_split(model.sample(300, rng), 2), model.names, stack=METHODS[method].one_table)
        parts = build(method, weights=("adaptive-lasso", "bic", "none")[k // len(names) % 3])
        found = run(parts.rounds(replace(transport.setting, constraints=constraints)), transport)
        told = known.violations(found.B, [model.names[i] for i in found.order], model.names)
        if told or not is_valid_order(found.order, found.B):
            broken.append(f"run {k} ({method}): {told}")
    result = f"{len(broken)} violated" + "".join(f"; {each}" for each in broken)
    yield Claim("prior knowledge is kept in order and weights, over all methods", count, result, not broken)
