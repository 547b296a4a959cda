"""Runs the cells of an experiment on all processors, and goes on where an earlier run stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import active_children, get_context
from typing import NamedTuple, TypeAlias

from threadpoolctl import threadpool_limits

from experiments.harness.cells import Cell, Row
from experiments.harness.records import Record, record
from experiments.harness.store import Store
from fedrcd.errors import FileError
from fedrcd.protocol.site import available_threads

ORPHANED = 2.0
"""Seconds between a worker's looks at whether its parent still lives."""


@dataclass(slots=True)
class Progress:
    """How far a run is: cells done and to do, and the seconds that remain by what like cells took."""

    total: int
    done: int = 0
    remaining: float | None = None


@dataclass(slots=True)
class Outcome:
    """What a run did: cells measured now, found done, taken from other experiments, and left out."""

    measured: int = 0
    found: int = 0
    taken_over: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of cells by the package that was missing."""


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    others: Sequence[Store] = (),
    fresh: bool = False,
    processes: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Measure all cells that are not done yet and write the results.

    Parameters
    ----------
    cells : sequence of Cell
        In the order in which they stand in the results.
    store : Store
        Where results go, and where those of an earlier run are.
    others : sequence of Store
        Other experiments, whose cells are taken over where they are the same.
    fresh : bool
        Forget earlier results first; nothing is forgotten if the run cannot start.
    processes : int, optional
        All processors by default.
    progress : callable
        Called at the start and whenever a cell is done.
    warn : callable
        Called with a line about each file of another experiment that cannot be read.
    """
    done = {} if fresh else store.open(cells)
    outcome = Outcome(found=len(done))
    missing = [cell for cell in cells if cell.key not in done]
    if missing:
        taken_over = elsewhere(others, missing, warn)
        outcome.taken_over = len(taken_over)
        done |= taken_over
    todo = [cell for cell in missing if cell.key not in done]
    for cell in todo:
        if not cell.is_possible:
            outcome.left_out[cell.needs] = outcome.left_out.get(cell.needs, 0) + 1
    todo = [cell for cell in todo if cell.is_possible]
    outcome.measured = len(todo)
    if fresh:
        store.clear()
    if todo:
        store.begin(cells, fresh=fresh)
        with store.claimed():
            _measure(todo, store, done, processes or available_threads(), progress)
    if todo or outcome.taken_over or store.journal.exists() or not store.results.exists():
        store.folder.mkdir(parents=True, exist_ok=True)
        store.finish(cells, done)
    return outcome


def _measure(
    todo: Sequence[Cell],
    store: Store,
    done: dict[str, Record],
    processes: int,
    progress: Callable[[Progress], None],
) -> None:
    """Measure cells in worker processes; each is in the journal as soon as it is done."""
    state, clock = Progress(len(todo)), Clock(todo, processes)
    progress(state)
    # Spawned, not forked: a fork of a process with threads may deadlock.
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=prepare_worker)
    try:
        waiting: dict[Future[Timed], Cell] = {pool.submit(timed, cell): cell for cell in todo}
        for future in as_completed(waiting):
            cell = waiting[future]
            rows, wall, processor = future.result()
            done[cell.key] = record(cell, rows, seconds=wall, processor_seconds=processor)
            store.add(done[cell.key])
            clock.note(cell, wall)
            state = Progress(state.total, state.done + 1, clock.remaining())
            progress(state)
    except BaseException:  # interrupted, or a bug in a cell: do not wait for cells that run for minutes
        for worker in active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class Timed(NamedTuple):
    """The rows of a cell, and the seconds they took: by the clock, and of all processors together."""

    rows: list[Row]
    wall: float
    processor: float


def timed(cell: Cell) -> Timed:
    """Measure a cell and the time it takes."""
    wall, processor = time.perf_counter(), time.process_time()
    rows = cell.measure()
    return Timed(rows, time.perf_counter() - wall, time.process_time() - processor)


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


Kind: TypeAlias = tuple[object, ...]


class Clock:
    """Seconds that remain, from what like cells have taken so far."""

    def __init__(self, todo: Sequence[Cell], processes: int) -> None:
        self._processes = processes
        self._left = Counter(_kind(cell.settings) for cell in todo)
        self._took: dict[Kind, list[float]] = defaultdict(list)

    def note(self, cell: Cell, seconds: float) -> None:
        """A cell is done."""
        kind = _kind(cell.settings)
        self._left[kind] -= 1
        self._took[kind].append(seconds)
        self._took[kind[:1]].append(seconds)
        self._took[()].append(seconds)

    def remaining(self) -> float:
        """The mean of the same kind where one is done, else of the same method, else of all."""
        means = {kind: sum(took) / len(took) for kind, took in self._took.items()}
        usual = means.get((), 0.0)
        total = sum(
            number * means.get(kind, means.get(kind[:1], usual)) for kind, number in self._left.items() if number
        )
        return total / self._processes


def _kind(settings: Mapping[str, object]) -> Kind:
    """What decides how long a cell takes, the method first."""
    return tuple(settings.get(name) for name in ("method", "p", "sites", "rows", "topology"))


def elsewhere(others: Iterable[Store], cells: Sequence[Cell], warn: Callable[[str], None]) -> dict[str, Record]:
    """Cells that other experiments have finished, even in unfinished runs: experiments share data sets.

    A file that cannot be read is skipped, and `warn` gets a line about it.
    """
    wanted = {cell.key for cell in cells}
    found: dict[str, Record] = {}
    for other in others:
        try:
            if other.journal.exists():
                found |= {key: one for key, one in other.read_journal()[1].items() if key in wanted}
        except FileError as problem:
            warn(f"skipped: {problem}")
        try:
            if other.results.exists():
                found |= other.read_finished(cells)
        except FileError as problem:
            warn(f"skipped: {problem}")
    return found
