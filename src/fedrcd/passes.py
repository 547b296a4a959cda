"""How far a pass over many rows is, told to whoever wants to know."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

INTERVAL = 0.5
"""Seconds between two reports."""


class Reading(NamedTuple):
    """A pass that is under way: which one over this source, how many rows of it were read, and in how many seconds."""

    source: str
    number: int
    rows: int
    expected: int | None
    seconds: float

    @property
    def words(self) -> str:
        """For people."""
        speed = self.rows / max(self.seconds, 1e-9)
        text = f"{self.source}, pass {self.number}: {self.rows:,} rows, {speed:,.0f} a second"
        if self.expected is None:
            return text
        return f"{text}, {max(self.expected - self.rows, 0) / max(speed, 1e-9):,.0f} s left"


_LISTENER: ContextVar[Callable[[Reading], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[Reading], None]) -> Iterator[None]:
    """Tell a function of every pass that begins in this block."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class Meter:
    """Counts the rows of one pass."""

    def __init__(self, source: str, number: int, count: int | None) -> None:
        self._listener = _LISTENER.get()
        self._source, self._number, self._count = source, number, count
        self._start = self._last = time.monotonic()
        self.rows = 0

    def add(self, rows: int) -> None:
        """So many more were read."""
        self.rows += rows
        now = time.monotonic()
        if self._listener is not None and now - self._last >= INTERVAL:
            self._last = now
            self._listener(Reading(self._source, self._number, self.rows, self._count, now - self._start))
