"""Timing of alternatives side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple


class BenchmarkRow(NamedTuple):
    """One line of the report; `limit` says what was promised."""

    what: str
    figure: str
    limit: str = ""


def seconds(task: Callable[[], Any], repeats: int = 1) -> float:
    """Least time of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        best = min(best, time.perf_counter() - start)
    return best


def side_by_side(*tasks: Callable[[], Any], repeats: int = 5) -> list[float]:
    """Least time of each task, run in turn so that all meet the same noise."""
    best = [float("inf")] * len(tasks)
    for _ in range(repeats):
        for k, task in enumerate(tasks):
            best[k] = min(best[k], seconds(task))
    return best
