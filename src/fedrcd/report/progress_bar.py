"""A sign of life for anything that takes longer than two seconds: in a terminal, a notebook or a log."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, Protocol

from fedrcd.passes import Reading, listening

SECONDS = 2.0
REPEAT = 10.0


class ProgressBar:
    """Says what is going on, once it has gone on for two seconds, and how much of it is done if that is known.

    In a terminal a bar on stderr, in a notebook a bar below the cell; elsewhere, in a log file say, a plain line on
    stderr now and then.
    """

    def __init__(self, text: str, after: float = SECONDS) -> None:
        self.text = text
        self.share: float | None = None
        self._lock = threading.Lock()
        self._bar: _Bar | None = None
        self._stopped = False
        self._timer = self._wait(after)

    def say(self, text: str, share: float | None = None) -> None:
        """Change what is going on, and which share of it is done."""
        with self._lock:
            self.text, self.share = text, share
            if self._bar:
                self._bar.update(text, share)

    def stop(self) -> None:
        """Take the bar away."""
        with self._lock:
            self._stopped = True
            self._timer.cancel()
            if self._bar:
                self._bar.stop()

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
            if in_notebook():
                self._bar = _NotebookBar()
                self._bar.update(self.text, self.share)
            elif console.is_terminal:
                self._bar = _TerminalBar(console, self.text, self.share)
            else:
                console.print(self.text, markup=False, highlight=False)
                self._timer = self._wait(REPEAT)


@contextmanager
def progress_bar(text: str, after: float = SECONDS) -> Iterator[ProgressBar]:
    """Show `text` while the block runs, if it runs for more than `after` seconds."""
    sign = ProgressBar(text, after)

    def reading(one: Reading) -> None:
        sign.say(one.words, one.rows / one.expected if one.expected else None)

    try:
        with listening(reading):
            yield sign
    finally:
        sign.stop()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


class _Bar(Protocol):
    """Something that shows a text and how much is done."""

    def update(self, text: str, share: float | None) -> None: ...

    def stop(self) -> None: ...


class _TerminalBar:
    """A line that keeps changing; the bar pulses while it is not known how much is done."""

    def __init__(self, console: Any, text: str, share: float | None) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("", total=None)
        self.update(text, share)
        self._progress.start()

    def update(self, text: str, share: float | None) -> None:
        self._progress.update(self._task, description=text, total=None if share is None else 1.0, completed=share or 0)

    def stop(self) -> None:
        self._progress.stop()


class _NotebookBar:
    """A bar in the output of the running cell, which needs no widgets; taken away in the end."""

    def __init__(self) -> None:
        import IPython.display

        notebook: Any = IPython.display  # which has no types
        self._html = notebook.HTML
        self._handle = notebook.display(self._html(""), display_id=True)

    def update(self, text: str, share: float | None) -> None:
        value = "" if share is None else f' value="{share:.3f}"'
        self._handle.update(self._html(f"<progress{value}></progress> {escape(text)}"))

    def stop(self) -> None:
        self._handle.update(self._html(""))
