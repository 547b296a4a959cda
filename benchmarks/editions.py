"""What it costs a site to know which rows it answered about, beside the sums that it answers with."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkRow
from benchmarks.rows import MEGABYTE, P, make, resident
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
from fedrcd.data.site_file import read_site
from fedrcd.data.table import Table
from fedrcd.federation.site.editions.making import EditionMaker
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.store import Store
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.grid import ARITHMETIC

SIZES = (250_000, 1_000_000)
ARRIVALS = 0.1
"""Rows that come between two editions, as a share."""

NAMES = tuple(f"x{j + 1:02}" for j in range(P))
FEDERATION = Federation(
    variables=NAMES,
    sites=(SiteEntry("site", NAMES, ("all",)),),
    blocks=(BlockEntry("all", 1),),
    frame=dict.fromkeys(NAMES, VariableFrame(0.0, 2.0)),
    id_column="id",
)
SETTING = Setting(NAMES, FEDERATION.declared_frame(), grid=ARITHMETIC["exact"])  # type: ignore[arg-type]


def run(sizes: Sequence[int] = SIZES, jobs: int = 1) -> Iterator[BenchmarkRow]:
    """A first edition, then a next one with a tenth more rows, p = 20, Parquet with identifiers; tensor sums beside."""
    for n in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make(folder / "few", n, identified=True, jobs=jobs)
            make(folder / "many", int(n * (1 + ARRIVALS)), identified=True, jobs=jobs)
            command = [sys.executable, "-m", "benchmarks.editions", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        for which in ("first", "next"):
            ratio = found[which] / found[f"sums of the {which}"]
            yield BenchmarkRow(f"{which} edition / its tensor sums, N = {n:,}", f"{ratio:.2f}", "<= 3")
            peak = f"{found[f'peak of the {which}']:.0f} MB"
            yield BenchmarkRow(f"peak beyond the start by the {which} edition, N = {n:,}", peak, "<= 300 MB")


def main() -> None:
    """Processor seconds of sums and editions of two tables, and the peak memory of the editions, as a line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.editions", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as small:  # what is loaded when it is first needed is not what rows take
        make(Path(small), 2_000, identified=True)
        with Store(Path(small) / "store", "site") as store:
            _edition(store, _tables(Path(small))[0])
    tables = {"first": _tables(folder / "few")[0], "next": _tables(folder / "many")[0]}
    found, start = {}, resident()
    with Store(folder / "store", "site") as store:
        for which, table in tables.items():
            found[which] = _processor(lambda table=table: _edition(store, table))
            found[f"peak of the {which}"] = (resident() - start) / MEGABYTE
    for which, table in tables.items():
        found[f"sums of the {which}"] = _processor(lambda table=table: _sums(table))
    print(json.dumps(found))


def _tables(folder: Path) -> list[Table]:
    return read_site(folder, FEDERATION, FEDERATION.site("site"))


def _sums(table: Table) -> Any:
    return LocalSite("site", table, "all").answer(SETTING.tensor())


def _edition(store: Store, table: Table) -> None:
    """Choose the rows to answer about, and write the edition down."""
    door = Door(site="site", federation=FEDERATION, store=store)
    with door.chosen(door.asked([SETTING.tensor()]), [table]) as choice, store.changes():
        EditionMaker(store).commit(choice)


def _processor(task: Callable[[], Any]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


if __name__ == "__main__":
    main()
