"""Answers that already came, so that a coordinator that was killed goes on where it stopped.

One small database in the folder of the run, deleted when the run ends: it holds every site's sums in clear. A method
asks the same questions when it is run again, so answers are kept by the digest of their question. Of a masked run of
several rounds it holds masked answers: sites keep only the last, and every round needs those of the one before. What a
power cut damages is asked for anew: nothing waits for the disk, and no body is believed but the one that was written.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedrcd.errors import FileError
from fedrcd.federation.messages.masked import MaskedReply
from fedrcd.federation.messages.requests import Reply
from fedrcd.federation.messages.roll_call import RollCallReply
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import from_bytes, to_bytes

WAIT = 30.0
"""Seconds to wait for another process to let go of the file."""

ANSWERS = "answers.sqlite"
"""Their file in the folder of a run."""

TABLE = """
create table if not exists answers (
    run text not null, digest text not null, site text not null, body blob not null, seal blob not null,
    version text not null, primary key (run, digest, site)
)
"""


MASKED = """
create table if not exists masked (
    run text not null, round integer not null, site text not null, body blob not null, seal blob not null,
    primary key (run, round, site)
)
"""

CALLS = """
create table if not exists calls (
    run text not null, site text not null, body blob not null, seal blob not null, primary key (run, site)
)
"""


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """The recorded answers of one run."""

    path: Path
    surroundings: Surroundings = REAL

    def mend(self) -> None:
        """Before anything is read: a file that was damaged is deleted, and what was in it is asked for again."""
        if not self.path.exists():
            return
        try:
            with closing(self.surroundings.connect(self.path, timeout=WAIT)) as database:
                whole = database.execute("pragma quick_check").fetchall() == [("ok",)]
        except sqlite3.OperationalError as problem:  # held by another process, or not to be read
            raise FileError(f"cannot keep answers in {self.path}: {problem}") from None
        except sqlite3.DatabaseError:
            whole = False
        if not whole:
            self.delete()

    def record(self, reply: Reply) -> None:
        """Keep an answer: it outlives this process from here on."""
        body = to_bytes(reply.blocks)
        row = (reply.run, reply.digest, reply.site, body, _seal(body), reply.version)
        with self._open() as database:
            database.execute("insert or replace into answers values (?, ?, ?, ?, ?, ?)", row)

    def record_call(self, run: str, site: str, reply: RollCallReply) -> None:
        """Keep what a site said in the roll call of a run."""
        body = to_bytes(reply)
        with self._open() as database:
            database.execute("insert or replace into calls values (?, ?, ?, ?)", (run, site, body, _seal(body)))

    def call(self, run: str, site: str) -> RollCallReply | None:
        """What a site said in the roll call of a run, if it did."""
        with self._open() as database:
            row = database.execute("select body, seal from calls where run = ? and site = ?", (run, site)).fetchone()
        return None if row is None or _seal(row[0]) != row[1] else from_bytes(row[0], RollCallReply)

    def find(self, run: str, digest: str, site: str) -> Reply | None:
        """What a site answered to a question in this run, if it did."""
        with self._open() as database:
            row = database.execute(
                "select body, seal, version from answers where run = ? and digest = ? and site = ?", (run, digest, site)
            ).fetchone()
        if row is None or _seal(row[0]) != row[1]:
            return None
        return Reply(run, digest, site, row[2], from_bytes(row[0], tuple))

    def record_masked(self, run: str, number: int, site: str, reply: MaskedReply) -> None:
        """Keep a masked answer in a round of a run."""
        body = to_bytes(reply)
        row = (run, number, site, body, _seal(body))
        with self._open() as database:
            database.execute("insert or replace into masked values (?, ?, ?, ?, ?)", row)

    def masked(self, run: str, number: int) -> dict[str, MaskedReply]:
        """The masked answers that came in a round of a run, by site."""
        if not self.path.exists():
            return {}
        with self._open() as database:
            rows = database.execute(
                "select site, body, seal from masked where run = ? and round = ?", (run, number)
            ).fetchall()
        return {str(site): from_bytes(body, MaskedReply) for site, body, seal in rows if _seal(body) == seal}

    def version(self, run: str, site: str) -> str | None:
        """The version of a site's rows that its answers so far were about."""
        with self._open() as database:
            row = database.execute("select version from answers where run = ? and site = ?", (run, site)).fetchone()
        return None if row is None else str(row[0])

    def forget(self, site: str) -> int:
        """Delete whatever a site answered; how many entries there were."""
        if not self.path.exists():
            return 0
        with self._open() as database:
            database.execute("pragma secure_delete = on")
            database.execute("delete from calls where site = ?", (site,))
            database.execute("delete from masked where site = ?", (site,))
            return database.execute("delete from answers where site = ?", (site,)).rowcount

    def delete(self) -> None:
        """Delete everything."""
        for ending in ("", "-journal", "-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = self.surroundings.connect(self.path, timeout=WAIT)
            try:
                database.execute("pragma synchronous = off")  # outlives the process; a power cut costs a question
                with database:
                    database.execute(TABLE)
                    database.execute(CALLS)
                    database.execute(MASKED)
                    yield database
            finally:
                database.close()
        except (sqlite3.Error, OSError) as problem:
            raise FileError(f"cannot keep answers in {self.path}: {problem}") from None


def forget_recorded(folder: Path, site: str) -> int:
    """Delete what a site answered to runs anywhere in a folder that have not ended; how many answers there were."""
    found = [RecordedAnswers(path) for path in sorted(folder.rglob(ANSWERS))]
    for one in found:
        one.mend()
    return sum(one.forget(site) for one in found)


def _seal(body: bytes) -> bytes:
    """Tells a body from what a power cut may have made of it."""
    return hashlib.sha256(body).digest()
