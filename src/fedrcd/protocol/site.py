"""A site: holds rows, answers questions, sends sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from fedrcd.errors import ProtocolError
from fedrcd.protocol.questions import Question, S
from fedrcd.typing import Matrix

ROWS_AT_ONCE = 2048
"""Rows per block. Fixed, so that sums of the same rows have the same bits in every run."""


class Site(Protocol):
    """Whatever answers questions about rows it keeps to itself."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    def answer(self, question: Question[S]) -> S:
        """The statistic asked for, of this site's rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TableSite:
    """A site whose rows are an array of shape (n, p) with named columns. Stateless between questions."""

    name: str
    rows: Matrix
    columns: tuple[str, ...]

    def answer(self, question: Question[S]) -> S:
        """The statistic asked for, of this site's rows."""
        missing = [name for name in question.variables if name not in self.columns]
        if missing:
            raise ProtocolError(f"site {self.name} does not hold column {missing[0]!r}")
        with _blas().limit(limits=1, user_api="blas"):
            return question.answer(self._blocks(question))

    def _blocks(self, question: Question[S]) -> Iterator[Matrix]:
        """Rows in the question's frame and variable order, block by block; each block reuses one buffer."""
        chosen = [self.columns.index(name) for name in question.variables]
        in_order = chosen == list(range(len(self.columns)))
        buffer = np.empty((ROWS_AT_ONCE, len(chosen)))
        for first in range(0, len(self.rows), ROWS_AT_ONCE):
            rows = self.rows[first : first + ROWS_AT_ONCE]
            yield question.frame.express(rows if in_order else rows[:, chosen], out=buffer[: len(rows)])


@cache
def _blas() -> ThreadpoolController:
    """Handle on the BLAS library.

    Its own threads are switched off while a site sums: blocks are too small to share out, the threads of a busy
    machine wait for each other many times as long as the product takes, and one thread always gives the same bits.
    """
    return ThreadpoolController()
