"""A sign of life for anything that takes longer than two seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

SECONDS = 2.0
REPEAT = 10.0


class Patience:
    """Says on stderr what is going on, once it has gone on for two seconds.

    In a terminal a line that keeps changing; elsewhere, in a log file say, a plain line now and then.
    """

    def __init__(self, text: str, after: float = SECONDS) -> None:
        self.text = text
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._stopped = False
        self._timer = self._wait(after)

    def say(self, text: str) -> None:
        """Change what is going on."""
        with self._lock:
            self.text = text
            if self._status:
                self._status.update(text)

    def stop(self) -> None:
        """Take the line away."""
        with self._lock:
            self._stopped = True
            self._timer.cancel()
            if self._status:
                self._status.stop()

    def _wait(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self._show)
        timer.daemon = True
        timer.start()
        return timer

    def _show(self) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        with self._lock:
            if self._stopped:
                return
            if console.is_terminal:
                self._status = console.status(self.text)
                self._status.start()
            else:
                console.print(self.text, markup=False, highlight=False)
                self._timer = self._wait(REPEAT)


@contextmanager
def patience(text: str, after: float = SECONDS) -> Iterator[Patience]:
    """Show `text` while the block runs, if it runs for more than `after` seconds."""
    sign = Patience(text, after)
    try:
        yield sign
    finally:
        sign.stop()
