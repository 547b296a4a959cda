"""Answers that already came, so that a coordinator that was killed goes on where it stopped.

One small database in the folder of the run, deleted when the run ends: it holds every site's sums in clear. A method
asks the same questions when it is run again, so answers are kept by the digest of their question. Of a masked run of
several rounds it holds masked answers: sites keep only the last, and every round needs those of the one before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrcd.errors import FileError
from fedrcd.federation.messages.masked import MaskedReply
from fedrcd.federation.messages.requests import SUMS, Reply
from fedrcd.federation.messages.roll_call import RollCallReply
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import from_bytes, to_bytes

ANSWERS = "answers.sqlite"
"""Their file in the folder of a run."""

TABLE = """
create table if not exists answers (
    run text not null, digest text not null, site text not null, place integer not null,
    block text not null, version text not null, sums blob,
    primary key (run, digest, site, place)
)
"""


MASKED = """
create table if not exists masked (
    run text, round integer, site text, body blob not null, primary key (run, round, site)
)
"""

CALLS = "create table if not exists calls (run text, site text, body blob not null, primary key (run, site))"


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """The recorded answers of one run."""

    path: Path
    surroundings: Surroundings = REAL

    def record(self, reply: Reply) -> None:
        """Keep an answer: it outlives this process from here on."""
        rows = [
            (reply.run, reply.digest, reply.site, place, label, reply.version, None if sums is None else to_bytes(sums))
            for place, (label, sums) in enumerate(reply.blocks)
        ]
        with self._open() as database:
            database.executemany("insert or replace into answers values (?, ?, ?, ?, ?, ?, ?)", rows)

    def record_call(self, run: str, site: str, reply: RollCallReply) -> None:
        """Keep what a site said in the roll call of a run."""
        with self._open() as database:
            database.execute("insert or replace into calls values (?, ?, ?)", (run, site, to_bytes(reply)))

    def call(self, run: str, site: str) -> RollCallReply | None:
        """What a site said in the roll call of a run, if it did."""
        with self._open() as database:
            row = database.execute("select body from calls where run = ? and site = ?", (run, site)).fetchone()
        return None if row is None else from_bytes(row[0], RollCallReply)

    def find(self, run: str, digest: str, site: str) -> Reply | None:
        """What a site answered to a question in this run, if it did."""
        with self._open() as database:
            rows = database.execute(
                "select block, version, sums from answers where run = ? and digest = ? and site = ? order by place",
                (run, digest, site),
            ).fetchall()
        if not rows:
            return None
        blocks = tuple((label, _sums(data)) for label, _, data in rows)
        return Reply(run, digest, site, rows[0][1], blocks)

    def record_masked(self, run: str, number: int, site: str, reply: MaskedReply) -> None:
        """Keep a masked answer in a round of a run."""
        with self._open() as database:
            database.execute("insert or replace into masked values (?, ?, ?, ?)", (run, number, site, to_bytes(reply)))

    def masked(self, run: str, number: int) -> dict[str, MaskedReply]:
        """The masked answers that came in a round of a run, by site."""
        if not self.path.exists():
            return {}
        with self._open() as database:
            rows = database.execute(
                "select site, body from masked where run = ? and round = ?", (run, number)
            ).fetchall()
        return {str(site): from_bytes(body, MaskedReply) for site, body in rows}

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
            database = self.surroundings.connect(self.path, timeout=30)
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
    return sum(RecordedAnswers(path).forget(site) for path in sorted(folder.rglob(ANSWERS)))


def _sums(data: bytes | None) -> Any:
    return None if data is None else from_bytes(data, SUMS)
