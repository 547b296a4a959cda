"""What was measured of a cell, when, and with what."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TypedDict

from experiments.harness.cells import Cell, Row

SECONDS = "seconds"
"""Columns whose names end so are times."""

PACKAGES = ("fedrcd", "numpy", "scipy")


class Record(TypedDict):
    """One finished cell: its rows, their times, and what they were made with."""

    cell: str
    rows: list[Row]
    times: list[Row]
    made: dict[str, str]


def record(cell: Cell, rows: Sequence[Row], **times: float) -> Record:
    """A finished cell and its times, by names that end in `seconds`."""
    return Record(
        cell=cell.key,
        rows=[{name: value for name, value in row.items() if not name.endswith(SECONDS)} for row in rows],
        times=[{**times, **{name: value for name, value in row.items() if name.endswith(SECONDS)}} for row in rows],
        made=dict(provenance()),
    )


@cache
def provenance() -> Mapping[str, str]:
    """Versions and machine."""
    versions = {name: _version(name) for name in PACKAGES}
    processor = f"{platform.machine()}, {os.cpu_count()} processors"
    return {**versions, "python": platform.python_version(), "machine": f"{platform.system()}, {processor}"}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
