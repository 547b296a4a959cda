"""One BLAS thread at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Switch the threads of the BLAS library off for a while.

    Our products are too small for BLAS to share out: on a busy machine its threads wait for each other many times as
    long as a product takes. One thread also gives the same bits whatever the number of processors. Sites use threads
    of their own, over pieces of rows.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
