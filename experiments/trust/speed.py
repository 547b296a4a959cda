"""How long bootstraps take, beside the `lingam` package, in the same run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments.trust.calibration import with_groups
from fedrcd.confidence.replicates import ask_groups, draw_weights, group_replicates, one_round, row_replicates
from fedrcd.data.simulate.models import random_model
from fedrcd.data.table import Table
from fedrcd.methods.registry import build, find
from fedrcd.protocol.in_process import embed, in_process
from fedrcd.protocol.site import available_threads
from fedrcd.typing import Matrix

P, ROWS, SITES, GROUPS, REPLICATES, TIMED = 20, 20_000, 5, 20, 200, 5
FEWER = 20


def by_groups(X: Matrix, names: tuple[str, ...]) -> None:
    """Everything a bootstrap over sites does: sums of groups, then replicates."""
    transport = with_groups(embed(np.array_split(X, SITES), names))
    parts = one_round(find("fedrcd-s"), {})
    grouped = ask_groups(parts, transport.setting, transport, GROUPS)
    weights = draw_weights(grouped.stack, REPLICATES, np.random.default_rng(0))
    group_replicates(parts, grouped, weights, jobs=available_threads())


def by_rows(method: str, X: Matrix, names: tuple[str, ...], replicates: int = REPLICATES) -> None:
    """The whole method on rows drawn with replacement."""
    blocks = [Table(X, "table", "table", columns=names)]
    make: Any = partial(in_process, variables=names)
    seeds = np.random.SeedSequence(0).spawn(replicates)
    row_replicates(build(method), make(blocks).setting, blocks, make, seeds, jobs=available_threads())


def section(timed: int = TIMED) -> Iterator[str]:
    """The table."""
    import lingam

    rng = np.random.default_rng(107)
    model = random_model(P, noise="laplace", rng=rng)
    X = model.sample(ROWS, rng)
    theirs = _seconds(lambda: lingam.DirectLiNGAM().bootstrap(X, n_sampling=timed)) * REPLICATES / timed
    ours = {
        f"groups of rows, {SITES} sites of {GROUPS} groups, fedrcd-s": _seconds(lambda: by_groups(X, model.names)),
        "rows, one machine, fedrcd-s": _seconds(lambda: by_rows("fedrcd-s", X, model.names)),
        f"rows, one machine, direct-lingam, timed on {FEWER}": (
            _seconds(lambda: by_rows("direct-lingam", X, model.names, FEWER)) * REPLICATES / FEWER
        ),
    }
    yield "## Speed\n"
    yield (
        f"{REPLICATES} replicates, p = {P}, {ROWS} rows, {available_threads()} processors; `lingam`'s own bootstrap "
        f"timed on {timed} replicates of `DirectLiNGAM` and scaled, all in one run.\n"
    )
    yield "| bootstrap | seconds | times faster |"
    yield "|---|---|---|"
    yield f"| lingam.DirectLiNGAM | {theirs:.0f} | 1 |"
    for label, took in ours.items():
        yield f"| {label} | {took:.1f} | {theirs / took:.0f} |"
    yield ""


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
