"""How often the most frequent of many texts occurs, in bounded memory: beyond a million by files that vanish."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import chain
from tempfile import TemporaryFile
from typing import IO

import numpy as np

BYTES = 16
"""Of a mark: two texts never have the same."""

BUCKETS = 64

IN_MEMORY = 1 << 20
"""Marks that are held before they are written to files."""


def most_repeated(texts: Iterable[Sequence[str]]) -> int:
    """How often the most frequent text occurs; 0 if there is none.

    Files hold marks under a key that nobody keeps, and never a text.
    """
    key = secrets.token_bytes(32)
    with ExitStack() as stack:
        held: list[list[bytes]] = [[] for _ in range(BUCKETS)]
        files: list[IO[bytes]] = []  # most tables need none
        count = 0
        for some in texts:
            for one in some:
                mark = hashlib.blake2b(one.encode(), key=key, digest_size=BYTES).digest()
                held[mark[0] % BUCKETS].append(mark)
            count += len(some)
            if count > IN_MEMORY:
                files = files or [stack.enter_context(TemporaryFile()) for _ in range(BUCKETS)]
                for file, marks in zip(files, held, strict=True):
                    file.write(b"".join(marks))
                    marks.clear()
                count = 0
        most = 0
        for number, marks in enumerate(held if files else [list(chain.from_iterable(held))]):
            together = np.frombuffer(_whole(files, number) + b"".join(marks), dtype=f"V{BYTES}").view(f"S{BYTES}")
            if len(together):
                most = max(most, int(np.unique(together, return_counts=True)[1].max()))
        return most


def _whole(files: Sequence[IO[bytes]], number: int) -> bytes:
    """All that was written to one of the files, if there are any."""
    if not files:
        return b""
    files[number].seek(0)
    return files[number].read()
