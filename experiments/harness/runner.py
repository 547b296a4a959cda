"""Runs the cells of an experiment on all processors, and goes on where an earlier run stopped."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from experiments.harness.cells import Cell, Row
from experiments.harness.parallel import as_done
from experiments.harness.records import Record, record
from experiments.harness.store import ResultsStore
from fedrcd.errors import FileError
from fedrcd.protocol.site import available_threads


@dataclass(slots=True)
class CellProgress:
    """How far a run is: cells done and to do, and the seconds that remain by what like cells took."""

    total: int
    done: int = 0
    remaining: float | None = None


@dataclass(slots=True)
class CellCounts:
    """What a run did: cells measured now, found done, taken from other experiments, and left out."""

    measured: int = 0
    found: int = 0
    taken_over: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of cells by the package that was missing."""


def run_cells(
    cells: Sequence[Cell],
    store: ResultsStore,
    *,
    others: Sequence[ResultsStore] = (),
    fresh: bool = False,
    processes: int | None = None,
    progress: Callable[[CellProgress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> CellCounts:
    """Measure all cells that are not done yet and write the results.

    Parameters
    ----------
    cells : sequence of Cell
        In the order in which they stand in the results.
    store : ResultsStore
        Where results go, and where those of an earlier run are.
    others : sequence of ResultsStore
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
    counts = CellCounts(found=len(done))
    missing = [cell for cell in cells if cell.key not in done]
    if missing:
        taken_over = elsewhere(others, missing, warn)
        counts.taken_over = len(taken_over)
        done |= taken_over
    todo = [cell for cell in missing if cell.key not in done]
    for cell in todo:
        if not cell.is_possible:
            counts.left_out[cell.needs] = counts.left_out.get(cell.needs, 0) + 1
    todo = [cell for cell in todo if cell.is_possible]
    counts.measured = len(todo)
    if fresh:
        store.clear()
    if todo:
        store.begin(cells, fresh=fresh)
        with store.claimed():
            _measure(todo, store, done, processes or available_threads(), progress)
    if todo or counts.taken_over or store.journal.exists() or not store.results.exists():
        store.folder.mkdir(parents=True, exist_ok=True)
        store.finish(cells, done)
    return counts


def _measure(
    todo: Sequence[Cell],
    store: ResultsStore,
    done: dict[str, Record],
    processes: int,
    progress: Callable[[CellProgress], None],
) -> None:
    """Measure cells in worker processes; each is in the journal as soon as it is done."""
    state, clock = CellProgress(len(todo)), Clock(todo, processes)
    progress(state)
    with closing(as_done(timed, todo, processes)) as results:
        for number, (rows, wall, processor) in results:
            cell = todo[number]
            done[cell.key] = record(cell, rows, seconds=wall, processor_seconds=processor)
            store.add(done[cell.key])
            clock.note(cell, wall)
            state = CellProgress(state.total, state.done + 1, clock.remaining())
            progress(state)


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


def elsewhere(others: Iterable[ResultsStore], cells: Sequence[Cell], warn: Callable[[str], None]) -> dict[str, Record]:
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
