"""The edges themselves: structural Hamming distances of every selection, beside `lingam`.

`python -m experiments.pages.edges` prints the table. `direct-lingam` with `weights="bic"` stands in for
`lingam.DirectLiNGAM`, whose order and effects it gives (docs/verification.md counts them); with `--lingam`, in an
environment that has it, `lingam` itself is run too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.tasks.regimes import BROKEN, Regime
from fedrcd.data.names import default_names
from fedrcd.graphs.metrics import shd
from fedrcd.methods.registry import build
from fedrcd.methods.weights import Weights
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.typing import Matrix

SEEDS = 40
ROWS = (500, 2_000, 20_000)
WEIGHTS = ((0.5, 1.5), (0.05, 1.0))
VALID = tuple(
    Regime(name=f"weights {low:g}-{high:g}, {rows} rows", rows=rows, weights=(low, high))
    for low, high in WEIGHTS
    for rows in ROWS
)
WRONG = tuple(
    replace(regime, name=f"{regime.name}, {rows} rows", rows=rows)
    for regime in BROKEN
    if regime.name in ("two hidden confounders", "AR(1) errors, 0.8")
    for rows in (1_000, 5_000)
)

OURS = ("fedrcd-se", "fedrcd-s")
SELECTIONS = ("guarded", "adaptive-lasso", "bic")
STAND_IN = "direct-lingam, bic"
LINGAM = "lingam.DirectLiNGAM"


class EdgesJob(NamedTuple):
    """One data set, and whether `lingam` itself is run on it."""

    regime: Regime
    seed: int
    lingam: bool


def columns(*, lingam: bool) -> list[str]:
    """What is compared."""
    ours = [f"{method}, {selection}" for method in OURS for selection in SELECTIONS]
    return [*ours, STAND_IN, *([LINGAM] if lingam else [])]


def distances(job: EdgesJob) -> list[int]:
    """Distances to the true graph on one data set, in the order of `columns`; all meet the same rows."""
    B, X = job.regime.draw(job.seed)
    found = [effects for method in OURS for effects in _selected(X, method)]
    found.append(_fitted(X, "direct-lingam", weights="bic").B)
    if job.lingam:
        import lingam

        found.append(np.asarray(lingam.DirectLiNGAM().fit(X).adjacency_matrix_))
    return [shd(effects, B) for effects in found]


def _fitted(X: Matrix, method: str, **options: Any) -> Any:
    transport = embed([X], default_names(X.shape[1]))
    return run(build(method, **options).rounds(transport.setting), transport)


def _selected(X: Matrix, method: str) -> Iterator[Matrix]:
    """The effects of each selection along one order."""
    found = _fitted(X, method)
    doubted = found.doubt is None or found.doubt.doubtful
    for selection in SELECTIONS:
        weights = Weights(selection, correlation=True)  # type: ignore[arg-type]
        yield weights.along(found.order, found.marginals.cov, found.marginals.rows, doubted=doubted)


def section(seeds: int = SEEDS, processes: int | None = None, *, lingam: bool = False) -> Iterator[str]:
    """The tables: mean distances, and the default's paired differences to the others."""
    regimes = (*VALID, *WRONG)
    jobs = [EdgesJob(regime, seed, lingam) for regime in regimes for seed in range(seeds)]

    def say(done: int, total: int) -> None:
        print(f"edges: {done} of {total} data sets", file=sys.stderr, end="\r", flush=True)

    results = in_order(distances, jobs, processes=processes, progress=say)
    names = columns(lingam=lingam)
    yield "| data | " + " | ".join(names) + " | default - best of the others | default - fixed penalty |"
    yield "|---" * (len(names) + 3) + "|"
    for regime in regimes:
        found = np.array(list(islice(results, seeds)), dtype=float)
        means = found.mean(axis=0)
        cells = " | ".join(f"{mean:.2f}" for mean in means)
        default, fixed = names.index("fedrcd-se, guarded"), names.index("fedrcd-s, adaptive-lasso")
        others = [k for k, name in enumerate(names) if not name.endswith("guarded")]
        best = min(others, key=means.__getitem__)
        to_best, to_fixed = (_difference(found[:, default] - found[:, k]) for k in (best, fixed))
        yield f"| {regime.name} | {cells} | {to_best} ({names[best]}) | {to_fixed} |"


def _difference(values: Matrix) -> str:
    return f"{values.mean():+.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--lingam", action="store_true", help="run lingam itself, too")
    given = parser.parse_args(arguments)
    for line in section(given.seeds, given.jobs, lingam=given.lingam):
        print(line, flush=True)


if __name__ == "__main__":
    main()
