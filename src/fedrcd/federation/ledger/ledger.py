"""The ledger: which contributions are in the state, what became of others, and what was computed from it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from fedrcd.errors import ConfigError, FedrcdError, FileError, ProtocolError
from fedrcd.federation.database import Database
from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import (
    SALT_BYTES,
    Contribution,
    SignedContribution,
    SignedWithdrawal,
    Statistic,
    check_contribution,
    labels_of,
    read_contribution,
    total_of,
)
from fedrcd.federation.ledger.entries import (
    ADMITTED,
    ERASED,
    JOINED,
    LEFT,
    OPENED,
    POOLED,
    REPLACED,
    RESULT,
    Entry,
    broken_links,
    next_entry,
)
from fedrcd.federation.ledger.heads import SignedHead
from fedrcd.federation.ledger.masked_totals import PLACE, SignedTotal, StoredTotal
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.ledger.roster import Place, Roster, Standing
from fedrcd.federation.ledger.signatures import KEY_BYTES, public_key, sign
from fedrcd.federation.messages.digests import canonical, digest, keyed_digest
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
    "CREATE TABLE heads (site TEXT PRIMARY KEY, head BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay'); END",
    "CREATE TRIGGER entries_keep BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay'); END",
)
SECRET_BYTES = 32
IDENTITY_BYTES = 8


class Ledger:
    """An open ledger; the only one on its file."""

    def __init__(self, database: Database, key: bytes | None = None, surroundings: Surroundings = REAL) -> None:
        """Read the entries of an open file; without the ledger's key nothing can be added."""
        self._database, self._private, self._surroundings = database, key, surroundings
        settings = read_settings(database)
        if not settings:
            raise FileError(f"the ledger {database.path} was never finished; delete it and make it anew")
        if "private key" in settings:
            raise FileError(
                f"the ledger {database.path} was written by an earlier version; bring it over with "
                f"`fedrcd ledger migrate {database.path}`"
            )
        try:
            self._secret = settings["secret"]
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
        admitted: Mapping[str, str],
        *,
        groups: int = 0,
        masked: bool = False,
        key: str | os.PathLike[str] | None = None,
        secret: bytes | None = None,
        surroundings: Surroundings = REAL,
    ) -> Ledger:
        """A new ledger in a new file, and its signing key in another.

        Parameters
        ----------
        path : path
            The file; `key` that of the signing key, by default with .key at its end.
        configuration : Configuration
            What all contributions have in common.
        admitted : mapping of str to str
            The sites that may contribute, with their public keys; an empty key for one that signs nothing, in trials.
        groups : int
            Hold sums of this many groups of rows of every block, so that results can be resampled.
        masked : bool
            Hold totals of masked runs alone, and no contribution of a single site.
        secret : bytes, optional
            Of another ledger: then equal states have equal digests.
        """
        private, secret = surroundings.token_bytes(KEY_BYTES), secret or surroundings.token_bytes(SECRET_BYTES)
        database = open_database(path, create=True, surroundings=surroundings)
        try:
            write_key(key_path(path, key), private)
        except FileError:
            database.close()
            Path(path).unlink()
            raise
        settings = {"secret": secret, "configuration": to_bytes(configuration)}
        content = {
            "ledger": surroundings.token_bytes(IDENTITY_BYTES).hex(),
            "time": _told(surroundings),
            "configuration": configuration.digest,
            "groups": groups,
            **({"masked": True} if masked else {}),
            "admitted": dict(admitted),
            "public_key": public_key(private),
            "secret": digest("secret", secret),
            "state": _state_digest(secret, configuration, [], {}),
        }
        with database.changes():
            for name, value in settings.items():
                database.run("INSERT INTO settings VALUES (?, ?)", name, value)
            _insert(database, next_entry(None, OPENED, content, private))
        return cls(database, private, surroundings)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        key: str | os.PathLike[str] | None = None,
        surroundings: Surroundings = REAL,
    ) -> Ledger:
        """The ledger in a file, with its signing key if that is there; `ProtocolError` if another process has it."""
        database = open_database(path, surroundings=surroundings)
        try:
            ledger = cls(database, read_key(key_path(path, key)), surroundings)
            if ledger._private is not None and public_key(ledger._private) != ledger.public_key:
                raise ConfigError(f"{key_path(path, key)} is not the key of the ledger {path}")
        except FedrcdError:
            database.close()
            raise
        return ledger

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
    def groups(self) -> int:
        """Of how many groups of rows contributions hold sums; 0 for none."""
        return int(self.entries[0].content.get("groups", 0))

    @property
    def masked(self) -> bool:
        """Whether it holds totals of masked runs, and no contributions."""
        return bool(self.entries[0].content.get("masked", False))

    @property
    def state_id(self) -> str:
        """Identifies what the contributions amount to; equal for equal sums of equal sites, under one secret."""
        return self.roster.state

    def admit(self, sites: Mapping[str, str]) -> Receipt:
        """Admit further sites, or other keys of sites that were admitted."""
        return self._append(ADMITTED, {"admitted": dict(sites)}, self.roster)

    def add(self, signed: SignedContribution) -> Receipt:
        """Take a contribution in, in place of the site's former one for the block if there is one.

        The former one is gone from the disk when this returns. A contribution that is already in, sent again because
        its receipt was lost, gets its receipt again.
        """
        self._require_contributions()
        contribution = signed.contribution
        check_contribution(contribution, self.configuration, self.groups)
        place = contribution.site, contribution.block
        present = self.roster.standings.get(place)
        if present is not None and present.commitment == contribution.commitment:
            return self.receipt(present.number)
        self.roster.require_acceptable(signed)
        kind = JOINED if present is None else ERASED if contribution.purpose == "erase" else REPLACED
        labels = labels_of(contribution)
        known = {name: labels[name] for name in Standing.__slots__ if name in labels}
        after = self._copied()
        after.take(Standing(**known, number=len(self.entries) + 1), contribution.purpose)
        return self._append(
            kind,
            {**labels, "follows": signed.follows, "signed": signed.signature},
            after,
            ("DELETE FROM contributions WHERE site = ? AND block = ?", *place),
            ("INSERT INTO contributions VALUES (?, ?, ?)", *place, contribution.to_bytes()),
        )

    def pool(self, total: SignedTotal) -> Receipt:
        """Take a total in, in place of the former one, which is gone from the disk when this returns."""
        if not self.masked:
            raise ProtocolError("the ledger holds contributions of single sites, no masked totals")
        total.check(self.configuration, self.groups, self.roster.admitted)
        stored = StoredTotal(self._surroundings.token_bytes(SALT_BYTES).hex(), total.sums)
        content = {**total.content, "commitment": stored.commitment}
        after = self._copied()
        after.pool(content, len(self.entries) + 1)
        return self._append(
            POOLED,
            content,
            after,
            ("DELETE FROM contributions",),
            ("INSERT INTO contributions VALUES (?, ?, ?)", *PLACE, stored.to_bytes()),
        )

    def withdraw(self, withdrawal: SignedWithdrawal) -> Receipt:
        """Take out what a site has in for a block, at its word."""
        self._require_contributions()
        self.roster.require_withdrawable(withdrawal)
        return self._leave((withdrawal.site, withdrawal.block), withdrawal.signature)

    def leave(self, site: str, block: str | None = None) -> list[Receipt]:
        """Take out all contributions of a site, or that for one block, without its word."""
        self._require_contributions()
        return [self._leave(place, "") for place in self._places(site, block)]

    def _leave(self, place: Place, signature: str) -> Receipt:
        """Take a contribution out; it is gone from the disk afterwards."""
        self._places(*place)
        after = self._copied()
        after.leave(place)
        version = self.roster.standings[place].version
        content = {"site": place[0], "block": place[1], "version": version, "signed": signature}
        return self._append(LEFT, content, after, ("DELETE FROM contributions WHERE site = ? AND block = ?", *place))

    def without(self, site: str) -> Roster:
        """The roster as it would be without a site; nothing changes."""
        self._require_contributions()
        after = self._copied()
        for place in self._places(site):
            after.leave(place)
        return after

    def _require_contributions(self) -> None:
        """Raise for a ledger of totals, in which nobody's sums can be told from the others'."""
        if self.masked:
            raise ProtocolError(
                f"the ledger {self.path} holds masked totals, in which no site's sums can be told from the others': "
                "sites erase their rows with `fedrcd erase` and no ledger, and `fedrcd coordinator refresh` has all "
                "of them answer anew; without a site, when that is missing and the others agree"
            )

    def _places(self, site: str, block: str | None = None) -> list[Place]:
        """Where a site has contributions, or one for a block; `ProtocolError` if there are none."""
        places = [place for place in sorted(self.roster.standings) if place[0] == site and block in (None, place[1])]
        if not places:
            sites = sorted({name for name, _ in self.roster.standings})
            what = f"site {site!r}" if block is None else f"block {block!r} of site {site!r}"
            raise ProtocolError(f"there is no contribution of {what} in the ledger{did_you_mean(site, sites)}")
        return places

    def heads(self) -> list[SignedHead]:
        """What every site was last seen to have seen of this ledger, signed by it."""
        rows = self._database.rows("SELECT head FROM heads ORDER BY site")
        return [from_bytes(bytes(head), SignedHead) for (head,) in rows]

    def note_head(self, head: SignedHead) -> None:
        """Keep what a site has seen, to show it to the others."""
        if head.ledger == self.identity and head.is_by(self.roster.admitted.get(head.site, "")):
            with self._database.changes():
                self._database.run("INSERT OR REPLACE INTO heads VALUES (?, ?)", head.site, to_bytes(head))

    def record_result(self, method: str, options: dict[str, Any], text: str) -> Receipt:
        """List a result that was computed from the present state; its text is not kept."""
        content = {"method": method, "options": options, "digest": digest("result", text.encode())}
        return self._append(RESULT, content, self.roster)

    def signed(self, text: str) -> str:
        """The ledger's signature of a text."""
        return sign(self._key(), text)

    def _key(self) -> bytes:
        """The signing key, which lies outside of the file."""
        if self._private is None:
            raise ConfigError(f"the signing key of the ledger {self.path} is not here; give it with --ledger-key")
        return self._private

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
        raise FileError(f"the ledger {self.path} is damaged: {record_of(place)} is missing")

    def pooled(self, roster: Roster | None = None) -> dict[str, Statistic]:
        """Pooled sums of the state by family; empty if nobody is in it."""
        total: dict[str, Any] = {}
        if self.masked:
            return dict(StoredTotal.of(self.payload(PLACE)).sums) if (roster or self.roster).standings else total
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
        return replace(
            now,
            standings=dict(now.standings),
            versions=dict(now.versions),
            waiting=dict(now.waiting),
            editions=dict(now.editions),
            admitted=dict(now.admitted),
        )

    def _append(self, kind: str, content: dict[str, Any], after: Roster, *statements: tuple[Any, ...]) -> Receipt:
        """Change the stored contributions and write the entry that tells of it, both or neither."""
        with self._database.changes(purge=False):
            for statement, *values in statements:
                self._database.run(statement, *values)
            state = self.roster.state if kind in (RESULT, ADMITTED) else self.state_digest(after)
            complete = {**content, "time": _told(self._surroundings), "state": state}
            entry = next_entry(self.entries[-1], kind, complete, self._key())
            _insert(self._database, entry)
        self.entries.append(entry)
        self.roster.follow(entry)
        self._database.purge()  # a receipt is given only when what was replaced is gone
        return self.receipt(entry.number)


