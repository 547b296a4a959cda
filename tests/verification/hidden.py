"""Hidden common causes: what is claimed of populations with them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedrcd.data import NOISE_FAMILIES, LinearModel, random_dag, random_model
from fedrcd.graphs.dag import ancestry
from fedrcd.methods.registry import build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.population_oracle import Oracle
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.frame import Frame
from tests.verification.claims import Claim, claims, counted

SEEN = 8


def with_hidden_causes(seed: int) -> LinearModel:
    """A random model of which the first variables are seen; each of the others causes two or three of them."""
    rng = np.random.default_rng([25, seed])
    hidden = int(rng.integers(1, 4))
    dag = np.pad(random_dag(SEEN, density=0.2, rng=rng), ((0, hidden), (0, hidden)))
    for cause in range(SEEN, SEEN + hidden):
        dag[rng.choice(SEEN, rng.integers(2, 4), replace=False), cause] = True
    return random_model(len(dag), noise=NOISE_FAMILIES[seed % len(NOISE_FAMILIES)], dag=dag, rng=rng)


def in_population(model: LinearModel) -> Estimate:
    """What is found where the population itself answers."""
    errors = model.noise_cumulants
    setting = Setting(model.names[:SEEN], Frame.identity(SEEN))
    oracle = Oracle(setting, model.mixing[:SEEN], errors.variance, errors.k3, errors.k4)
    return run(build("fedrcd-s", hidden=True).rounds(setting), oracle)


def oracle_faults(seed: int) -> list[str]:
    """What is claimed of a population and not so, and what is identified and not found."""
    model = with_hidden_causes(seed)
    found = in_population(model)
    assert found.hidden is not None
    B, shared = model.B[:SEEN, :SEEN], model.B[:SEEN, SEEN:] != 0
    above, paths = ancestry(B), np.abs(model.mixing[:SEEN, SEEN:]) > 1e-9
    direct = (shared[:, None, :] & shared[None, :, :]).any(axis=2)
    common = (paths[:, None, :] & paths[None, :, :]).any(axis=2)
    claimed = found.hidden.evidence > 0
    off = ~np.eye(SEEN, dtype=bool)
    known = off & ~found.hidden.open
    reached = (common.astype(int) @ (B != 0).astype(int)) > 0  # through an effect beside a hidden cause
    plain = (B != 0) & ~common & ~reached
    faults = {
        "no ancestor": found.hidden.ancestors & ~above,
        "no hidden cause": claimed & ~common & off,
        "another effect": known & (np.abs(found.B - B) > 1e-4 * (1 + np.abs(B))),
        "hidden cause missed": direct & ~claimed & off,
        "effect missed": plain & (found.hidden.open | (found.B == 0)),
    }
    return [f"{name}: {model.names[j]}, {model.names[i]}" for name, at in faults.items() for i, j in np.argwhere(at)]


@claims(seed=25)
def hidden_causes_in_population(seed: int) -> Iterator[Claim]:
    """Claims on the populations of random models with hidden causes, of all families."""
    wrong = [k for k in counted(range(200), "populations with hidden causes") if oracle_faults(seed * 1000 + k)]
    result = f"{200 - len(wrong)} right" + "".join(f"; not {k}" for k in wrong)
    yield Claim(
        "in the population, what is identified beside hidden causes is found, and nothing else", 200, result, not wrong
    )
