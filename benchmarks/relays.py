"""Whole runs over the services of sites in one process, under masks or replayed, against the same in the clear."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from experiments.tasks.services import Services

from benchmarks.measure import BenchmarkRow
from fedrcd.data.federation import VariableFrame
from fedrcd.data.table import Table
from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.site import available_threads

ROWS = 4_000
ONCE = [("fedrcd-ni", p, count) for p in (20, 50) for count in (3, 10, 50)]
SEVERAL = [(method, 20, count) for method in ("fedrcd-x", "fed-direct") for count in (3, 10)]


class Measured(NamedTuple):
    """What a run cost: CPU seconds of a site and of the coordinator, messages and bytes to a site and from it."""

    site: float
    coordinator: float
    messages: float
    to_site: float
    from_site: float
    effects: bytes


def run() -> Iterator[BenchmarkRow]:
    """Clear / masked; 4,000 rows a site, read from a file for every message; CPU time; each message has a reply."""
    runs = [*ONCE, *SEVERAL]
    with ProcessPoolExecutor(max(1, available_threads() - 1)) as pool:
        for (method, p, count), (clear, masked) in zip(runs, pool.map(_both, runs), strict=True):
            yield from _rows(f"{method}, p = {p}, {count} sites", clear, masked)


def _rows(what: str, clear: Measured, masked: Measured) -> Iterator[BenchmarkRow]:
    yield BenchmarkRow(f"{what}: a site", _pair(clear.site, masked.site, 1000, "ms"))
    yield BenchmarkRow(f"{what}: coordinator", _pair(clear.coordinator, masked.coordinator, 1000, "ms"))
    limit = "<= +2" if "fedrcd-ni" in what else ""
    yield BenchmarkRow(f"{what}: messages to a site", _pair(clear.messages, masked.messages), limit)
    yield BenchmarkRow(f"{what}: to a site", _pair(clear.to_site, masked.to_site, 1e-3, "kB"))
    yield BenchmarkRow(f"{what}: from a site", _pair(clear.from_site, masked.from_site, 1e-3, "kB"))
    same = "yes" if clear.effects == masked.effects else "no"
    yield BenchmarkRow(f"{what}: same bits", same, "yes")


def _pair(clear: float, masked: float, scale: float = 1.0, unit: str = "") -> str:
    return f"{clear * scale:,.0f} / {masked * scale:,.0f} {unit}".strip()


def _both(what: tuple[str, int, int]) -> tuple[Measured, Measured]:
    """The same run in the clear and under masks, by sites of their own."""
    method, p, count = what
    with tempfile.TemporaryDirectory() as folder, one_blas_thread():
        first = _chain(Path(folder) / "first", 3, 3)  # what is imported and built once is not measured
        here = _chain(Path(folder) / "measured", p, count)
        for masked in (False, True):
            first.run("fedrcd-ni", masked=masked)
        return _measured(here, method, masked=False), _measured(here, method, masked=True)


def _chain(folder: Path, p: int, count: int) -> Services:
    """Sites with rows of one chain of effects."""
    rng, names = np.random.default_rng(p), tuple(f"x{k}" for k in range(p))
    tables = []
    for _ in range(count):
        X = rng.laplace(size=(ROWS, p)) / np.sqrt(2)
        for k in range(1, p):
            X[:, k] = 0.6 * X[:, k - 1] + 0.8 * X[:, k]
        tables.append(Table(X, columns=names))
    return Services.write(folder, tables, {name: VariableFrame(0.0, 1.0) for name in names})


def _measured(here: Services, method: str, *, masked: bool) -> Measured:
    done, sites = here.run(method, masked=masked), len(here.federation.sites)
    carried = (done.courier.messages, done.courier.to_sites, done.courier.from_sites)
    shares = (one / sites for one in carried)
    return Measured(done.courier.seconds / sites, done.coordinator, *shares, done.finding.estimate.B.tobytes())