def key_path(path: str | os.PathLike[str], key: str | os.PathLike[str] | None) -> Path:
    """Where the signing key of a ledger lies: beside it, unless something else is said."""
    return Path(key) if key is not None else Path(f"{os.fspath(path)}.key")


def write_key(path: Path, private: bytes) -> None:
    """Write a signing key into a new file that only its owner can read."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(private.hex() + "\n")
    except OSError as problem:
        raise FileError(f"cannot write the ledger's key {path}: {problem.strerror}") from None


def read_key(path: Path) -> bytes | None:
    """The signing key in a file; None if there is none."""
    try:
        return bytes.fromhex(path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise FileError(f"cannot read the ledger's key {path}") from None


def take_key_out(path: str | os.PathLike[str], key: Path) -> None:
    """Move the signing key of a ledger of an earlier version out of its file."""
    with open_database(path) as database:
        private = read_settings(database).get("private key")
        if private is None:
            raise FileError(f"{path} was not written by an earlier version: its signing key is not in it")
        write_key(key, private)
        with database.changes():
            database.run("DELETE FROM settings WHERE name = 'private key'")
            for statement in SCHEMA:
                if "TABLE heads" in statement:
                    database.run(statement)


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


def record_of(place: Place) -> str:
    """What is stored at a place, in words."""
    return "the total" if place == PLACE else f"contribution of site {place[0]!r} for block {place[1]!r}"


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
    totals = [total_of(pooled[family]) for family in configuration.families if pooled]
    sums = [to_bytes(total.without_clipped()) for total in totals]
    return keyed_digest(secret, "state", configuration.digest.encode(), who.encode(), *sums)
