"""One BLAS thread at a time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside: list[Any] = []
"""The limit in force, once per conversation that relies on it."""

_found: dict[int, ThreadpoolController] = {}
"""The libraries of this process, by how many modules it had imported when they were looked for."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Switch the threads of the BLAS library off for a while.

    Our products are too small for BLAS to share out: on a busy machine its threads wait for each other many times as
    long as a product takes. One thread also gives the same bits whatever the number of processors. Sites use threads
    of their own, over pieces of rows. The setting belongs to the whole process: the first conversation to begin makes
    it, the last to end takes it back.
    """
    with _lock:
        _inside.append(_inside[0] if _inside else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()


def _libraries() -> ThreadpoolController:
    """The libraries that are loaded: looking takes milliseconds, and only what is imported can load another."""
    modules = len(sys.modules)
    if modules not in _found:
        _found.clear()
        _found[modules] = ThreadpoolController()
    return _found[modules]
