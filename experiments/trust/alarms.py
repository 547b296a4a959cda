"""False alarms of the assumption checks on valid models, and how often they see what is wrong with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.trust.figures import curves
from experiments.trust.progress import in_parallel
from fedrcd.confidence.checks import Check, Findings, assess
from fedrcd.data.simulate.models import random_model
from fedrcd.data.simulate.noise import NOISE_FAMILIES, Noise
from fedrcd.graphs.dag import topological_order
from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.examination import ask_residuals
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.typing import BoolMatrix, IntVector, Matrix, Vector

P, ROWS, SITES, LEVEL = 6, 20_000, 5, 0.05
SIMULATIONS = 2_200
POWER_SIMULATIONS = 200
CHECKS = ("independence", "linearity", "sites alike")

STRENGTHS = {
    "nearly Gaussian noise": (1.0, 1.2, 1.4, 1.6, 1.8, 1.9, 2.0),
    "hidden confounder": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "quadratic edge": (0.0, 0.002, 0.004, 0.006, 0.01, 0.02),
    "shifted sites": (0.0, 0.01, 0.02, 0.03, 0.04, 0.06),
}
"""Exponent of generalised normal noise (2 is Gaussian); loading of a hidden common cause of two variables, in standard
deviations of their noise; coefficient of the standardised square of a cause; standard deviation of the sites' shifts of
each variable, in its own."""

SEES = {
    "nearly Gaussian noise": "non-gaussian",
    "hidden confounder": "independence",
    "quadratic edge": "linearity",
    "shifted sites": "sites alike",
}
"""Which check is meant to see what."""


class Valid(NamedTuple):
    """One valid model: verdicts, and p-values of single tests that can be relied on."""

    noise: str
    verdicts: Mapping[str, str]
    independence: Vector
    linearity: Vector
    sites: Vector


def findings(X: Matrix, names: tuple[str, ...], order: IntVector, edges: BoolMatrix) -> Findings:
    """All checks along a given order."""
    transport = embed(np.array_split(X, SITES), names)
    setting = transport.setting
    _, marginals = run(ask_pairs(setting, 2, "plug-in"), transport)
    sums = run(ask_residuals(setting, marginals, order), transport)
    return assess(sums, names, order, edges, Check("scale", "cannot tell", "", "", ""), LEVEL)


def simulate_valid(seed: int) -> Valid:
    """A model whose assumptions hold."""
    noise = NOISE_FAMILIES[seed % len(NOISE_FAMILIES)]
    rng = np.random.default_rng([102, seed])
    model = random_model(P, noise=noise, density=0.5, rng=rng)
    found = findings(model.sample(ROWS, rng), model.names, topological_order(model.B), model.B != 0)
    verdicts = {check.name: check.verdict for check in found.checks}
    upper = np.triu(np.ones((P, P), dtype=bool), 1) & found.independence.tells
    edges = (model.B != 0) & found.linearity.tells
    return Valid(
        noise,
        verdicts,
        found.independence.p_values[upper],
        found.linearity.p_values[edges],
        np.concatenate([found.means_alike, found.variances_alike]),
    )


def simulate_gaussian(seed: int) -> Matrix:
    """P-values of the test for Gaussian residuals where all are."""
    rng = np.random.default_rng([103, seed])
    model = random_model(P, noise="gaussian", density=0.5, rng=rng)
    found = findings(model.sample(ROWS, rng), model.names, topological_order(model.B), model.B != 0)
    return found.residuals.p_values


def simulate_wrong(job: tuple[str, float, int]) -> bool:
    """Whether the check that is meant to sees what is wrong."""
    what, strength, seed = job
    rng = np.random.default_rng([104, seed, sorted(STRENGTHS).index(what)])
    noise = Noise("generalised-normal", strength) if what == "nearly Gaussian noise" else Noise("laplace")
    model = random_model(P, noise=noise, density=0.5, rng=rng)
    order = topological_order(model.B)
    X = model.sample(ROWS, rng)
    if what == "hidden confounder":
        pair = rng.choice(P, 2, replace=False)
        hidden = rng.laplace(size=(ROWS, 1)) / np.sqrt(2)
        X = X + strength * hidden @ (model.mixing[:, pair] @ model.noise_sd[pair])[None, :]
    if what == "quadratic edge":
        effects = np.argwhere(model.B)
        i, j = effects[rng.integers(len(effects))] if len(effects) else (order[1], order[0])
        square = ((X[:, j] - X[:, j].mean()) / X[:, j].std()) ** 2
        X = X + strength * model.noise_sd[i] * np.outer(square, model.mixing[:, i])
    if what == "shifted sites":
        shifts = rng.normal(0, strength, (SITES, P)) * X.std(axis=0)
        X = X + np.repeat(shifts, ROWS // SITES, axis=0)
    found = findings(X, model.names, order, model.B != 0)
    return next(check.verdict for check in found.checks if check.name == SEES[what]) == "doubtful"


def section(folder: Path, simulations: int = SIMULATIONS, power: int = POWER_SIMULATIONS) -> Iterator[str]:
    """Tables, and the figure."""
    valid = in_parallel(simulate_valid, range(simulations), "false alarms")
    gaussian = np.concatenate(in_parallel(simulate_gaussian, range(simulations // 10), "Gaussian residuals"))
    yield "## Checks: false alarms\n"
    yield (
        f"{simulations} valid models, p = {P}, {ROWS} rows at {SITES} sites, families in turn, checked along a true "
        f"order at level {LEVEL:.0%}. A *test* is one pair of residuals, one edge, or one variable; a *verdict* is "
        "over all of them. Where tails are too heavy for the rows, a check says that it cannot tell.\n"
    )
    yield "| check | tests | alarms per test | verdicts | alarms per verdict | cannot tell |"
    yield "|---|---|---|---|---|---|"
    for name, field in zip(CHECKS, ("independence", "linearity", "sites"), strict=True):
        tests = np.concatenate([getattr(one, field) for one in valid])
        verdicts = [one.verdicts[name] for one in valid]
        told = [verdict for verdict in verdicts if verdict != "cannot tell"]
        yield (
            f"| {name} | {len(tests)} | {_percent(tests < LEVEL)} | {len(told)} | "
            f"{_percent(np.array(told) == 'doubtful')} | {1 - len(told) / len(verdicts):.0%} |"
        )
    yield f"| Gaussian residuals, called non-Gaussian | {len(gaussian)} | {_percent(gaussian < LEVEL)} | - | - | - |"
    alarms = np.array([one.verdicts["non-gaussian"] == "doubtful" for one in valid])
    yield f"| non-gaussian, on non-Gaussian models | - | - | {len(alarms)} | {_percent(alarms)} | 0% |"
    yield ""
    yield from _by_family(valid)
    yield from _power(folder, power)


def _by_family(valid: list[Valid]) -> Iterator[str]:
    yield "Per family, alarms per test and share of verdicts withheld:\n"
    yield "| noise | independence | withheld | linearity | withheld | sites alike |"
    yield "|---|---|---|---|---|---|"
    for noise in NOISE_FAMILIES:
        own = [one for one in valid if one.noise == noise]
        if not own:
            continue
        fields = ("independence", "linearity", "sites")
        rates = [_rate(np.concatenate([getattr(one, field) for one in own])) for field in fields]
        withheld = [np.mean([one.verdicts[name] == "cannot tell" for one in own]) for name in CHECKS[:2]]
        yield f"| {noise} | {rates[0]} | {withheld[0]:.0%} | {rates[1]} | {withheld[1]:.0%} | {rates[2]} |"
    yield ""


def _power(folder: Path, simulations: int) -> Iterator[str]:
    jobs = [(what, s, seed) for what, strengths in STRENGTHS.items() for s in strengths for seed in range(simulations)]
    seen = dict(zip(jobs, in_parallel(simulate_wrong, jobs, "power"), strict=True))
    shares = {
        what: [float(np.mean([seen[what, s, seed] for seed in range(simulations)])) for s in strengths]
        for what, strengths in STRENGTHS.items()
    }
    curves(folder / "power.svg", STRENGTHS, shares, LEVEL)
    yield "## Checks: power\n"
    yield (
        f"{simulations} models per point, Laplace noise but for the first; share in which the check that is meant to "
        "see it gives the alarm. The first needs explaining: noise is generalised normal, Gaussian at exponent 2, and "
        "the alarm says that two residuals or more cannot be told from Gaussian ones.\n"
    )
    yield "![power of the checks](figures/power.svg)\n"
    yield "| what is wrong | check | strength: share of alarms |"
    yield "|---|---|---|"
    for what, strengths in STRENGTHS.items():
        points = ", ".join(f"{s:g}: {100 * share:.0f} %" for s, share in zip(strengths, shares[what], strict=True))
        yield f"| {what} | {SEES[what]} | {points} |"
    yield ""


def _rate(p_values: Matrix) -> str:
    return _percent(p_values < LEVEL) if len(p_values) else "-"


def _percent(alarms: BoolMatrix) -> str:
    return f"{100 * np.mean(alarms):.1f} %" if len(alarms) else "-"
