"""All that a site remembers, in one file: what it was asked and what left, which rows were erased, its secrets.

It never leaves the site. Rows are remembered by keyed marks; of their values there is a mark only while they are in the
latest contribution, to see whether something changed. The keys are in the file: guard it like the table itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.database import WAIT_SECONDS, Closing, Database
from fedrcd.federation.ledger.contribution import Contribution
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.site.log import START, LogEntry, chained, parsed
from fedrcd.federation.site.marks import Mark, Marker, Marks, joined, split
from fedrcd.federation.surroundings import REAL, Surroundings

FILE = "site.db"
"""Its name in the folder of a site."""

OLD_FILES = ("log.jsonl", "secret", "approvals")
"""What the first release kept in that folder instead."""

FILE_KIND = 0x46525331
SECRET_BYTES = 32
SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE log (number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE approvals (digest TEXT PRIMARY KEY, text TEXT NOT NULL)",
    "CREATE TABLE versions (block TEXT, version INTEGER, time TEXT NOT NULL, purpose TEXT NOT NULL, "
    "rows INTEGER NOT NULL, commitment TEXT NOT NULL, toggled BLOB NOT NULL, receipt TEXT, "
    "PRIMARY KEY (block, version))",
    "CREATE TABLE present (block TEXT PRIMARY KEY, ids BLOB NOT NULL, marks BLOB NOT NULL)",
    "CREATE TABLE struck (block TEXT, mark BLOB, reason TEXT NOT NULL, due TEXT NOT NULL, version INTEGER, "
    "PRIMARY KEY (block, mark))",
    "CREATE TABLE outbox (block TEXT PRIMARY KEY, payload BLOB NOT NULL)",
    "CREATE TABLE withdrawn (block TEXT PRIMARY KEY, time TEXT NOT NULL)",
    "CREATE TRIGGER log_stays BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log stays'); END",
    "CREATE TRIGGER log_keeps BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log stays'); END",
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A contribution that was made: when, why, over how many rows, and whether a receipt came back."""

    block: str
    version: int
    time: str
    purpose: str
    rows: int
    commitment: str
    acknowledged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A question whose answer waits for a person: what it is, and how much would leave."""

    digest: str
    time: str
    run: str
    round: int
    question: str
    numbers: int
    numbers_per_row: float
    version: str = ""
    """Of the rows that it would be about."""
    decision: str = ""
    """Empty, "approved" or "refused"."""


class Store(Closing):
    """The open store of one site; nobody else can open it meanwhile."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        site: str,
        surroundings: Surroundings = REAL,
        *,
        wait: float = WAIT_SECONDS,
    ) -> None:
        """Open the store in the folder of a site; a new one is made if there is none."""
        path = Path(folder) / FILE
        is_new = not path.exists()
        if is_new:
            _require_nothing_old(Path(folder), site)
            _make_folder(Path(folder))
        self.surroundings = surroundings
        self._database = Database(
            path, "store of a site", FILE_KIND, SCHEMA, create=is_new, connect=surroundings.connect, wait=wait
        )
        if is_new:
            values = {"site": site.encode()}
            values |= {name: surroundings.token_bytes(SECRET_BYTES) for name in ("secret", "key")}
            with self._database.changes():
                for name, value in values.items():
                    self._database.run("INSERT INTO settings VALUES (?, ?)", name, value)
        settings = {str(name): bytes(value) for name, value in self._database.rows("SELECT name, value FROM settings")}
        if settings.keys() != {"site", "secret", "key"}:
            self.close()
            raise FileError(f"the store {path} was never finished; delete it and begin anew")
        self.secret, self.marker = settings["secret"], Marker(settings["key"])
        if settings["site"].decode() != site:
            self.close()
            raise ConfigError(f"{path} is the store of site {settings['site'].decode()!r}, not of {site!r}")

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @property
    def path(self) -> Path:
        """Its file."""
        return self._database.path

    def now(self) -> str:
        """The time as the log writes it."""
        return self.surroundings.now().isoformat(timespec="milliseconds")

    # what was asked, and what left

    def lines(self) -> list[str]:
        """The log as it is kept, a line of JSON an entry."""
        return [str(text) for (text,) in self._database.rows("SELECT text FROM log ORDER BY number")]

    def entries(self) -> list[LogEntry]:
        """All entries of the log, in order; `FileError` if one was changed or taken out."""
        return parsed(self.lines(), str(self.path))

    def append(self, entries: Iterable[LogEntry], also: Callable[[], None] | None = None) -> None:
        """Add entries to the log, on the disk before this returns; `also` is done with them, or not at all."""
        with self._database.changes():
            query = "SELECT hash FROM log ORDER BY number DESC LIMIT 1"
            before = next((str(last) for (last,) in self._database.rows(query)), START)
            for line in chained(entries, before):
                self._database.run("INSERT INTO log (text, hash) VALUES (?, ?)", *line)
            if also:
                also()

    # answers that wait for a person

    def decision(self, digest: str, version: str) -> str | None:
        """What was decided on a question about these rows; None for one that was never held."""
        known = (digest, version)
        return next((one.decision for one in self.held() if (one.digest, one.version) == known), None)

    def hold(self, pending: Pending) -> None:
        """Keep a question until a person decides."""
        with self._database.changes():
            text = json.dumps(asdict(pending))
            self._database.run("INSERT OR REPLACE INTO approvals VALUES (?, ?)", pending.digest, text)

    def held(self) -> list[Pending]:
        """All questions that were ever held, oldest first."""
        rows = self._database.rows("SELECT text FROM approvals")
        return sorted((Pending(**json.loads(text)) for (text,) in rows), key=lambda one: one.time)

    def decide(self, begins: str, decision: str) -> Pending:
        """Write what a person said of the one waiting question whose digest begins so."""
        waiting = [one for one in self.held() if not one.decision]
        chosen = [one for one in waiting if one.digest.startswith(begins)]
        if len(chosen) != 1:
            known = ", ".join(one.digest[:SHORT] for one in waiting) or "none"
            raise ConfigError(f"no single waiting answer begins with {begins!r}; waiting: {known}")
        decided = replace(chosen[0], decision=decision)
        self.hold(decided)
        return decided

    # rows that were erased

    def struck(self, block: str) -> set[Mark]:
        """Identifiers that are to take no part any more, those that wait too."""
        return {bytes(mark) for (mark,) in self._database.rows("SELECT mark FROM struck WHERE block = ?", block)}

    def gone(self, block: str) -> set[Mark]:
        """Identifiers that take no part at any door: their erasure was carried out."""
        query = "SELECT mark FROM struck WHERE block = ? AND version IS NOT NULL"
        return {bytes(mark) for (mark,) in self._database.rows(query, block)}

    def pending(self, block: str) -> dict[Mark, date]:
        """Erasures that are in no contribution yet, with their latest dates."""
        query = "SELECT mark, due FROM struck WHERE block = ? AND version IS NULL"
        return {bytes(mark): date.fromisoformat(due) for mark, due in self._database.rows(query, block)}

    def settle(self, block: str) -> None:
        """Take pending erasures for done: none of their rows was ever sent, or none is in the latest contribution."""
        if self.pending(block):
            latest = self.latest_version(block)
            with self._database.changes():
                self._database.run("UPDATE struck SET version = ? WHERE block = ? AND version IS NULL", latest, block)

    def strike(self, rows: Mapping[str, Collection[Mark]], due: date) -> None:
        """Remember rows to be erased, by block."""
        with self._database.changes():
            for block, marks in rows.items():
                self._strike(block, marks, "erased", due, None)

    def has_struck(self) -> bool:
        """Whether rows of any block were ever to be erased."""
        return any(True for _ in self._database.rows("SELECT 1 FROM struck LIMIT 1"))

    # contributions

    def take_in(self, key: bytes, tables: Mapping[str, Iterable[tuple[object, ...]]]) -> None:
        """Take over the key and the tables of contributions that were remembered elsewhere."""
        with self._database.changes():
            self._database.run("UPDATE settings SET value = ? WHERE name = 'key'", key)
            for table, rows in tables.items():
                for row in rows:
                    self._database.run(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)
        self.marker = Marker(key)

    def sent(self) -> list[Sent]:
        """Every contribution that was ever made here."""
        query = (
            "SELECT block, version, time, purpose, rows, commitment, receipt IS NOT NULL FROM versions ORDER BY 1, 2"
        )
        return [Sent(*labels, bool(filed)) for *labels, filed in self._database.rows(query)]  # type: ignore[call-arg]

    def latest_version(self, block: str) -> int:
        """The last version that was made; 0 if none was."""
        query = "SELECT COALESCE(MAX(version), 0) FROM versions WHERE block = ?"
        return int(next(self._database.rows(query, block))[0])

    def present(self, block: str) -> Marks | None:
        """The rows of the latest contribution, if there is one; in no order."""
        for ids, marks in self._database.rows("SELECT ids, marks FROM present WHERE block = ?", block):
            return Marks(tuple(split(ids)), tuple(split(marks)))
        return None

    def toggled(self, block: str) -> list[frozenset[Mark]]:
        """By version, latest first, which identifiers came or went with it."""
        query = "SELECT toggled FROM versions WHERE block = ? ORDER BY version DESC"
        return [frozenset(split(blob)) for (blob,) in self._database.rows(query, block)]

    def is_withdrawn(self, block: str) -> bool:
        """Whether the site took the whole block out."""
        return any(True for _ in self._database.rows("SELECT 1 FROM withdrawn WHERE block = ?", block))

    def record(
        self, contribution: Contribution, marks: Marks, toggled: Iterable[Mark], withheld: Collection[Mark], day: date
    ) -> None:
        """Remember a contribution before it leaves, inside `append`; it stays in the outbox until `acknowledge`."""
        block, version = contribution.block, contribution.version
        self._database.run("DELETE FROM withdrawn WHERE block = ?", block)
        self._strike(block, withheld, "withheld", day, version)
        self._database.run("UPDATE struck SET version = ? WHERE block = ? AND version IS NULL", version, block)
        self._database.run(
            "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
            *(block, version, day.isoformat(), contribution.purpose, contribution.rows, contribution.commitment),
            joined(toggled),
        )
        self._forget(block)
        self._database.run("INSERT INTO present VALUES (?, ?, ?)", block, joined(marks.ids), joined(marks.rows))
        self._database.run("INSERT INTO outbox VALUES (?, ?)", block, contribution.to_bytes())

    def withdraw(self, block: str, day: date) -> None:
        """Remember that the whole block was taken out; and who was in it, should it come back."""
        with self._database.changes():
            self._database.run("DELETE FROM outbox WHERE block = ?", block)
            self._database.run("UPDATE present SET marks = x'' WHERE block = ? AND ids <> x''", block)
            self._database.run("INSERT INTO withdrawn VALUES (?, ?)", block, day.isoformat())

    def outbox(self, block: str) -> bytes | None:
        """The bytes of a contribution that was made and not yet delivered."""
        query = "SELECT payload FROM outbox WHERE block = ?"
        return next((bytes(payload) for (payload,) in self._database.rows(query, block)), None)

    def acknowledge(self, receipt: Receipt) -> None:
        """File the receipt for a contribution; its bytes are no longer kept."""
        content = receipt.content
        query = "SELECT commitment FROM versions WHERE block = ? AND version = ?"
        known = next(self._database.rows(query, content["block"], content["version"]), None)
        if known is None or known[0] != content["commitment"]:
            raise ConfigError("the receipt is for a contribution that was not made here")
        with self._database.changes():
            where = (content["block"], content["version"])
            statement = "UPDATE versions SET receipt = ? WHERE block = ? AND version = ?"
            self._database.run(statement, receipt.to_json(), *where)
            self._drop_bytes(content["block"], content["commitment"])

    def delivered(self, block: str, commitment: str) -> None:
        """A contribution was handed over by file; its bytes are no longer kept."""
        with self._database.changes():
            self._drop_bytes(block, commitment)

    def receipts(self) -> Iterator[Receipt]:
        """All receipts that were filed."""
        for (text,) in self._database.rows("SELECT receipt FROM versions WHERE receipt IS NOT NULL"):
            yield Receipt.from_json(text)

    def _drop_bytes(self, block: str, commitment: str) -> None:
        """Delete the bytes of a contribution, unless a later one waits."""
        query = "SELECT commitment FROM versions WHERE block = ? ORDER BY version DESC LIMIT 1"
        if next(self._database.rows(query, block))[0] == commitment:
            self._database.run("DELETE FROM outbox WHERE block = ?", block)

    def _strike(self, block: str, marks: Collection[Mark], reason: str, due: date, version: int | None) -> None:
        for mark in marks:
            values = (block, mark, reason, due.isoformat(), version)
            self._database.run("INSERT INTO struck VALUES (?, ?, ?, ?, ?)", *values)

    def _forget(self, block: str) -> None:
        self._database.run("DELETE FROM present WHERE block = ?", block)
        self._database.run("DELETE FROM outbox WHERE block = ?", block)


SHORT = 12
"""Characters of a digest by which people name a question."""


def owner_of(folder: Path) -> str:
    """The name of the site whose store is in a folder; empty if there is none yet."""
    if not (folder / FILE).is_file():
        _require_nothing_old(folder, "NAME")
        return ""
    with Database(folder / FILE, "store of a site", FILE_KIND, SCHEMA, create=False) as database:
        names = [bytes(value).decode() for (value,) in database.rows("SELECT value FROM settings WHERE name = 'site'")]
    return names[0] if names else ""


def _require_nothing_old(folder: Path, site: str) -> None:
    """Raise if a folder holds what the first release kept there."""
    if any((folder / name).exists() for name in OLD_FILES):
        raise FileError(
            f"{folder} was written by an earlier version; bring it over with "
            f"`fedrcd site migrate --name {site} --state {folder}`"
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise FileError(f"cannot make the folder {folder}: {problem.strerror}") from None
