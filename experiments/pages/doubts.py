"""How often `discover` itself says that a result is doubtful; `python -m experiments.pages.doubts` prints the tables.

Beside it, how often `check` does, which asks a round for it, at its level of 5 % in each test.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.tasks.regimes import BROKEN, Regime
from fedrcd.data.names import default_names
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.errors import StatisticError
from fedrcd.methods.examination import ask_residuals, doubt_of_residuals
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.typing import BoolMatrix

SEEDS = 20
CHECKED_AT = 0.05
ROWS = (1_000, 5_000)
METHODS = {"one process (`fedrcd-se`)": "fedrcd-se", "one round (`fedrcd-s`)": "fedrcd-s"}
WRONG = tuple(replace(one, name=f"{one.name}, {rows} rows", rows=rows) for rows in ROWS for one in BROKEN)
VALID = tuple(
    Regime(name=f"{p} variables, {rows} rows, {noise}", p=p, rows=rows, noise=noise)
    for p, rows in ((10, 1_000), (10, 5_000), (20, 2_000))
    for noise in NOISE_FAMILIES
)


SURENESS = (0.0, 0.5, 0.7, 0.9, 0.95, 0.99, 1.01)


class DoubtJob(NamedTuple):
    """One data set."""

    regime: Regime
    seed: int


def raised(job: DoubtJob) -> list[bool] | None:
    """Whether each method doubts, and tells, then whether `check` doubts; nothing where columns are collinear."""
    _, X = job.regime.draw(job.seed)
    answers: list[bool] = []
    try:
        for method in METHODS.values():
            transport = embed([X], default_names(job.regime.p))
            found = run(build(method).rounds(transport.setting), transport)
            assert found.doubt is not None
            answers += [found.doubt.doubtful, found.doubt.tells]
    except StatisticError:
        return None
    sums = run(ask_residuals(transport.setting, found.marginals, found.order), transport)
    return [*answers, doubt_of_residuals(sums, found.order, found.B != 0).p_value < CHECKED_AT]


def _shares(regimes: Sequence[Regime], seeds: range, processes: int | None) -> Iterator[tuple[Regime, BoolMatrix]]:
    jobs = [DoubtJob(regime, seed) for regime in regimes for seed in seeds]

    def say(done: int, total: int) -> None:
        print(f"doubts: {done} of {total} data sets", file=sys.stderr, end="\r", flush=True)

    results = in_order(raised, jobs, processes=processes, progress=say)
    for regime in regimes:
        yield regime, np.array([one for one in islice(results, len(seeds)) if one is not None])


def neighbours(job: DoubtJob) -> list[tuple[float, bool, bool]]:
    """Of each two neighbours in the order of one round: how sure it is, whether one acts on the other, and rightly."""
    B, X = job.regime.draw(job.seed)
    transport = embed([X], default_names(job.regime.p))
    found = run(build("fedrcd-s").rounds(transport.setting), transport)
    sure = found.doubt.neighbours if found.doubt else ()
    pairs = zip(found.order, found.order[1:], sure, strict=False)
    return [(one, bool(B[then, first] or B[first, then]), bool(B[then, first])) for first, then, one in pairs]


def calibration(seeds: int = SEEDS, processes: int | None = None) -> Iterator[str]:
    """How often neighbours that are called so sure stand right, on the valid models."""
    jobs = [DoubtJob(regime, seed) for regime in VALID for seed in range(700, 700 + seeds)]
    sure, edge, right = (
        np.array(some) for some in zip(*(pair for one in _pairs(jobs, processes) for pair in one), strict=True)
    )
    yield "| called sure | pairs with an edge | of these right | pairs without an edge |"
    yield "|---|---|---|---|"
    for low, high in pairwise(SURENESS):
        here = (sure >= low) & (sure < high)
        with_edge = here & edge
        share = f"{right[with_edge].mean():.1%}" if with_edge.any() else "-"
        yield f"| {low:g} to {min(high, 1.0):g} | {with_edge.sum()} | {share} | {(here & ~edge).sum()} |"


def _pairs(jobs: list[DoubtJob], processes: int | None) -> Iterator[list[tuple[float, bool, bool]]]:
    def say(done: int, total: int) -> None:
        print(f"neighbours: {done} of {total} data sets", file=sys.stderr, end="\r", flush=True)

    yield from in_order(neighbours, jobs, processes=processes, progress=say)


def section(seeds: int = SEEDS, processes: int | None = None) -> Iterator[str]:
    """Both tables."""
    yield f"Data that break a rule of the model; how many of {seeds} data sets are called doubtful:\n"
    yield "| data | " + " | ".join(METHODS) + " | `check` |"
    yield "|---|" + "---|" * (len(METHODS) + 1)
    for regime, found in _shares(WRONG, range(500, 500 + seeds), processes):
        of = "" if len(found) == seeds else f" of {len(found)}"
        yield f"| {regime.name} | " + " | ".join(f"{found[:, k].sum()}{of}" for k in (0, 2, 4)) + " |"
    yield "\nValid models, eleven families of noise; shares of data sets:\n"
    yield "| data | " + " | ".join(f"{name}: doubtful | with a verdict" for name in METHODS) + " | `check` doubtful |"
    yield "|---|" + "---|---|" * len(METHODS) + "---|"
    groups: dict[str, list[BoolMatrix]] = {}
    for regime, found in _shares(VALID, range(500, 500 + seeds), processes):
        groups.setdefault(f"{regime.p} variables, {regime.rows} rows", []).append(found)
    for name, parts in {**groups, "**all**": [part for some in groups.values() for part in some]}.items():
        shares = np.concatenate(parts).mean(axis=0)
        yield f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args(arguments)
    for part in (section, calibration):
        for line in part(given.seeds, given.jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
