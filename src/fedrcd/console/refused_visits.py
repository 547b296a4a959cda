"""What is logged of visits that were not let in: the first of a kind at once, the rest as a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fedrcd.errors import FedrcdError

QUIET = 60.0
"""Seconds in which more of the same are only counted: a log that anybody can fill tells nothing."""


@dataclass(slots=True)
class RefusedVisits:
    """Counts what was refused, by reason, and says it to `note`."""

    note: Callable[[str, str], None]
    clock: Callable[[], float]
    _last: dict[str, float] = field(default_factory=dict)
    _more: dict[str, int] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def tell(self, reason: str, who: str = "") -> None:
        """Something was refused, for a reason of a fixed list."""
        with self._lock:
            now, since = self.clock(), self._last.get(reason)
            if since is not None and now - since < QUIET:
                self._more[reason] = self._more.get(reason, 0) + 1
                return
            self._last[reason], more = now, self._more.pop(reason, 0)
        try:
            self.note(reason, f"and {more} more before" if more else who)
        except FedrcdError:  # the log cannot be written just now: the next one says how many there were
            with self._lock:
                self._more[reason] = self._more.get(reason, 0) + more + 1
                self._last.pop(reason, None)
