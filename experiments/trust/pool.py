"""Many small simulations on all processors, with progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from fedrcd.protocol.blas import one_blas_thread

J = TypeVar("J")
R = TypeVar("R")

LINE = 50
"""Results between lines of progress."""


def in_parallel(work: Callable[[J], R], jobs: Sequence[J], what: str, workers: int | None = None) -> list[R]:
    """Results of all jobs, in order."""
    results: list[R] = []
    with one_blas_thread(), ProcessPoolExecutor(workers) as pool:
        for done, result in enumerate(pool.map(work, jobs, chunksize=2), 1):
            results.append(result)
            if done % LINE == 0 or done == len(jobs):
                print(f"{what}: {done} of {len(jobs)}", file=sys.stderr, flush=True)
    return results
