"""A site: holds rows, answers questions, sends sums."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

import numpy as np

from fedrcd.data.rows import Rows, pieces, spread_of
from fedrcd.data.table import Table
from fedrcd.errors import ProtocolError
from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.questions import Question, S
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.discrete_gaussian import RandomBytes
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grouped_sums import GroupedSums
from fedrcd.typing import Matrix

A = TypeVar("A")
B = TypeVar("B")

NOWHERE = Table(np.empty((0, 0)))
"""In the place of rows that go another way."""

ROWS_PER_PIECE = 2048
"""Rows whose sums one thread takes; they are then added in order, so the bits do not depend on the threads."""

ROWS_PER_EXACT_PIECE = 8192
"""The same for exact sums, whose bits depend on no order: fewer pieces cost less."""

ROWS_PER_CARD = 2**16
"""The same for sums on a card, which is busy with one piece while the next is copied."""

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
class LocalSite:
    """A site whose rows can be read here. Stateless between questions."""

    name: str
    rows: Rows
    block: str = ""
    own: Frame | None = None
    """Centre and scale of this block's own, in which rows are expressed before anything else."""
    gaps: bool = False
    """Whether missing values, NaN, are passed over value by value."""
    threads: int = field(default_factory=available_threads)
    grouping: Grouping | None = None
    """How rows are split where sums of groups are asked for."""
    card: Accelerator | None = None
    """Where sums of all rows are taken, of the questions that say how; the others are summed by the processor."""
    random: RandomBytes = field(default=os.urandom, repr=False)
    """Where noise is drawn from."""

    @classmethod
    def of(cls, name: str, values: Matrix, columns: tuple[str, ...], block: str = "", **settings: Any) -> LocalSite:
        """A site whose rows are an array of shape (n, p)."""
        return cls(name, Table(values, name, block, columns=columns, source=name), block, **settings)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of its rows."""
        return self.rows.columns

    def answer(self, question: Question[S], layout: Layout | None = None) -> S | None:
        """The statistic asked for, of this site's rows; None if it answers for none of it."""
        return question.put_to(self, layout)

    def sums(self, question: Question[Any], layout: Layout | None) -> Any:
        """The sums of its share of a question; None if it has none."""
        holding = 0 if layout is None else self.place_in(layout)
        share = question.share(layout, holding)
        return None if share is None else share.finish(self._sums(share.question, fills=share.fills))

    def sums_by_group(self, question: Question[Any], layout: Layout | None) -> GroupedSums | None:
        """The sums of each group of rows, in one pass; None if it has no share in the question."""
        share = question.each.share(layout, 0 if layout is None else self.place_in(layout))
        if share is None:
            return None
        parts = self._sums_of_groups(share.question, question.groups, fills=share.fills)
        return GroupedSums({(self.name, self.block): tuple(share.finish(one) for one in parts)})

    def split(self, groups: int) -> list[Rows]:
        """The rows of every group, by the secret of this site."""
        return self._require_grouping().split(self.rows, groups, self.name)

    def place_in(self, layout: Layout) -> int:
        """Number of this holding in a layout that says of it what is true."""
        for number, holding in enumerate(layout.holdings):
            if (holding.site, holding.block) == (self.name, self.block):
                if set(holding.columns) != set(self.columns):  # how many rows there are is a hint
                    raise ProtocolError(f"the plan of the federation is wrong about site {self.name!r}")
                return number
        raise ProtocolError(f"the plan of the federation does not know site {self.name!r} with block {self.block!r}")

    def _sums(self, question: Question[Any], *, fills: bool) -> Any:
        spread = spread_of(self.rows)
        if spread is not None and question.grid is not None:  # float sums depend on the order in which they are added
            bare = replace(self, rows=NOWHERE, threads=1, grouping=None)  # the secret of the groups stays here
            return spread.add_up(partial(_sums_of_part, bare, question, fills), spread.parts)
        if self.card is not None and not self.gaps and not fills:
            sums = question.answer_on(self.card, self.expressed(question.variables, question.frame))
            if sums is not None:
                return sums
        sums_of_piece = self._piecewise(question, fills=fills)
        size = ROWS_PER_PIECE if question.grid is None else ROWS_PER_EXACT_PIECE
        with one_blas_thread():
            return _sum_in_order(sums_of_piece, self._pieces(size), self.threads)

    def _sums_of_groups(self, question: Question[Any], groups: int, *, fills: bool) -> list[Any]:
        """The sums of every group: the same bits as if its rows were those of a site."""
        sums_of_piece = self._piecewise(question, fills=fills)

        def sums_of(part: tuple[int, Matrix]) -> tuple[int, Any]:
            return part[0], sums_of_piece(part[1])

        totals: list[Any] = [None] * groups
        with one_blas_thread(), _mapped(sums_of, self._pieces_of_groups(groups), self.threads) as found:
            for group, sums in found:
                totals[group] = sums if totals[group] is None else totals[group] + sums
        return totals

    def _pieces_of_groups(self, groups: int) -> Iterator[tuple[int, Matrix]]:
        """The rows in pieces of one group each; at least one of every group, if an empty one."""
        grouping = self._require_grouping()
        sizes = np.zeros(groups, dtype=np.int64)
        open_pieces: list[Matrix | None] = [None] * groups
        filled = [0] * groups
        for chunk, labels in grouping.labelled(self.rows, groups):
            sizes += np.bincount(labels, minlength=groups)
            together = np.argsort(labels, kind="stable")
            ends = np.cumsum(np.bincount(labels, minlength=groups))
            for group, (first, last) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
                rows = chunk.values[together[first:last]]
                while len(rows):
                    piece = open_pieces[group]
                    if piece is None:
                        piece = open_pieces[group] = np.empty((ROWS_PER_PIECE, chunk.values.shape[1]))
                    taken = min(ROWS_PER_PIECE - filled[group], len(rows))
                    piece[filled[group] : filled[group] + taken] = rows[:taken]
                    filled[group] += taken
                    rows = rows[taken:]
                    if filled[group] == ROWS_PER_PIECE:
                        yield group, piece
                        open_pieces[group], filled[group] = None, 0
        grouping.require_large(sizes, self.name)
        nothing = np.empty((0, len(self.columns)))
        for group, piece in enumerate(open_pieces):
            if piece is not None or not sizes[group]:
                yield group, nothing if piece is None else piece[: filled[group]]

    def _require_grouping(self) -> Grouping:
        if self.grouping is None:
            raise ProtocolError(f"site {self.name} has no secret to split its rows into groups by")
        return self.grouping

    def _piecewise(self, question: Question[Any], *, fills: bool) -> Callable[[Matrix], Any]:
        """What makes sums of some rows."""
        chosen = self._chosen(question.variables, fills=fills)

        def sums_of_piece(piece: Matrix) -> Any:
            with np.errstate(over="ignore", invalid="ignore"):  # the sums are checked for it, with names
                return question.answer(self._blocks(question, chosen, piece), gaps=self.gaps)

        return sums_of_piece

    def expressed(self, variables: Sequence[str], frame: Frame) -> Iterator[Matrix]:
        """All rows in a frame, in large blocks; at least one, if an empty one."""
        chosen = self._chosen(variables, fills=False)
        for piece in self._pieces(ROWS_PER_CARD):
            yield self._frame_for(frame, chosen).express(piece[:, chosen])

    def _chosen(self, variables: Sequence[str], *, fills: bool) -> list[int]:
        """The columns that hold some variables."""
        missing = [name for name in variables if name not in self.columns]
        if missing and not fills:
            raise ProtocolError(f"site {self.name} does not hold column {missing[0]!r}")
        return [self.columns.index(name) if name in self.columns else ABSENT for name in variables]

    def _frame_for(self, frame: Frame, chosen: list[int]) -> Frame:
        """The frame in which rows as they are here are expressed, to be in another."""
        return frame if self.own is None else frame.within(self.own.keep(chosen))

    def _pieces(self, size: int) -> Iterator[Matrix]:
        """The rows in pieces; at least one, if an empty one, for there must be sums."""
        nothing = True
        for piece in pieces(self.rows.chunks(), size):
            nothing = False
            yield piece
        if nothing:
            yield np.empty((0, len(self.columns)))

    def _blocks(self, question: Question[S], chosen: list[int], piece: Matrix) -> Iterator[Matrix]:
        """The rows of one piece in the question's frame and variable order; every block reuses one buffer."""
        in_order = chosen == list(range(len(self.columns)))
        frame = self._frame_for(question.frame, chosen)
        absent = [k for k, column in enumerate(chosen) if column == ABSENT]
        buffer = np.empty((min(ROWS_AT_ONCE, len(piece)), len(chosen)))
        for start in range(0, len(piece), ROWS_AT_ONCE):
            rows = piece[start : start + ROWS_AT_ONCE]
            z = frame.express(rows if in_order else rows[:, chosen], out=buffer[: len(rows)])
            z[:, absent] = np.nan
            yield z


