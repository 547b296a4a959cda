"""Jobs on all processors: the one pool of worker processes that every experiment uses."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from multiprocessing import active_children, get_context
from typing import TypeVar

from threadpoolctl import threadpool_limits

from fedrcd.protocol.site import available_threads

J = TypeVar("J")
R = TypeVar("R")

ORPHANED = 2.0
"""Seconds between a worker's looks at whether its parent still lives."""


def as_done(
    work: Callable[[J], R], jobs: Sequence[J], processes: int | None = None
) -> Generator[tuple[int, R], None, None]:
    """The number of each job and its result, as soon as it is done; whoever stops listening stops the workers.

    Parameters
    ----------
    work : callable
        A function at the top of a module; it gets one job. Workers use one BLAS thread each.
    jobs : sequence
        What can be pickled.
    processes : int, optional
        All processors by default; with one, or for one job, no worker is started.
    """
    workers = min(processes or available_threads(), len(jobs))
    if workers <= 1:
        with threadpool_limits(1):
            yield from ((number, work(job)) for number, job in enumerate(jobs))
        return
    others = set(active_children())
    # Spawned, not forked: a fork of a process with threads may deadlock.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=prepare_worker)
    try:
        waiting = {pool.submit(work, job): number for number, job in enumerate(jobs)}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BaseException:  # interrupted, or a bug in a job: do not wait for jobs that run for minutes
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(
    work: Callable[[J], R],
    jobs: Sequence[J],
    *,
    processes: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Generator[R, None, None]:
    """Results of all jobs in the order of the jobs, each as soon as those before it are done.

    `progress` is called with the number of jobs done and their total, once for every job.
    """
    early: dict[int, R] = {}
    turn = 0
    with closing(as_done(work, jobs, processes)) as results:
        for done, (number, result) in enumerate(results, 1):
            progress(done, len(jobs))
            early[number] = result
            while turn in early:
                yield early.pop(turn)
                turn += 1


def prepare_worker() -> None:
    """One BLAS thread per worker; interrupts are the parent's; and a worker ends when its parent was killed."""
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHANED)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
