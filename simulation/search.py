"""Planted bugs are searched for: lives are played with each until the judge objects, many pieces at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

FIRST_PIECE, MOST_PIECE = 8, 128
"""Lives of the first piece of a search, and of later ones: most bugs are found at once."""

ROOT = Path(__file__).parents[1]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Found(NamedTuple):
    """After how many lives a bug was found, and by what; 0 if it was not, after so many lives."""

    name: str
    after: int
    problem: str
    played: int


def search(names: Sequence[str], most: int, jobs: int, first: int = 0, seconds: float = 0.0) -> Iterator[Found]:
    """Look for planted bugs, each piece of lives in a process of its own; what came of each, as soon as it is known.

    With `seconds`, no piece begins later than that.
    """
    until = time.monotonic() + seconds if seconds else float("inf")
    pieces = list(_pieces(most))
    left = {name: {begin for begin, _ in pieces} for name in names}
    found: dict[str, Found] = {}
    played = dict.fromkeys(names, 0)

    def play(begin: int, count: int, name: str) -> tuple[str, int, dict[str, Any]]:
        useless = name in found and found[name].after <= begin
        late = time.monotonic() > until
        said = {"seeds": 0, "problem": ""} if useless or late else _played(name, first + begin, count)
        return name, begin, said

    with ThreadPoolExecutor(jobs) as pool:
        work = [pool.submit(play, begin, count, name) for begin, count in pieces for name in names]
        for future in as_completed(work):
            name, begin, said = future.result()
            if not left[name]:
                continue
            left[name].discard(begin)
            played[name] += said["seeds"]
            after = begin + said["seeds"]
            if said["problem"] and (name not in found or after < found[name].after):
                found[name] = Found(name, after, said["problem"], 0)
            if name in found:
                left[name] = {one for one in left[name] if one < found[name].after}
            if not left[name]:
                yield found.get(name, Found(name, 0, "", played[name]))


def _pieces(most: int) -> Iterator[tuple[int, int]]:
    begin, size = 0, FIRST_PIECE
    while begin < most:
        yield begin, min(size, most - begin)
        begin, size = begin + size, min(2 * size, MOST_PIECE)


def _played(name: str, first: int, count: int) -> dict[str, Any]:
    """What a process says that plays lives with a bug until something is wrong."""
    command = [sys.executable, "-m", "simulation", "--plant", name, "--seeds", str(count), "--first", str(first)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | ONE_THREAD)
    if not done.stdout.strip():
        raise RuntimeError(f"the search for {name} ended: {done.stderr[-500:]}")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said
