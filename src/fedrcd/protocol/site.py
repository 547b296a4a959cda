"""A site: holds rows, answers questions, sends sums."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.groups import GroupedQuestion, Grouping
from fedrcd.protocol.questions import Question, S
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.typing import IntVector, Matrix

ROWS_PER_PIECE = 2048
"""Rows whose sums one thread takes; they are then added in order, so the bits do not depend on the threads."""

ROWS_PER_EXACT_PIECE = 8192
"""The same for exact sums, whose bits depend on no order: fewer pieces cost less."""

ABSENT = -1
"""Place of a column that the site does not hold."""

ROWS_AT_ONCE = 1024
"""Rows of a piece that are in work at a time."""


def available_threads() -> int:
    """Processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system can tell
        return os.cpu_count() or 1


class Site(Protocol):
    """Whatever answers questions about rows it keeps to itself."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    def answer(self, question: Question[S], layout: Layout | None = None) -> S | None:
        """The statistic asked for, of this site's rows; with a layout, of what it answers for, None if nothing."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TableSite:
    """A site whose rows are an array of shape (n, p) with named columns. Stateless between questions."""

    name: str
    rows: Matrix
    columns: tuple[str, ...]
    block: str = ""
    own: Frame | None = None
    """Centre and scale of this block's own, in which rows are expressed before anything else."""
    gaps: bool = False
    """Whether missing values, NaN, are passed over value by value."""
    threads: int = field(default_factory=available_threads)
    ids: Sequence[str] | None = None
    """Identifiers of the rows; their places where there are none."""
    grouping: Grouping | None = None
    """How rows are split where sums of groups are asked for."""

    def answer(self, question: Question[S], layout: Layout | None = None) -> S | None:
        """The statistic asked for, of this site's rows; None if it answers for none of it."""
        if isinstance(question, GroupedQuestion):
            return self._by_group(question, layout)
        holding = 0 if layout is None else self.place_in(layout)
        share = question.share(layout, holding)
        return None if share is None else share.finish(self._sums(share.question, fills=share.fills))

    def _by_group(self, question: GroupedQuestion, layout: Layout | None) -> GroupedSums | None:
        """The statistic of each group of rows."""
        each: Any = question.each
        parts = self.split(question.groups)
        answers: list[Any] = [replace(self, rows=self.rows[part]).answer(each, layout) for part in parts]
        if any(answer is None for answer in answers):
            return None
        return GroupedSums({(self.name, self.block): tuple(answers)})

    def split(self, groups: int) -> list[IntVector]:
        """The rows of every group, by the secret of this site."""
        if self.grouping is None:
            raise ProtocolError(f"site {self.name} has no secret to split its rows into groups by")
        ids = self.ids if self.ids is not None else [str(row) for row in range(len(self.rows))]
        return self.grouping.split(ids, groups, self.name)

    def place_in(self, layout: Layout) -> int:
        """Number of this holding in a layout that says of it what is true."""
        for number, holding in enumerate(layout.holdings):
            if (holding.site, holding.block) == (self.name, self.block):
                if set(holding.columns) != set(self.columns) or holding.rows < len(self.rows):
                    raise ProtocolError(f"the plan of the federation is wrong about site {self.name!r}")
                return number
        raise ProtocolError(f"the plan of the federation does not know site {self.name!r} with block {self.block!r}")

    def _sums(self, question: Question[Any], *, fills: bool) -> Any:
        missing = [name for name in question.variables if name not in self.columns]
        if missing and not fills:
            raise ProtocolError(f"site {self.name} does not hold column {missing[0]!r}")
        chosen = [self.columns.index(name) if name in self.columns else ABSENT for name in question.variables]

        exact = getattr(question, "grid", None) is not None
        pieces = range(0, max(len(self.rows), 1), ROWS_PER_EXACT_PIECE if exact else ROWS_PER_PIECE)

        def sums_of_piece(first: int) -> Any:
            piece = self.rows[first : first + pieces.step]
            with np.errstate(over="ignore", invalid="ignore"):  # the sums are checked for it, with names
                return question.answer(self._blocks(question, chosen, piece), gaps=self.gaps)

        with one_blas_thread():
            return _sum_in_order(sums_of_piece, pieces, self.threads)

    def _blocks(self, question: Question[S], chosen: list[int], piece: Matrix) -> Iterator[Matrix]:
        """The rows of one piece in the question's frame and variable order; every block reuses one buffer."""
        in_order = chosen == list(range(len(self.columns)))
        frame = question.frame if self.own is None else question.frame.within(self.own.keep(chosen))
        absent = [k for k, column in enumerate(chosen) if column == ABSENT]
        buffer = np.empty((min(ROWS_AT_ONCE, len(piece)), len(chosen)))
        for start in range(0, len(piece), ROWS_AT_ONCE):
            rows = piece[start : start + ROWS_AT_ONCE]
            z = frame.express(rows if in_order else rows[:, chosen], out=buffer[: len(rows)])
            z[:, absent] = np.nan
            yield z


def _sum_in_order(sums_of: Callable[[int], S], pieces: range, threads: int) -> S:
    """Sum of all pieces, added in order; threads work at most a few pieces ahead."""
    if threads == 1 or len(pieces) == 1:
        return _add_up(map(sums_of, pieces))
    with ThreadPoolExecutor(threads) as pool:
        return _add_up(_ahead(pool, sums_of, pieces, 2 * threads))


def _ahead(pool: ThreadPoolExecutor, sums_of: Callable[[int], S], pieces: range, ahead: int) -> Iterator[S]:
    """Results in order, with a bounded number of pieces waiting."""
    waiting: deque[Future[S]] = deque()
    for piece in pieces:
        waiting.append(pool.submit(sums_of, piece))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _add_up(parts: Iterator[S]) -> S:
    total = next(parts)
    for part in parts:
        total = total + part
    return total
