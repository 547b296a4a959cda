"""Many small simulations on all processors, with lines of progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from experiments.harness.parallel import in_order

J = TypeVar("J")
R = TypeVar("R")

LINE = 50
"""Results between lines of progress."""


def in_parallel(work: Callable[[J], R], jobs: Sequence[J], what: str) -> list[R]:
    """Results of all jobs, in order."""

    def say(done: int, total: int) -> None:
        if done % LINE == 0 or done == total:
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

    return list(in_order(work, jobs, progress=say))
