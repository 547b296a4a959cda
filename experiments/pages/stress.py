"""Paired differences to `direct-lingam` over many regimes; `python -m experiments.pages.stress` prints the table.

`direct-lingam` stands in for `lingam.DirectLiNGAM`, whose orders it gives (docs/verification.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.tasks.regimes import REGIMES, Regime
from fedrcd.data.names import default_names
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed

REFERENCE = "direct-lingam"

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    REFERENCE: ("direct-lingam", {}),
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


def stress(regimes: Sequence[Regime], seeds: range, processes: int = 2) -> Iterator[RegimeAccuracy]:
    """Accuracies of all variants, regime by regime; all variants meet the same rows."""
    jobs = [(regime, seed) for regime in regimes for seed in seeds]
    results = in_order(_accuracies, jobs, processes=processes)
    for regime in regimes:
        yield RegimeAccuracy(regime.name, np.array(list(islice(results, len(seeds)))))


def _accuracies(job: tuple[Regime, int]) -> list[float]:
    regime, seed = job
    B, X = regime.draw(seed)
    accuracies = []
    for method, options in VARIANTS.values():
        transport = embed([X], default_names(regime.p))
        estimate = run(build(method, **options).rounds(transport.setting), transport)
        accuracies.append(ancestral_accuracy(estimate.order, B))
    return accuracies


def markdown(lines: Sequence[RegimeAccuracy]) -> Iterator[str]:
    """A table of mean accuracies, and of each variant's paired difference to `direct-lingam`, ± its standard error."""
    names = list(VARIANTS)
    yield "| regime | " + " | ".join(names) + " | s - direct-lingam |"
    yield "|---" * (len(names) + 2) + "|"
    for line in lines:
        cells = " | ".join(f"{value:.3f}" for value in line.accuracy.mean(axis=0))
        yield f"| {line.regime} | {cells} | {_difference(line.accuracy[:, 1] - line.accuracy[:, 0])} |"
    everything = np.concatenate([line.accuracy for line in lines])
    yield "| **mean** | " + " | ".join(f"{value:.4f}" for value in everything.mean(axis=0)) + " | |"
    differences = [_difference(everything[:, k] - everything[:, 0], digits=4) for k in range(len(names))]
    yield "| **difference** | " + " | ".join(differences) + " | |"


def _difference(values: np.ndarray[Any, Any], digits: int = 3) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.{digits}f} ± {error:.{digits}f}"


def main(seeds: int = 20) -> None:
    """Run all regimes and print the table."""
    lines = []
    for line in stress(REGIMES, range(seeds)):
        lines.append(line)
        print(f"{len(lines)} of {len(REGIMES)} regimes", file=sys.stderr, end="\r", flush=True)
    print("\n".join(markdown(lines)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
