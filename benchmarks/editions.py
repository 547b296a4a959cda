"""What it costs a site to know which rows it answered about, beside the sums that it answers with."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import BenchmarkRow
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
from fedrcd.data.names import default_names
from fedrcd.data.table import Table
from fedrcd.federation.site.editions.making import EditionMaker
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.store import Store
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.grid import ARITHMETIC

P = 20
SIZES = (250_000, 1_000_000)
ARRIVALS = 0.1
"""Rows that come between two editions, as a share."""


def run() -> Iterator[BenchmarkRow]:
    """A first edition, and a second with a tenth more rows, at p = 20 with identifiers; exact tensor sums beside it."""
    peaks = []
    for n in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            sums, first, second, peak = _measured(Path(folder), n)
        peaks.append(peak)
        yield BenchmarkRow(f"first edition / tensor sums, N = {n:,}", f"{first / sums:.2f}", "<= 3")
        yield BenchmarkRow(f"next edition / tensor sums, N = {n:,}", f"{second / sums:.2f}", "<= 3")
        yield BenchmarkRow(f"peak memory of the next edition, N = {n:,}", f"{peak / 1e6:.0f} MB")
    further = (peaks[1] - peaks[0]) / ((SIZES[1] - SIZES[0]) * (1 + ARRIVALS))
    yield BenchmarkRow("memory for a further row, which has 160 bytes itself", f"{further:.0f} bytes", "<= 64 bytes")


def _measured(folder: Path, n: int) -> tuple[float, float, float, float]:
    """Processor seconds of the sums and of two editions, and the peak memory of the second, the table apart."""
    names, rng = default_names(P), np.random.default_rng(0)
    most = int(n * (1 + ARRIVALS))
    X, ids = rng.laplace(size=(most, P)), [f"patient {k}" for k in range(most)]
    federation = Federation(
        variables=names,
        sites=(SiteEntry("site", names, ("all",)),),
        blocks=(BlockEntry("all", n),),
        frame=dict.fromkeys(names, VariableFrame(0.0, 1.0)),
    )
    setting = Setting(names, federation.declared_frame(), grid=ARITHMETIC["exact"])  # type: ignore[arg-type]
    few, many = (Table(X[:k], "site", "all", columns=names, ids=ids[:k]) for k in (n, most))
    sums = _processor(lambda: LocalSite("site", few, "all").answer(setting.tensor()))
    with Store(folder / "store", "site") as store:
        door = Door(site="site", federation=federation, store=store)
        first = _processor(lambda: _edition(door, few, setting))
        second = _processor(lambda: _edition(door, many, setting))
    with Store(folder / "again", "site") as store:
        door = Door(site="site", federation=federation, store=store)
        _edition(door, few, setting)
        tracemalloc.start()
        _edition(door, many, setting)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return sums, first, second, peak


def _edition(door: Door, table: Table, setting: Setting) -> None:
    """Choose the rows to answer about, and write the edition down."""
    with door.chosen(door.asked([setting.tensor()]), [table]) as choice, door.store.changes():
        EditionMaker(door.store).commit(choice)


def _processor(task: Callable[[], Any]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start
