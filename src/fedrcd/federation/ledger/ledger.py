"""The ledger: which contributions are in the state, what became of others, and what was computed from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

from fedrcd.errors import FedrcdError, FileError, ProtocolError
from fedrcd.federation.database import Database
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import Contribution, Statistic, check_contribution, read_contribution
from fedrcd.federation.ledger.digests import canonical, digest, keyed_digest
from fedrcd.federation.ledger.entries import (
    ERASED,
    JOINED,
    LEFT,
    OPENED,
    REPLACED,
    RESULT,
    Entry,
    broken_links,
    next_entry,
)
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.ledger.roster import Place, Roster, Standing
from fedrcd.federation.ledger.signatures import new_private_key, public_key, sign
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import from_bytes, to_bytes
from fedrcd.suggest import did_you_mean

FILE_KIND = 0x46524C31
SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE entries "
    "(number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL, signature TEXT NOT NULL)",
    "CREATE TABLE contributions "
    "(site TEXT, block TEXT, payload BLOB NOT NULL, PRIMARY KEY (site, block)) WITHOUT ROWID",
    "CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay'); END",
    "CREATE TRIGGER entries_keep BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay'); END",
)
SECRET_BYTES = 32
IDENTITY_BYTES = 8


class Ledger:
    """An open ledger; the only one on its file."""

    def __init__(self, database: Database, surroundings: Surroundings = REAL) -> None:
        """Read the entries of an open file."""
        self._database, self._surroundings = database, surroundings
        settings = read_settings(database)
        if not settings:
            raise FileError(f"the ledger {database.path} was never finished; delete it and make it anew")
        try:
            self._private, self._secret = settings["private key"], settings["secret"]
            self.configuration = from_bytes(settings["configuration"], Configuration)
        except (KeyError, FedrcdError):
            raise FileError(f"the ledger {database.path} is damaged: its settings cannot be read") from None
        self.entries = read_entries(database)
        if not self.entries:
            raise FileError(f"the ledger {database.path} is damaged: it has no entries")
        for problem in broken_links(self.entries):
            raise FileError(f"the ledger {database.path} was changed: {problem}; `fedrcd ledger verify` tells more")
        self.roster = Roster.of(self.entries)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        configuration: Configuration,
        *,
        secret: bytes | None = None,
        surroundings: Surroundings = REAL,
    ) -> Ledger:
        """A new ledger in a new file; with the `secret` of another, equal states have equal digests."""
        private, secret = new_private_key(), secret or surroundings.token_bytes(SECRET_BYTES)
        database = open_database(path, create=True, surroundings=surroundings)
        settings = {"private key": private, "secret": secret, "configuration": to_bytes(configuration)}
        content = {
            "ledger": surroundings.token_bytes(IDENTITY_BYTES).hex(),
            "time": _told(surroundings),
            "configuration": configuration.digest,
            "public_key": public_key(private),
            "secret": digest("secret", secret),
            "state": _state_digest(secret, configuration, [], {}),
        }
        with database.changes():
            for name, value in settings.items():
                database.run("INSERT INTO settings VALUES (?, ?)", name, value)
            _insert(database, next_entry(None, OPENED, content, private))
        return cls(database, surroundings)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, surroundings: Surroundings = REAL) -> Ledger:
        """The ledger in a file; `ProtocolError` if another process has it open."""
        database = open_database(path, surroundings=surroundings)
        try:
            return cls(database, surroundings)
        except FedrcdError:
            database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    @property
    def path(self) -> str:
        """Its file."""
        return str(self._database.path)

    @property
    def identity(self) -> str:
        """The name the ledger gave itself when it was opened."""
        return str(self.entries[0].content["ledger"])

    @property
    def public_key(self) -> str:
        """The key its signatures are checked with."""
        return str(self.entries[0].content["public_key"])

    @property
    def secret(self) -> bytes:
        """The key of its digests."""
        return self._secret

    @property
    def state_id(self) -> str:
        """Identifies what the contributions amount to; equal for equal sums of equal sites, under one secret."""
        return self.roster.state

    def add(self, contribution: Contribution) -> Receipt:
        """Take a contribution in, in place of the site's former one for the block if there is one.

        The former one is gone from the disk when this returns. A contribution that is already in, sent again because
        its receipt was lost, gets its receipt again.
        """
        check_contribution(contribution, self.configuration)
        place = contribution.site, contribution.block
        present = self.roster.standings.get(place)
        if present is not None and present.commitment == contribution.commitment:
            return self.receipt(present.number)
        self.roster.require_acceptable(contribution)
        kind = JOINED if present is None else ERASED if contribution.purpose == "erase" else REPLACED
        standing = Standing(
            **{name: getattr(contribution, name) for name in ("site", "block", "version", "rows", "columns", "before")},
            commitment=contribution.commitment,
            number=len(self.entries) + 1,
        )
        after = self._copied()
        after.take(standing, contribution.purpose)
        content = {name: getattr(standing, name) for name in Standing.__slots__ if name != "number"}
        return self._append(
            kind,
            {**content, "purpose": contribution.purpose},
            after,
            ("DELETE FROM contributions WHERE site = ? AND block = ?", *place),
            ("INSERT INTO contributions VALUES (?, ?, ?)", *place, contribution.to_bytes()),
        )

    def leave(self, site: str, block: str | None = None) -> list[Receipt]:
        """Take out all contributions of a site, or that for one block; they are gone from the disk afterwards."""
        receipts = []
        for place in self._places(site, block):
            after = self._copied()
            after.leave(place)
            version = self.roster.standings[place].version
            content = {"site": place[0], "block": place[1], "version": version}
            delete = ("DELETE FROM contributions WHERE site = ? AND block = ?", *place)
            receipts.append(self._append(LEFT, content, after, delete))
        return receipts

    def without(self, site: str) -> Roster:
        """The roster as it would be without a site; nothing changes."""
        after = self._copied()
        for place in self._places(site):
            after.leave(place)
        return after

    def _places(self, site: str, block: str | None = None) -> list[Place]:
        """Where a site has contributions, or one for a block; `ProtocolError` if there are none."""
        places = [place for place in sorted(self.roster.standings) if place[0] == site and block in (None, place[1])]
        if not places:
            sites = sorted({name for name, _ in self.roster.standings})
            what = f"site {site!r}" if block is None else f"block {block!r} of site {site!r}"
            raise ProtocolError(f"there is no contribution of {what} in the ledger{did_you_mean(site, sites)}")
        return places

    def record_result(self, method: str, options: dict[str, Any], text: str) -> Receipt:
        """List a result that was computed from the present state; its text is not kept."""
        content = {"method": method, "options": options, "digest": digest("result", text.encode())}
        return self._append(RESULT, content, self.roster)

    def signed(self, text: str) -> str:
        """The ledger's signature of a text."""
        return sign(self._private, text)

    def receipt(self, number: int) -> Receipt:
        """The receipt for an entry."""
        return Receipt(self.entries[number - 1], self.public_key)

    def contributions(self, roster: Roster | None = None) -> Iterator[Contribution]:
        """The contributions that make the state, one after the other, sorted by site and block."""
        for standing in (roster or self.roster).active():
            yield read_contribution(self.payload(standing.place))

    def payload(self, place: Place) -> bytes:
        """The stored bytes of a contribution; `FileError` if there are none."""
        payload = read_payload(self._database, place)
        if payload is not None:
            return payload
        raise FileError(f"the ledger {self.path} is damaged: the contribution of site {place[0]!r} is missing")

    def pooled(self, roster: Roster | None = None) -> dict[str, Statistic]:
        """Pooled sums of the state by family; empty if nobody is in it."""
        total: dict[str, Any] = {}
        for contribution in self.contributions(roster):
            for family, sums in contribution.sums.items():
                total[family] = total[family] + sums if family in total else sums
        return total

    def state_digest(self, roster: Roster | None = None) -> str:
        """The digest of the sums as they are stored now; that of the last entry unless something was changed."""
        chosen = roster or self.roster
        return _state_digest(self._secret, self.configuration, chosen.active(), self.pooled(chosen))

    def _copied(self) -> Roster:
        """The roster, to be changed."""
        now = self.roster
        return replace(now, standings=dict(now.standings), versions=dict(now.versions), waiting=dict(now.waiting))

    def _append(self, kind: str, content: dict[str, Any], after: Roster, *statements: tuple[Any, ...]) -> Receipt:
        """Change the stored contributions and write the entry that tells of it, both or neither."""
        with self._database.changes(purge=False):
            for statement, *values in statements:
                self._database.run(statement, *values)
            state = self.roster.state if kind == RESULT else self.state_digest(after)
            complete = {**content, "time": _told(self._surroundings), "state": state}
            entry = next_entry(self.entries[-1], kind, complete, self._private)
            _insert(self._database, entry)
        self.entries.append(entry)
        self.roster.follow(entry)
        self._database.purge()  # a receipt is given only when what was replaced is gone
        return self.receipt(entry.number)


