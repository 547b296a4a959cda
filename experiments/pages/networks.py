"""Networks with published linear coefficients; `python -m experiments.pages.networks` prints the table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.pages.stress import difference
from experiments.tasks.published import NETWORKS, draw_published, published
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed

SEEDS, ROWS = 8, 1_000
NOISES = ("laplace", "uniform", "mixed")
METHODS = ("direct-lingam", "fedrcd-se", "fedrcd-s", "fedrcd-r", "fedrcd-sx")


class NetworkJob(NamedTuple):
    """One data set."""

    network: str
    noise: str
    seed: int


def accuracies(job: NetworkJob) -> list[float]:
    """AncAcc of every method; all meet the same rows."""
    names = published(job.network)[0]
    B, X = draw_published(job.network, job.noise, ROWS, job.seed)
    found = []
    for method in METHODS:
        transport = embed([X], names)
        found.append(ancestral_accuracy(run(build(method).rounds(transport.setting), transport).order, B))
    return found


def section(seeds: int = SEEDS, processes: int | None = None) -> Iterator[str]:
    """A line per network and noise, with paired differences to DirectLiNGAM."""
    kinds = [(network, noise) for network in NETWORKS for noise in NOISES]
    jobs = [NetworkJob(*kind, seed) for kind in kinds for seed in range(seeds)]

    def say(done: int, total: int) -> None:
        print(f"networks: {done} of {total} data sets", file=sys.stderr, end="\r", flush=True)

    results = in_order(accuracies, jobs, processes=processes, progress=say)
    yield "| network, noise | " + " | ".join([METHODS[0], *(f"{name} - {METHODS[0]}" for name in METHODS[1:])]) + " |"
    yield "|---" * (len(METHODS) + 1) + "|"
    for network, noise in kinds:
        found = np.array(list(islice(results, seeds)))
        others = [difference(found[:, k] - found[:, 0]) for k in range(1, len(METHODS))]
        yield f"| {network}, {noise} | " + " | ".join([f"{found[:, 0].mean():.3f}", *others]) + " |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args(arguments)
    for line in section(given.seeds, given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
