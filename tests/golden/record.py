"""Make the golden runs and write what came of them: `python -m tests.golden.record --out FILE.json`."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import threadpoolctl

import fedrcd
from tests.golden.adapters import perform
from tests.golden.runs import all_runs

RECORD = Path(__file__).parent / "runs.json"
MARKS = ("name", "transport", "portable", "frame")


def machine() -> dict[str, str]:
    """What the last bits of float64 results depend on."""
    kernels = sorted({one.get("architecture", "") for one in threadpoolctl.threadpool_info()} - {""})
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "python": platform.python_version()}
    return versions | {"processor": platform.machine(), "kernels": ", ".join(kernels)}


def record(runs: Sequence[dict[str, Any]], tell: bool = False) -> list[dict[str, Any]]:
    """A line per run: its marks and its digests, in the order of the descriptions."""
    lines = {}
    for run, outcome in perform(runs):
        lines[run["name"]] = {name: run[name] for name in MARKS} | outcome
        if tell:
            print(len(lines), run["name"], outcome.get("message", ""), flush=True)
    return [lines[run["name"]] for run in runs]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    head = f'{{"machine": {json.dumps(machine())},\n"runs": [\n'
    path.write_text(head + ",\n".join(json.dumps(line) for line in lines) + "\n]}\n", encoding="utf-8")


def merged(path: Path, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines, and those of an existing record that were not made again if it is of this machine."""
    known = {line["name"]: line for line in lines}
    if path.exists() and (before := read(path))["machine"] == machine():
        known = {line["name"]: line for line in before["runs"]} | known
    return [known[run["name"]] for run in all_runs() if run["name"] in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, required=True, help="Where to write the record; runs that are not made again stay in it."
    )
    parser.add_argument("--transport", action="append", help="Only runs by this way; may be repeated.")
    parser.add_argument("--only", default="", help="Only runs whose name has this in it.")
    parser.add_argument("--tell", action="store_true", help="Say which run is made.")
    chosen = parser.parse_args()
    if not Path(fedrcd.__file__).is_relative_to(Path(__file__).parents[2]):
        parser.error(f"this is not the record of {fedrcd.__file__}; set PYTHONPATH to src")
    runs = [
        run
        for run in all_runs()
        if (chosen.transport is None or run["transport"] in chosen.transport) and chosen.only in run["name"]
    ]
    began = time.monotonic()
    lines = record(runs, chosen.tell)
    write(chosen.out, merged(chosen.out, lines))
    refused = sum("refused" in line for line in lines)
    print(f"{len(lines)} runs, {refused} of them refused, in {time.monotonic() - began:.0f} s: {chosen.out}")


if __name__ == "__main__":
    main()
