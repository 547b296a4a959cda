"""What a site put into a ledger, as tables of its store: versions, receipts, and what waits to be delivered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from fedrcd.errors import ConfigError
from fedrcd.federation.database import Database
from fedrcd.federation.ledger.contribution import Contribution
from fedrcd.federation.ledger.receipts import Receipt

SCHEMA = (
    "CREATE TABLE sent (block TEXT, version INTEGER, time TEXT NOT NULL, purpose TEXT NOT NULL, "
    "rows INTEGER NOT NULL, commitment TEXT NOT NULL, edition INTEGER NOT NULL, receipt TEXT, "
    "PRIMARY KEY (block, version))",
    "CREATE TABLE outbox (block TEXT PRIMARY KEY, payload BLOB NOT NULL)",
    "CREATE TABLE withdrawn (block TEXT PRIMARY KEY, time TEXT NOT NULL, edition INTEGER NOT NULL)",
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A contribution that was made: when, why, over how many rows of which edition, and whether a receipt came back."""

    block: str
    version: int
    time: str
    purpose: str
    rows: int
    commitment: str
    edition: int
    acknowledged: bool


class SentContributions:
    """The tables in the open store of a site."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Sent]:
        """Every contribution that was ever made here."""
        query = (
            "SELECT block, version, time, purpose, rows, commitment, edition, receipt IS NOT NULL FROM sent "
            "ORDER BY 1, 2"
        )
        return [Sent(*labels, bool(filed)) for *labels, filed in self._database.rows(query)]  # type: ignore[call-arg]

    def latest(self, block: str) -> Sent | None:
        """The last one that was made for a block."""
        return next((one for one in reversed(self.all()) if one.block == block), None)

    def newest_of(self, editions: Collection[int]) -> Sent | None:
        """The last one that was made about any of some editions, whatever the block was called."""
        rows = self._database.rows("SELECT block, version, edition FROM sent ORDER BY rowid DESC")
        found = next(((block, version) for block, version, edition in rows if edition in editions), None)
        return next((one for one in self.all() if (one.block, one.version) == found), None)

    def no_longer(self, declared: Collection[str]) -> list[Sent]:
        """The last ones for blocks that are not declared any more: they have another name, or are gone."""
        names = dict.fromkeys(one.block for one in self.all() if one.block not in declared)
        latest = [self.latest(name) for name in names if not self.is_withdrawn(name)]
        return [one for one in latest if one is not None]

    def latest_version(self, block: str) -> int:
        """Its version; 0 if there is none."""
        last = self.latest(block)
        return 0 if last is None else last.version

    def record(self, contribution: Contribution, edition: int, day: date) -> None:
        """Remember a contribution before it leaves, inside `append`; it stays in the outbox until `acknowledge`."""
        block, version = contribution.block, contribution.version
        self._database.run("DELETE FROM withdrawn WHERE block = ?", block)
        self._database.run(
            "INSERT INTO sent VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
            *(block, version, day.isoformat(), contribution.purpose, contribution.rows, contribution.commitment),
            edition,
        )
        self._database.run("INSERT OR REPLACE INTO outbox VALUES (?, ?)", block, contribution.to_bytes())

    def outbox(self, block: str) -> bytes | None:
        """The bytes of a contribution that was made and not yet delivered."""
        query = "SELECT payload FROM outbox WHERE block = ?"
        return next((bytes(payload) for (payload,) in self._database.rows(query, block)), None)

    def acknowledge(self, receipt: Receipt) -> None:
        """File the receipt for a contribution; its bytes are no longer kept."""
        content = receipt.content
        query = "SELECT commitment FROM sent WHERE block = ? AND version = ?"
        known = next(self._database.rows(query, content["block"], content["version"]), None)
        if known is None or known[0] != content["commitment"]:
            raise ConfigError("the receipt is for a contribution that was not made here")
        with self._database.changes():
            where = (content["block"], content["version"])
            statement = "UPDATE sent SET receipt = ? WHERE block = ? AND version = ?"
            self._database.run(statement, receipt.to_json(), *where)
            self._drop_bytes(content["block"], content["commitment"])

    def delivered(self, block: str, commitment: str) -> None:
        """A contribution was handed over by file; its bytes are no longer kept."""
        with self._database.changes():
            self._drop_bytes(block, commitment)

    def receipts(self) -> Iterator[Receipt]:
        """All receipts that were filed."""
        for (text,) in self._database.rows("SELECT receipt FROM sent WHERE receipt IS NOT NULL"):
            yield Receipt.from_json(text)

    def is_withdrawn(self, block: str, editions: Iterable[int] = ()) -> bool:
        """Whether the site took a block out: by its name, or the rows of one of these editions by another."""
        taken = list(self._database.rows("SELECT block, edition FROM withdrawn"))
        return any(name == block or (edition and edition in set(editions)) for name, edition in taken)

    def withdraw(self, block: str, day: date) -> None:
        """Remember that the whole block was taken out."""
        last = self.latest(block)
        with self._database.changes():
            self._database.run("DELETE FROM outbox WHERE block = ?", block)
            edition = 0 if last is None else last.edition
            self._database.run("INSERT INTO withdrawn VALUES (?, ?, ?)", block, day.isoformat(), edition)

    def take_in(
        self,
        versions: Iterable[tuple[object, ...]],
        withdrawn: Iterable[tuple[object, ...]],
        outbox: Iterable[tuple[object, ...]],
    ) -> None:
        """Take over what was sent, taken out, and not yet delivered, by a store made before editions."""
        self._database.run_many("INSERT INTO outbox VALUES (?, ?)", outbox)
        self._database.run_many("INSERT INTO sent VALUES (?, ?, ?, ?, ?, ?, 0, ?)", versions)
        self._database.run_many("INSERT INTO withdrawn VALUES (?, ?, 0)", withdrawn)

    def adopt(self, block: str, edition: int) -> None:
        """The latest contribution of a block was about an edition; inside a transaction."""
        self._database.run(
            "UPDATE sent SET edition = ? WHERE block = ? AND version = (SELECT MAX(version) FROM sent WHERE block = ?)",
            *(edition, block, block),
        )

    def _drop_bytes(self, block: str, commitment: str) -> None:
        """Delete the bytes of a contribution, unless a later one waits."""
        last = self.latest(block)
        if last is not None and last.commitment == commitment:
            self._database.run("DELETE FROM outbox WHERE block = ?", block)
