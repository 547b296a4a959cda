"""Rows of a folder of Parquet that is larger than memory may be: peak memory, time, passes."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import BenchmarkRow, side_by_side

P = 20
SIZES = (1_000_000, 4_000_000)
ROWS_PER_FILE = 1_000_000
MEGABYTE = 1e6


def make(folder: Path, n: int, *, identified: bool = False) -> None:
    """A folder of Parquet files with n rows of a linear model with Laplace errors; the same rows for the same n."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    weights = np.tril(np.random.default_rng(1).uniform(-0.6, 0.6, size=(P, P)), -1)
    mixing = np.linalg.inv(np.eye(P) - weights).T
    for number, first in enumerate(range(0, n, ROWS_PER_FILE)):
        rows = min(ROWS_PER_FILE, n - first)
        X = np.random.default_rng([2, number]).laplace(size=(rows, P)) @ mixing
        columns = {f"x{j + 1:02}": X[:, j] for j in range(P)}
        if identified:
            columns = {"id": pa.array([f"row {k}" for k in range(first, first + rows)]), **columns}
        parquet.write_table(pa.table(columns), folder / f"part-{number:04}.parquet", row_group_size=250_000)


def fedrcd_s(folder: Path) -> Any:
    """`discover` by tensors."""
    import fedrcd

    return fedrcd.discover(folder, "fedrcd-s", arithmetic="exact")


def fedrcd_ni(folder: Path) -> Any:
    """`discover` by pairs."""
    import fedrcd

    return fedrcd.discover(folder, "fedrcd-ni", arithmetic="exact")


def bootstrap(folder: Path) -> Any:
    """Replicates by groups of rows, by pairs."""
    import fedrcd

    return fedrcd.bootstrap(folder, "fedrcd-ni", n_sampling=20, random_state=0, n_jobs=1, arithmetic="exact")


def marks(folder: Path) -> Any:
    """A site's first edition, and pair sums about it."""
    from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
    from fedrcd.data.site_file import read_site
    from fedrcd.federation.site.editions.making import EditionMaker
    from fedrcd.federation.site.release import Door
    from fedrcd.federation.site.store import Store
    from fedrcd.protocol.transport import Setting
    from fedrcd.statistics.grid import ARITHMETIC

    names = tuple(f"x{j + 1:02}" for j in range(P))
    federation = Federation(
        variables=names,
        sites=(SiteEntry("site", names, ("all",)),),
        blocks=(BlockEntry("all", 1),),
        frame=dict.fromkeys(names, VariableFrame(0.0, 2.0)),
        id_column="id",
    )
    setting = Setting(names, federation.declared_frame(), grid=ARITHMETIC["exact"])  # type: ignore[arg-type]
    tables = read_site(folder, federation, federation.site("site"))
    with tempfile.TemporaryDirectory() as state, Store(Path(state), "site") as store:
        door = Door(site="site", federation=federation, store=store)
        with door.chosen(door.asked([setting.tensor()]), tables) as choice, store.changes():
            EditionMaker(store).commit(choice)


TASKS: dict[str, Callable[[Path], Any]] = {
    "fedrcd-s": fedrcd_s,
    "fedrcd-ni": fedrcd_ni,
    "bootstrap": bootstrap,
    "marks": marks,
}


def measured(task: str, folder: Path) -> dict[str, float]:
    """Seconds, processor seconds and peak memory beyond the start, in megabytes, of a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.rows", "measure", task, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run() -> Iterator[BenchmarkRow]:
    """Folders of Parquet at p = 20, exact arithmetic; tensor sums beside bare reading."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in TASKS if name != "marks"}
    for n in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), n)
            for name, several in found.items():
                several.append(measured(name, Path(folder)))
            if n == SIZES[0]:
                for arithmetic in ("float", "exact"):
                    yield BenchmarkRow(
                        f"from Parquet to {arithmetic} tensor sums / the larger of reading and summing",
                        f"{from_parquet(Path(folder), arithmetic):.2f}",
                        "<= 1.5",
                    )
    for name, several in found.items():
        for n, one in zip(SIZES, several, strict=False):
            yield BenchmarkRow(f"{name}, N = {n:,}: peak beyond the start", f"{one['peak']:.0f} MB", "<= 300 MB")
        if len(several) > 1:
            growth = several[1]["seconds"] / several[0]["seconds"]
            yield BenchmarkRow(f"{name}: time grows by, where rows grow fourfold", f"{growth:.2f}", "linear: 4")


def from_parquet(folder: Path, arithmetic: str) -> float:
    """Seconds from files to tensor sums, as a multiple of what takes longer: bare reading, or summing from memory."""
    import pyarrow.dataset as datasets

    from fedrcd.data.sources.held import held
    from fedrcd.data.sources.opening import rows_of
    from fedrcd.protocol.site import LocalSite
    from fedrcd.protocol.transport import Setting
    from fedrcd.statistics.frame import Frame
    from fedrcd.statistics.grid import ARITHMETIC

    rows = rows_of(folder, "rows")
    memory = held(rows, math.inf)
    frame = Frame(np.zeros(P), np.full(P, 2.0))
    question = Setting(rows.columns, frame, grid=ARITHMETIC[arithmetic]).tensor()
    read, summed, both = side_by_side(
        lambda: sum(batch.num_rows for batch in datasets.dataset(folder).to_batches()),
        lambda: LocalSite("site", memory).answer(question),
        lambda: LocalSite("site", rows).answer(question),
        repeats=3,
    )
    return both / max(read, summed)


def _measure(task: str, folder: Path) -> None:
    """Run one task here and print what it took."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as small:  # what is loaded when it is first needed is not what rows take
        make(Path(small), 2_000, identified=task == "marks")
        TASKS[task](Path(small))
    before, start, used = _resident(), time.perf_counter(), time.process_time()
    TASKS[task](folder)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": _resident() - before}))


def _resident() -> float:
    """The most memory that this process had so far, in megabytes; `ru_maxrss` would count that of its parent, too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / MEGABYTE


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rows", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make", help="write a folder of Parquet")
    maker.add_argument("folder", type=Path)
    maker.add_argument("rows", type=int)
    maker.add_argument("--identified", action="store_true", help="with a column of identifiers")
    measurer = commands.add_parser("measure", help="seconds and peak memory of a task over a folder")
    measurer.add_argument("task", choices=TASKS)
    measurer.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "make":
        make(arguments.folder, arguments.rows, identified=arguments.identified)
    else:
        _measure(arguments.task, arguments.folder)


if __name__ == "__main__":
    main()
