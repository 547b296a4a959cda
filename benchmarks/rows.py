"""Rows of a folder of Parquet that is larger than memory may be: peak memory, time, passes."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np

from benchmarks.measure import BenchmarkRow, side_by_side
from fedrcd import passes

P = 20
SIZES = (1_000_000, 4_000_000)
ROWS_PER_FILE = 1_000_000
PROCESSORS = 2
"""That each task is given: the more threads sum, the more chunks are in memory."""
MEGABYTE = 1e6


def make(folder: Path, n: int, *, identified: bool = False, jobs: int = 1) -> None:
    """A folder of Parquet files with n rows of a linear model with Laplace errors; the same rows for the same n."""
    folder.mkdir(parents=True, exist_ok=True)
    one = partial(_make_file, folder, n, identified)
    if jobs == 1:
        for number in range(-(-n // ROWS_PER_FILE)):
            one(number)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for _ in pool.map(one, range(-(-n // ROWS_PER_FILE))):
            pass


def _make_file(folder: Path, n: int, identified: bool, number: int) -> None:  # noqa: FBT001 - by `partial` alone
    import pyarrow as pa
    from pyarrow import parquet

    weights = np.tril(np.random.default_rng(1).uniform(-0.6, 0.6, size=(P, P)), -1)
    mixing = np.linalg.inv(np.eye(P) - weights).T
    first = number * ROWS_PER_FILE
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


def declared(folder: Path) -> Any:
    """`discover` by tensors, in a declared frame."""
    import fedrcd

    frame = {f"x{j + 1:02}": (0.0, 2.0) for j in range(P)}
    return fedrcd.discover(folder, "fedrcd-s", arithmetic="exact", frame=frame)


TASKS: dict[str, Callable[[Path], Any]] = {
    "fedrcd-s": fedrcd_s,
    "fedrcd-s in a declared frame": declared,
    "fedrcd-ni": fedrcd_ni,
    "bootstrap of fedrcd-ni": bootstrap,
}


def measured(task: str, folder: Path, processors: Sequence[int] = ()) -> dict[str, float]:
    """What `_measure` says of a task in a process of its own, on some of the processors."""
    command = [sys.executable, "-m", "benchmarks.rows", "measure", task, str(folder)]
    if processors:
        command = ["taskset", "--cpu-list", ",".join(map(str, processors)), *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(sizes: Sequence[int] = SIZES, jobs: int = 1) -> Iterator[BenchmarkRow]:
    """Folders of Parquet at p = 20, exact arithmetic, each task on two processors; tensor sums beside bare reading."""
    before: dict[str, tuple[int, float]] = {}
    for n in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make(folder, n, jobs=jobs)
            if n == min(sizes):
                for arithmetic in ("float", "exact"):
                    yield BenchmarkRow(
                        f"from Parquet to {arithmetic} tensor sums / the larger of reading and summing",
                        f"{from_parquet(folder, arithmetic):.2f}",
                        "<= 1.5",
                    )
            for task, found in _side_by_side(list(TASKS), folder, jobs):
                seconds = found["processor"]
                figure = f"{found['peak']:.0f} MB, {found['passes']:.0f} passes, {seconds:.0f} s of processor"
                yield BenchmarkRow(f"{task}, N = {n:,}: peak beyond the start", figure, "<= 300 MB")
                if task in before:
                    rows, least = before[task]
                    figure = f"{seconds / least:.1f}"
                    yield BenchmarkRow(
                        f"{task}: time grows by, from {rows:,} to {n:,}", figure, f"{n / rows:g}: linear"
                    )
                before[task] = (n, seconds)


def _side_by_side(tasks: Sequence[str], folder: Path, jobs: int) -> Iterator[tuple[str, dict[str, float]]]:
    """What each task takes, on processors of its own, as many at a time as there are jobs."""
    here = sorted(os.sched_getaffinity(0))
    jobs = max(1, min(jobs, len(here) // PROCESSORS))
    own = Queue[list[int]]()
    for k in range(jobs):
        own.put(here[k * PROCESSORS : (k + 1) * PROCESSORS])

    def one(task: str) -> dict[str, float]:
        mine = own.get()
        try:
            return measured(task, folder, mine)
        finally:
            own.put(mine)

    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(tasks, pool.map(one, tasks), strict=True)


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
        make(Path(small), 2_000)
        TASKS[task](Path(small))
    passes.INTERVAL = 0.0
    heard = [0]

    def listen(reading: passes.Reading) -> None:
        heard[0] = max(heard[0], reading.number)

    before, start, used = resident(), time.perf_counter(), time.process_time()
    with passes.listening(listen):
        TASKS[task](folder)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    peak = (resident() - before) / MEGABYTE
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": peak, "passes": heard[0]}))


def resident() -> float:
    """The most memory that this process had so far, in bytes; `ru_maxrss` would count that of its parent, too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024.0


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
