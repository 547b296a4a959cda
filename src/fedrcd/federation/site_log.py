"""A site's own record of every question it was asked: what left, when, how large.

One line of JSON per block and question, only ever appended, each with the digest of the line before it, so that a line
that was changed or taken out shows. It is written before the answer leaves. It never leaves the site; the rules of
disclosure that look back (the budget, one frame, maps that grow by one) are judged by it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from fedrcd.errors import FileError

START = "0" * 64
"""What the first line follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What happened to one question for one block of rows.

    `digest` identifies the question, `version` the rows as they were; `frame` and `basis` are digests of the frame and
    of the moments behind a residual map, `sources` the variables regressed on, if any. `outcome` is "answered", or the
    code of a refusal, with `detail` for people at the site. `clips` says whether values were clipped on a grid, where
    the question leaves a choice; `groups` is the number of groups that rows were split into, if they were, and `split`
    tells one way to split from another. `trim` is empty, or tells how rows far out were left out. `answer` is the
    digest of what left.
    """

    time: str
    run: str
    round: int
    federation: str
    digest: str
    question: str
    outcome: str
    block: str = ""
    numbers: int = 0
    rows: int = 0
    variables: int = 0
    version: str = ""
    frame: str = ""
    clips: bool | None = None
    basis: str = ""
    sources: tuple[int, ...] | None = None
    groups: int = 0
    split: str = ""
    trim: str = ""
    answer: str = ""
    detail: str = ""


ANSWERED = "answered"


def now() -> str:
    """The time as the log writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class SiteLog:
    """The log in a file; it need not exist yet."""

    path: Path

    def entries(self) -> list[Entry]:
        """All entries, in order; `FileError` if a line was changed or taken out."""
        if not self.path.exists():
            return []
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except OSError as problem:
            raise FileError(f"cannot read {self.path}: {problem.strerror}") from None
        entries, before = [], START
        for number, line in enumerate(lines, 1):
            entries.append(_parsed(line, before, f"{self.path}, line {number}"))
            before = _digest(line)
        return entries

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else appends meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path.with_suffix(".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def append(self, *new: Entry) -> None:
        """Add entries, on the disk before this returns; call it inside `locked`."""
        try:
            with open(self.path, "a+b") as file:
                before = _last_digest(file)
                for entry in new:
                    content = {key: value for key, value in asdict(entry).items() if value not in ("", None)}
                    line = json.dumps({"before": before, **content}, separators=(",", ":"), ensure_ascii=True)
                    file.write(line.encode() + b"\n")
                    before = _digest(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise FileError(f"cannot write {self.path}: {problem.strerror}") from None


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


def _last_digest(file: IO[bytes]) -> str:
    """Digest of the last line of an open log."""
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return START
    step = 4096
    while True:
        start = max(0, size - step)
        file.seek(start)
        lines = file.read(size - start).rstrip(b"\n").split(b"\n")
        if len(lines) > 1 or start == 0:
            file.seek(0, os.SEEK_END)
            return hashlib.sha256(lines[-1]).hexdigest()
        step *= 4


def _parsed(line: str, before: str, where: str) -> Entry:
    try:
        content: dict[str, Any] = json.loads(line)
        follows = content.pop("before")
        known = {field.name for field in fields(Entry)}
        if content.get("sources") is not None:
            content["sources"] = tuple(content["sources"])
        entry = Entry(**{key: value for key, value in content.items() if key in known})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FileError(f"{where}: not a line of a site's log") from None
    if follows != before:
        raise FileError(f"{where}: the line before it was changed or taken out; keep the file and ask who did it")
    return entry
