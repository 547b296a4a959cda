"""The world outside as arguments: time, waiting, randomness and the disk, so that tests and replays bring their own."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What coordinator, ledger and site take from the machine they run on; by default the real one.

    Parameters
    ----------
    now : callable
        The date and the time, in UTC.
    monotonic : callable
        Seconds on a clock that never goes back.
    sleep : callable
        Waits for some seconds.
    token_bytes : callable
        So many random bytes that nobody can guess.
    connect : callable
        A connection to the SQLite file of a path; takes the keyword arguments of `sqlite3.connect` too.
    """

    now: Callable[[], datetime] = utc_now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    token_bytes: Callable[[int], bytes] = secrets.token_bytes
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect


REAL = Surroundings()
"""The machine as it is."""
