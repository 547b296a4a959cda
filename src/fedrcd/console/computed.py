"""What takes long to find out: found out beside the requests, kept until what it depends on has changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

from fedrcd.errors import FedrcdError

AT_ONCE = 1.0
"""Seconds that a page waits: what is quick is there when the page is."""


class Computed(NamedTuple):
    """What was found out, or in one line why it was not; neither as long as it is under way."""

    value: Any = None
    error: str = ""
    is_under_way: bool = False


@dataclass(slots=True)
class Computations:
    """Everything that is computed for pages; `changed` counts what became ready."""

    changed: int = 0
    _done: dict[str, tuple[Hashable, Future[Any]]] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "computed"))

    def find(self, name: str, depends_on: Hashable, compute: Callable[[], Any]) -> Computed:
        """What `compute` gives, once it does; anew where what it depends on is other than before."""
        with self._lock:
            before = self._done.get(name)
            if before is None or (before[0] != depends_on and before[1].done()):
                future = self._pool.submit(compute)
                future.add_done_callback(self._count)
                self._done[name] = before = (depends_on, future)
        future = before[1]
        try:
            return Computed(future.result(AT_ONCE))
        except TimeoutError:
            return Computed(is_under_way=True)
        except FedrcdError as problem:
            return Computed(error=str(problem))
        except Exception as problem:  # its text may hold data
            return Computed(error=f"it failed ({type(problem).__name__}); the command of the same name says more")

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _count(self, _: Future[Any]) -> None:
        self.changed += 1
