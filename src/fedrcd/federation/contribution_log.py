"""A site's own record of what it sent: so that it can replace it, and keep erased rows out for good.

It never leaves the site. Rows are remembered by keyed marks of their identifiers; of their values there is a mark only
while they are in the latest contribution, to see whether something changed. The key is in the file: guard it like the
table itself.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import compress
from pathlib import Path
from typing import Self

from fedrcd.data.site_rows import BlockRows
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.contribution import Contribution
from fedrcd.federation.database import Database
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.typing import BoolMatrix

FILE_KIND = 0x46524331
SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE versions (block TEXT, version INTEGER, time TEXT NOT NULL, purpose TEXT NOT NULL, "
    "rows INTEGER NOT NULL, commitment TEXT NOT NULL, toggled BLOB NOT NULL, receipt TEXT, "
    "PRIMARY KEY (block, version))",
    "CREATE TABLE present (block TEXT PRIMARY KEY, ids BLOB NOT NULL, marks BLOB NOT NULL)",
    "CREATE TABLE struck (block TEXT, mark BLOB, reason TEXT NOT NULL, due TEXT NOT NULL, version INTEGER, "
    "PRIMARY KEY (block, mark))",
    "CREATE TABLE outbox (block TEXT PRIMARY KEY, payload BLOB NOT NULL)",
    "CREATE TABLE withdrawn (block TEXT PRIMARY KEY, time TEXT NOT NULL)",
)
MARK_BYTES = 16

Mark = bytes


@dataclass(frozen=True, slots=True)
class Marks:
    """Rows of one block, known by keyed marks: of identifiers, and of identifiers with values."""

    ids: tuple[Mark, ...]
    """Empty where rows have no identifiers."""
    rows: tuple[Mark, ...]

    def keep(self, kept: BoolMatrix) -> Marks:
        """The marks of some of the rows."""
        return Marks(tuple(compress(self.ids, kept)), tuple(compress(self.rows, kept)))

    def changed(self, other: Marks) -> int:
        """Rows that are in one but not, or not with the same values, in the other."""
        mine, theirs = Counter(self.rows), Counter(other.rows)
        return (mine - theirs).total() + (theirs - mine).total()


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


class ContributionLog:
    """The open log of one site."""

    def __init__(self, path: str | os.PathLike[str], site: str) -> None:
        """Open the log of a site; a new one is made if there is none."""
        is_new = not Path(path).exists()
        self._database = Database(path, "contribution log", FILE_KIND, SCHEMA, create=is_new)
        if is_new:
            with self._database.changes():
                for name, value in (("site", site.encode()), ("key", secrets.token_bytes(32))):
                    self._database.run("INSERT INTO settings VALUES (?, ?)", name, value)
        settings = dict(self._database.rows("SELECT name, value FROM settings"))
        if settings.keys() != {"site", "key"}:
            self._database.close()
            raise FileError(f"the contribution log {path} was never finished; delete it and begin anew")
        self._key: bytes = settings["key"]
        if settings["site"].decode() != site:
            self._database.close()
            raise ConfigError(f"{path} is the log of site {settings['site'].decode()!r}, not of {site!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    @property
    def path(self) -> Path:
        """Its file."""
        return self._database.path

    def mark(self, block: str, row: str) -> Mark:
        """The keyed mark of an identifier."""
        return self._mark(b"id", block.encode(), row.encode())

    def marks(self, block: str, rows: BlockRows) -> Marks:
        """The keyed marks of rows, in their order."""
        values = [memoryview(one).cast("B") for one in rows.values]
        if rows.ids is None:
            return Marks((), tuple(self._mark(b"row", block.encode(), one) for one in values))
        ids = self.id_marks(block, rows)
        return Marks(ids, tuple(self._mark(b"row", mark, one) for mark, one in zip(ids, values, strict=True)))

    def id_marks(self, block: str, rows: BlockRows) -> tuple[Mark, ...]:
        """The keyed marks of the identifiers of rows, in their order."""
        return tuple(self.mark(block, one) for one in rows.ids or ())

    def _mark(self, *parts: bytes | memoryview) -> Mark:
        framed = b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "little"), part)])
        return hashlib.blake2b(framed, key=self._key, digest_size=MARK_BYTES).digest()

    def sent(self) -> list[Sent]:
        """Everything that was ever made here."""
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
            return Marks(tuple(_split(ids)), tuple(_split(marks)))
        return None

    def toggled(self, block: str) -> list[frozenset[Mark]]:
        """By version, latest first, which identifiers came or went with it."""
        query = "SELECT toggled FROM versions WHERE block = ? ORDER BY version DESC"
        return [frozenset(_split(blob)) for (blob,) in self._database.rows(query, block)]

    def struck(self, block: str) -> set[Mark]:
        """Identifiers that take no part any more, pending ones too."""
        return {bytes(mark) for (mark,) in self._database.rows("SELECT mark FROM struck WHERE block = ?", block)}

    def pending(self, block: str) -> dict[Mark, date]:
        """Erasures that are in no contribution yet, with their latest dates."""
        query = "SELECT mark, due FROM struck WHERE block = ? AND version IS NULL"
        return {bytes(mark): date.fromisoformat(due) for mark, due in self._database.rows(query, block)}

    def is_withdrawn(self, block: str) -> bool:
        """Whether the site took the whole block out."""
        return any(True for _ in self._database.rows("SELECT 1 FROM withdrawn WHERE block = ?", block))

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

    def record(
        self, contribution: Contribution, marks: Marks, toggled: Iterable[Mark], withheld: Collection[Mark], day: date
    ) -> None:
        """Remember a contribution before it leaves; it stays in the outbox until `acknowledge`."""
        block, version = contribution.block, contribution.version
        with self._database.changes():
            self._database.run("DELETE FROM withdrawn WHERE block = ?", block)
            self._strike(block, withheld, "withheld", day, version)
            self._database.run("UPDATE struck SET version = ? WHERE block = ? AND version IS NULL", version, block)
            self._database.run(
                "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
                *(block, version, day.isoformat(), contribution.purpose, contribution.rows, contribution.commitment),
                _joined(toggled),
            )
            self._forget(block)
            ids, rows = _joined(marks.ids), _joined(marks.rows)
            self._database.run("INSERT INTO present VALUES (?, ?, ?)", block, ids, rows)
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

    def _drop_bytes(self, block: str, commitment: str) -> None:
        """Delete the bytes of a contribution, unless a later one waits."""
        query = "SELECT commitment FROM versions WHERE block = ? ORDER BY version DESC LIMIT 1"
        if next(self._database.rows(query, block))[0] == commitment:
            self._database.run("DELETE FROM outbox WHERE block = ?", block)

    def receipts(self) -> Iterator[Receipt]:
        """All receipts that were filed."""
        for (text,) in self._database.rows("SELECT receipt FROM versions WHERE receipt IS NOT NULL"):
            yield Receipt.from_json(text)

    def _strike(self, block: str, marks: Collection[Mark], reason: str, due: date, version: int | None) -> None:
        for mark in marks:
            values = (block, mark, reason, due.isoformat(), version)
            self._database.run("INSERT INTO struck VALUES (?, ?, ?, ?, ?)", *values)

    def _forget(self, block: str) -> None:
        self._database.run("DELETE FROM present WHERE block = ?", block)
        self._database.run("DELETE FROM outbox WHERE block = ?", block)


def _joined(marks: Iterable[Mark]) -> bytes:
    return b"".join(sorted(marks))


def _split(blob: bytes) -> list[Mark]:
    return [bytes(blob[k : k + MARK_BYTES]) for k in range(0, len(blob), MARK_BYTES)]