def _sums_of_part(site: LocalSite, question: Question[Any], fills: bool, rows: Rows) -> Any:  # noqa: FBT001
    """The sums of one part of the rows of a site; runs at a worker of its cluster."""
    return replace(site, rows=rows)._sums(question, fills=fills)


def _sum_in_order(sums_of: Callable[[Matrix], S], parts: Iterator[Matrix], threads: int) -> S:
    """Sum of all pieces, added in order."""
    with _mapped(sums_of, parts, threads) as found:
        return _add_up(found)


@contextmanager
def _mapped(function: Callable[[A], B], parts: Iterator[A], threads: int) -> Iterator[Iterator[B]]:
    """What a function makes of parts, in order; threads work at most a few parts ahead."""
    first = list(islice(parts, 2))
    every = chain(first, parts)
    if threads == 1 or len(first) < 2:
        yield map(function, every)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield _ahead(pool, function, every, 2 * threads)


def _ahead(pool: ThreadPoolExecutor, function: Callable[[A], B], parts: Iterable[A], ahead: int) -> Iterator[B]:
    """Results in order, with a bounded number of pieces waiting."""
    waiting: deque[Future[B]] = deque()
    for part in parts:
        waiting.append(pool.submit(function, part))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _add_up(parts: Iterator[S]) -> S:
    total = next(parts)
    for part in parts:
        total = total + part
    return total
