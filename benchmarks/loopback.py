"""Seconds of a round and of whole runs over machines, before and after rounds were made shorter."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.measure import BenchmarkRow

ROOT = Path(__file__).parents[1]

BEFORE = "9418bcaffdc1d763"
"""The last commit in which nodes looked for messages as seldom as Flower does."""

RUNS = {"fedrcd-s": 3, "fedrcd-x": 1}
"""How often each method is run, on either side in turn."""

SERVE = """
import json, shutil, sys
from pathlib import Path
import numpy as np
from fedrcd.data.table import Table
from experiments.tasks.loopback import Loopback
mixing = np.linalg.inv(np.eye(20) - np.tril(np.random.default_rng(1).uniform(-0.5, 0.5, (20, 20)), -1)).T
names = ["north", "south", "west"]
rows = [np.random.default_rng(k).laplace(size=(20_000, 20)) @ mixing for k in range(3)]
columns = tuple(f"x{j:02}" for j in range(20))
tables = [Table(one, name, name, columns=columns) for one, name in zip(rows, names)]
here = Loopback.write(Path(sys.argv[1]), tables, names)
here.prepare()
with here.running():
    print("READY", flush=True)
    for line in sys.stdin:
        found = here.run(line.strip())
        same = here.equals_one_process(found)
        shutil.rmtree(here.folder / line.strip())
        print("RAN", json.dumps({"rounds": list(found.seconds), "same": same}), flush=True)
"""
"""A federation of three sites, with what the source it runs on has for it; runs what it reads, and says the seconds."""


def run() -> Iterator[BenchmarkRow]:
    """Three sites of 20,000 rows over loopback with TLS, p = 20; both sides are up and run in turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        earlier = folder / "source"
        earlier.mkdir()
        archive = subprocess.run(
            ["git", "archive", BEFORE, "src", "experiments"], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", str(earlier)], input=archive.stdout, check=True)
        sides = {
            "before": stack.enter_context(served(earlier, folder / "before")),
            "after": stack.enter_context(served(ROOT, folder / "after")),
        }
        for method, times in RUNS.items():
            found: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
            for _ in range(times):
                for name, side in sides.items():
                    found[name].append(asked(side, method))
            rounds = {name: [one for ran in several for one in ran["rounds"]] for name, several in found.items()}
            usual = {name: statistics.median(seconds) for name, seconds in rounds.items()}
            whole = {name: statistics.median(ran["whole"] for ran in several) for name, several in found.items()}
            yield BenchmarkRow(f"a round of {method}, before", f"{usual['before']:.1f} s")
            yield BenchmarkRow(f"a round of {method}, after", f"{usual['after']:.1f} s")
            ratio = usual["after"] / usual["before"]
            yield BenchmarkRow(f"a round of {method}: after / before", f"{ratio:.2f}", "<= 0.55")
            yield BenchmarkRow(f"{method}, the whole command, before", f"{whole['before']:.1f} s")
            yield BenchmarkRow(f"{method}, the whole command, after", f"{whole['after']:.1f} s")
            same = all(ran["same"] for several in found.values() for ran in several)
            yield BenchmarkRow(f"{method}: the bits of one process", "yes" if same else "no", "yes")


@contextmanager
def served(source: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A federation that runs on some source, until the block ends."""
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source / "src"), str(source)])}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder)],
        cwd=source,
        env=surroundings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _heard(process.stdout, "READY")
        yield process
    finally:
        if process.stdin:
            process.stdin.close()
        process.wait()


def asked(side: subprocess.Popen[str], method: str) -> dict[str, Any]:
    """The seconds of each round of a run, and those of its command."""
    began = time.perf_counter()
    assert side.stdin is not None
    side.stdin.write(f"{method}\n")
    side.stdin.flush()
    found: dict[str, Any] = json.loads(_heard(side.stdout, "RAN"))
    return {**found, "whole": time.perf_counter() - began}


def _heard(said: IO[str] | None, word: str) -> str:
    """What follows a word at the start of a line."""
    assert said is not None
    for line in said:
        if line.startswith(word):
            return line.removeprefix(word)
    raise RuntimeError("the federation ended; see what it said above")