def open_database(path: str | os.PathLike[str], *, create: bool = False, surroundings: Surroundings = REAL) -> Database:
    """The file of a ledger."""
    return Database(path, "ledger", FILE_KIND, SCHEMA, create=create, connect=surroundings.connect)


def read_settings(database: Database) -> dict[str, bytes]:
    """Keys and configuration as they are stored."""
    return {str(name): bytes(value) for name, value in database.rows("SELECT name, CAST(value AS BLOB) FROM settings")}


def read_entries(database: Database) -> list[Entry]:
    """All entries as they are stored; bytes that are no text show as such, so that they can be named."""
    query = (
        "SELECT number, CAST(text AS BLOB), CAST(hash AS BLOB), CAST(signature AS BLOB) FROM entries ORDER BY number"
    )
    return [
        Entry(int(number), *(bytes(part).decode(errors="replace") for part in parts))
        for number, *parts in database.rows(query)
    ]


def read_payload(database: Database, place: Place) -> bytes | None:
    """The stored bytes of a contribution, if there are any."""
    query = "SELECT CAST(payload AS BLOB) FROM contributions WHERE site = ? AND block = ?"
    return next((bytes(payload) for (payload,) in database.rows(query, *place)), None)


def _insert(database: Database, entry: Entry) -> None:
    database.run("INSERT INTO entries VALUES (?, ?, ?, ?)", entry.number, entry.text, entry.hash, entry.signature)


def _told(surroundings: Surroundings) -> str:
    return surroundings.now().isoformat(timespec="seconds")


def _state_digest(
    secret: bytes, configuration: Configuration, active: list[Standing], pooled: dict[str, Statistic]
) -> str:
    """Keyed digest of who is in the state and of the pooled sums, whatever the order and the past."""
    who = canonical([[one.site, one.block, sorted(one.columns), one.rows] for one in active])
    sums = [to_bytes(pooled[family].without_clipped()) for family in configuration.families if pooled]
    return keyed_digest(secret, "state", configuration.digest.encode(), who.encode(), *sums)
