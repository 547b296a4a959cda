"""One SQLite file with one writer, from which deleted bytes are gone.

Write-ahead log, every commit on the disk before it returns, deleted content overwritten, and the log emptied into the
file and cut to nothing after every change: what is not in the tables is not in the files.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from fedrcd.errors import FedrcdError, FileError, ProtocolError

WAIT_SECONDS = 2.0
"""How long to wait for another process to let go of the file, unless something else is said."""
RETRY_SECONDS = 0.05
"""How long one attempt to open the file waits, and at most how long until the next."""


class Closing(ABC):
    """Whatever is closed at the end of a `with` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""


class Database(Closing):
    """An open file; nobody else can open it meanwhile."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        what: str,
        kind: int,
        schema: tuple[str, ...],
        *,
        create: bool,
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect,
        wait: float = WAIT_SECONDS,
    ) -> None:
        """Open a file of a kind, or create one.

        Parameters
        ----------
        path : path
            The file.
        what : str
            What messages call such a file: "ledger".
        kind : int
            Marks files of this kind (SQLite's `application_id`).
        schema : tuple of str
            Statements that make the tables.
        create : bool
            Make a new file; without, there must be one.
        connect : callable
            Opens the file as `sqlite3.connect` does.
        wait : float
            Seconds to wait for another process to let go of the file.
        """
        self.path, self.what = Path(path), what
        self._layout: int | None = None
        if create:
            self._make()
        elif not self.path.is_file():
            raise FileError(f"there is no {what} {self.path}")
        until = time.monotonic() + wait
        while not self._opened(connect, kind, schema, create=create, give_up=time.monotonic() >= until):
            time.sleep(random.uniform(0, RETRY_SECONDS))

    def _opened(
        self,
        connect: Callable[..., sqlite3.Connection],
        kind: int,
        schema: tuple[str, ...],
        *,
        create: bool,
        give_up: bool,
    ) -> bool:
        """Try to open the file for this process alone.

        Two processes that both read the file wait for each other to let go of it, so each lets go and tries again.
        """
        try:
            self._connection = connect(self.path, timeout=RETRY_SECONDS, isolation_level=None)
        except sqlite3.Error as problem:
            raise FileError(f"cannot open {self.path}: {problem}") from None
        try:
            with self._explained("open"):
                self._prepare(kind, schema, create=create)
        except ProtocolError:
            self._connection.close()
            if give_up:
                raise
            return False
        except FedrcdError:
            self._connection.close()
            raise
        return True

    def _make(self) -> None:
        """Create an empty file that only its owner can read."""
        if self.path.exists() and self.path.stat().st_size:
            raise FileError(f"there is a file {self.path} already; name another")
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as problem:
            raise FileError(f"cannot write {self.path}: {problem.strerror}") from None

    def _prepare(self, kind: int, schema: tuple[str, ...], *, create: bool) -> None:
        run = self._connection.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA secure_delete = ON")
        run("PRAGMA temp_store = MEMORY")
        run("PRAGMA synchronous = FULL")
        if create:
            run("PRAGMA journal_mode = WAL")
            with self.changes():
                run(f"PRAGMA application_id = {kind}")
                for statement in schema:
                    run(statement)
            return
        if run("PRAGMA application_id").fetchone()[0] != kind:
            raise FileError(f"{self.path} is not a {self.what} of fedrcd, or was never finished")
        run("BEGIN EXCLUSIVE")  # the lock is kept from here on
        run("COMMIT")
        self.purge()  # whatever a crash left in the log

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def in_memory(self) -> sqlite3.Connection:
        """A copy that is in no file, to try something on."""
        copied = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with self._explained("read"):
            self._connection.backup(copied)
        return copied

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Rows of a query, one after the other."""
        with self._explained("read"):
            yield from self._connection.execute(query, values)

    def run(self, statement: str, *values: Any) -> None:
        """Change something; inside `changes`."""
        with self._explained("write"):
            self._connection.execute(statement, values)

    def run_many(self, statement: str, several: Iterable[tuple[Any, ...]]) -> None:
        """Do the same with several lists of values; inside `changes`."""
        with self._explained("write"):
            self._connection.executemany(statement, several)

    @property
    def layout(self) -> int:
        """How its tables are laid out, as a number that means something to them; 0 until one was noted."""
        if self._layout is None:
            self._layout = int(next(self.rows("PRAGMA user_version"))[0])
        return self._layout

    def note_layout(self, number: int) -> None:
        """Note how its tables are laid out; inside `changes`."""
        self.run(f"PRAGMA user_version = {number:d}")
        self._layout = number

    @contextmanager
    def changes(self, *, purge: bool = True) -> Iterator[None]:
        """All changes in the block are on the disk when it ends, or none is; then old bytes are purged, or later."""
        with self._explained("write"):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._explained("write"):
                self._connection.execute("COMMIT")
        except BaseException:
            self._layout = None  # what was noted is not
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        if purge:
            self.purge()

    def purge(self) -> None:
        """Empty the write-ahead log into the file and cut it to nothing."""
        try:
            with self._explained("write"):
                busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except FileError as problem:
            raise FileError(
                f"{problem}; the change is recorded, but old bytes may still be on the disk until the {self.what} is "
                "next opened"
            ) from None
        assert not busy, "nobody else can hold the file"

    def foreign(self, schema: tuple[str, ...]) -> bool:
        """Whether the tables are not exactly those of a schema."""
        found = self._connection.execute("SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE sql IS NOT NULL")
        return sorted(bytes(sql) for (sql,) in found) != sorted(statement.encode() for statement in schema)

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the structure of the file."""
        try:
            lines = [str(line) for (line,) in self._connection.execute("PRAGMA integrity_check")]
        except sqlite3.Error as problem:
            return [str(problem)]
        return [line for line in lines if line != "ok"]

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Errors of SQLite in our words."""
        try:
            yield
        except sqlite3.OperationalError as problem:
            if "locked" in str(problem):
                raise ProtocolError(
                    f"the {self.what} {self.path} is in use by another process; there can be only one at a time"
                ) from None
            raise FileError(f"cannot {doing} the {self.what} {self.path}: {problem}") from None
        except sqlite3.DatabaseError as problem:
            raise FileError(f"the {self.what} {self.path} is damaged: {problem}; restore it from a backup") from None
