"""A thousand sites of one Flower ServerApp, all in this process: what the coordinator and the messages cost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.federation.sites import horizontal

from benchmarks.measure import BenchmarkRow, seconds
from fedrcd.federation.flower.local_grid import LocalGrid
from fedrcd.federation.flower.server import conduct
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run as run_method

SITES = 1000


def run() -> Iterator[BenchmarkRow]:
    """fedrcd-s over four variables and 110 rows a site."""
    with tempfile.TemporaryDirectory() as folder:
        names = tuple(f"s{k:04}" for k in range(SITES))
        disk = horizontal(Path(folder), p=4, rows=(110,) * SITES, names=names)
        grid = LocalGrid(disk.settings_files())
        found = []
        took = seconds(lambda: found.append(conduct(disk.plan("fedrcd-s"), grid)))
        transport = disk.in_process()
        same = (
            found[-1].estimate.B.tobytes()
            == run_method(build("fedrcd-s").rounds(transport.setting), transport).B.tobytes()
        )
    yield BenchmarkRow("fedrcd-s over 1,000 sites in this process", f"{took:.1f} s", "<= 30 s")
    yield BenchmarkRow("it has the effects of one process, to the bit", "yes" if same else "no", "yes")
