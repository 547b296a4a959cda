"""Real rows, with resampled intervals in the place of single figures; `python -m experiments.pages.real` prints them.

The proteins of Sachs et al. ship with the package. Of other sets give the table and the known causal pairs yourself:
`--table rows.csv --known pairs.csv`, the second with columns cause and effect. Known to be fit for it, and not shipped:
the discharges of the Danube with its flow network (the R package graphicalExtremes).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.harness.parallel import in_order
from fedrcd.data.examples.sachs import sachs_tables, sachs_truths
from fedrcd.data.table import Table
from fedrcd.errors import StatisticError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import Within, in_process
from fedrcd.typing import Matrix

RESAMPLES = 100
METHODS = ("fedrcd-se", "fedrcd-s", "fedrcd-r", "fed-direct", "fedrcd-sx", "fedrcd-x")


@dataclass(frozen=True)
class RealJob:
    """Tables by site, variables, graphs to compare with, and which resample; none for the rows as they are."""

    tables: tuple[Matrix, ...]
    names: tuple[str, ...]
    truths: Mapping[str, Matrix]
    within: Within
    seed: int | None


def accuracies(job: RealJob) -> dict[tuple[str, str], float]:
    """AncAcc of every method and graph."""
    tables = job.tables
    if job.seed is not None:
        rng = np.random.default_rng([77, job.seed])
        tables = tuple(rows[rng.integers(0, len(rows), len(rows))] for rows in tables)
    found: dict[tuple[str, str], float] = {}
    for method in METHODS:
        named = [Table(rows, f"site {k}", f"site {k}", columns=job.names) for k, rows in enumerate(tables)]
        transport = in_process(named, job.names, within=job.within)
        try:
            order = run(build(method).rounds(transport.setting), transport).order
        except StatisticError:
            continue
        found |= {(method, title): ancestral_accuracy(order, B) for title, B in job.truths.items()}
    return found


def table(job: RealJob, resamples: int, processes: int | None) -> Iterator[str]:
    """AncAcc on the rows as they are, and the middle 95 % over resamples."""
    jobs = [job, *(RealJob(job.tables, job.names, job.truths, job.within, seed) for seed in range(resamples))]

    def say(done: int, total: int) -> None:
        print(f"real rows: {done} of {total} resamples", file=sys.stderr, end="\r", flush=True)

    own, *drawn = in_order(accuracies, jobs, processes=processes, progress=say)
    yield "| method | " + " | ".join(f"against {title}" for title in job.truths) + " |"
    yield "|---" * (len(job.truths) + 1) + "|"
    for method in METHODS:
        cells = []
        for title in job.truths:
            values = [one[method, title] for one in drawn if (method, title) in one]
            low, high = np.quantile(values, [0.025, 0.975]) if values else (np.nan, np.nan)
            cells.append(f"{own.get((method, title), np.nan):.2f} ({low:.2f} to {high:.2f})")
        yield f"| {method} | " + " | ".join(cells) + " |"


def sachs(within: Within) -> RealJob:
    """The proteins, each condition at a site."""
    tables = sachs_tables()
    names = tables[0].columns
    return RealJob(tuple(one.values for one in tables), names, sachs_truths(names), within, None)


def section(resamples: int = RESAMPLES, processes: int | None = None) -> Iterator[str]:
    """The proteins, with and without what differs between conditions."""
    choices: tuple[Within, ...] = ("none", "standardise")
    for within in choices:
        yield f"\nSachs et al., 7466 cells under nine conditions, `within={within!r}`:\n"
        yield from table(sachs(within), resamples, processes)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--table", type=Path, help="rows of your own, .csv")
    parser.add_argument("--known", type=Path, help="their known causal pairs, .csv with columns cause and effect")
    given = parser.parse_args(arguments)
    if given.table is None:
        lines = section(given.resamples, given.jobs)
    else:
        rows, pairs = pd.read_csv(given.table).dropna(), pd.read_csv(given.known)
        names = tuple(map(str, rows.columns))
        B = np.zeros((len(names), len(names)))
        for cause, effect in zip(pairs["cause"], pairs["effect"], strict=True):
            B[names.index(str(effect)), names.index(str(cause))] = 1.0
        job = RealJob((rows.to_numpy(dtype=float),), names, {str(given.known): B}, "none", None)
        lines = table(job, given.resamples, given.jobs)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
