"""Paired differences to `direct-lingam` over many regimes; `python -m experiments.pages.stress` prints the table.

`direct-lingam` stands in for `lingam.DirectLiNGAM`, whose orders it gives (docs/verification.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.tasks.regimes import REGIMES, Regime
from fedrcd.data.names import default_names
from fedrcd.errors import StatisticError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed

REFERENCE = "direct-lingam"

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    REFERENCE: ("direct-lingam", {}),
    "se": ("fedrcd-se", {}),
    "s+, 2 rounds more": ("fedrcd-se", {"climbs": 2, "examine": False}),
    "s": ("fedrcd-s", {}),
    "s, no refinement": ("fedrcd-s", {"refine": "none"}),
    "s, edgeworth, no refinement": ("fedrcd-s", {"negentropy": "edgeworth", "refine": "none"}),
    "sx": ("fedrcd-sx", {}),
    "sp": ("fedrcd-sp", {}),
    "x": ("fedrcd-x", {}),
}


class RegimeAccuracy(NamedTuple):
    """AncAcc of every variant on the data sets of one regime, shape (seeds, variants)."""

    regime: str
    accuracy: np.ndarray[Any, Any]


def stress(
    regimes: Sequence[Regime], seeds: range, processes: int | None = None, variants: Sequence[str] = tuple(VARIANTS)
) -> Iterator[RegimeAccuracy]:
    """Accuracies of variants, regime by regime; all variants meet the same rows."""
    jobs = [StressJob(regime, seed, tuple(variants)) for regime in regimes for seed in seeds]
    results = in_order(_accuracies, jobs, processes=processes)
    for regime in regimes:
        found = [one for one in islice(results, len(seeds)) if one is not None]
        yield RegimeAccuracy(regime.name, np.array(found))


class StressJob(NamedTuple):
    """One data set, and what is run on it."""

    regime: Regime
    seed: int
    variants: tuple[str, ...]


def _accuracies(job: StressJob) -> list[float] | None:
    """AncAcc of each variant; nothing where columns are collinear, as after effects that blow up."""
    regime, seed, variants = job
    B, X = regime.draw(seed)
    accuracies = []
    for method, options in map(VARIANTS.__getitem__, variants):
        transport = embed([X], default_names(regime.p))
        try:
            estimate = run(build(method, **options).rounds(transport.setting), transport)
        except StatisticError:
            return None
        accuracies.append(ancestral_accuracy(estimate.order, B))
    return accuracies


def markdown(lines: Sequence[RegimeAccuracy], variants: Sequence[str] = tuple(VARIANTS)) -> Iterator[str]:
    """A table of mean accuracies, and of the default's paired difference to `direct-lingam`, ± its standard error."""
    names = list(variants)
    yield "| regime | " + " | ".join(names) + f" | {names[1]} - {REFERENCE} |"
    yield "|---" * (len(names) + 2) + "|"
    for line in lines:
        cells = " | ".join(f"{value:.3f}" for value in line.accuracy.mean(axis=0))
        yield f"| {line.regime} | {cells} | {difference(line.accuracy[:, 1] - line.accuracy[:, 0])} |"
    everything = np.concatenate([line.accuracy for line in lines])
    yield "| **mean** | " + " | ".join(f"{value:.4f}" for value in everything.mean(axis=0)) + " | |"
    differences = [difference(everything[:, k] - everything[:, 0], digits=4) for k in range(len(names))]
    yield "| **difference** | " + " | ".join(differences) + " | |"


def difference(values: np.ndarray[Any, Any], digits: int = 3) -> str:
    """A mean ± its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.{digits}f} ± {error:.{digits}f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run regimes and print the table; each line as soon as it is known, on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), help="beside direct-lingam; all by default")
    parser.add_argument("--regimes", default="", help="only those whose names contain one of these, split by ;")
    given = parser.parse_args(arguments)
    chosen = [one for one in REGIMES if any(part in one.name for part in given.regimes.split(";"))]
    variants = [REFERENCE, *(given.variants or list(VARIANTS)[1:])]
    lines = []
    for line in stress(chosen, range(given.first_seed, given.first_seed + given.seeds), given.jobs, variants):
        lines.append(line)
        cells = ", ".join(
            f"{name} {difference(line.accuracy[:, k] - line.accuracy[:, 0])}" for k, name in enumerate(variants) if k
        )
        print(f"{len(lines)} of {len(chosen)}: {line.regime}: {cells}", file=sys.stderr, flush=True)
    print("\n".join(markdown(lines, variants)))


if __name__ == "__main__":
    main()
