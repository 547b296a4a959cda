"""What benchmarks measured, in a file that runs in several environments add to."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import BenchmarkRow
from fedrcd.protocol.site import available_threads

PACKAGES = ("fedrcd", "numpy", "scipy", "scikit-learn", "flwr", "lingam")


class BenchmarkRecord(NamedTuple):
    """All rows of one benchmark, what it is about, and where it ran."""

    name: str
    about: str
    environment: str
    rows: list[BenchmarkRow]


def environment() -> str:
    """Versions of what is installed here, and the number of processors; nothing that identifies the machine."""
    versions = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    processors = available_threads()
    listed = ", ".join(f"{name} {number}" for name, number in versions.items())
    return f"{listed}; {processors} processor{'s' * (processors != 1)}"


def keep(path: Path, record: BenchmarkRecord) -> None:
    """Add a record to a file, one line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def read(path: Path) -> list[BenchmarkRecord]:
    """The records of a file, in the order in which they were measured."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        BenchmarkRecord(name, about, where, [BenchmarkRow(*row) for row in rows])
        for name, about, where, rows in map(json.loads, lines)
    ]
