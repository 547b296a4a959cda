"""Ledgers as a site knows them: their keys, and the chain of entries that it has seen, so that no other can be shown.

A ledger is pinned when it is first met: its public key stays, and every later look must continue the chain. One that
was rolled back or rewritten does not; one that shows different chains to different sites is found when sites compare
what they have seen, which each signs for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fedrcd.errors import ProtocolError
from fedrcd.federation.database import Database
from fedrcd.federation.ledger.entries import OPENED, POOLED, START, Entry, bad_signatures, broken_from
from fedrcd.federation.ledger.heads import Head, SignedHead
from fedrcd.federation.ledger.receipts import Receipt

SCHEMA = (
    "CREATE TABLE ledgers (identity TEXT PRIMARY KEY, public_key TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE ledger_chain (identity TEXT, number INTEGER, hash TEXT NOT NULL, site TEXT NOT NULL, "
    "PRIMARY KEY (identity, number)) WITHOUT ROWID",
)


IDENTITY = re.compile("[0-9a-f]{16}")
"""How ledgers name themselves; files are called after them."""


BETWEEN = "\n"
"""Between the names of sites that were all in an entry."""


def _by(entry: Entry) -> str:
    """Whose sums came with an entry."""
    return BETWEEN.join(entry.content["editions"]) if entry.kind == POOLED else str(entry.content.get("site", ""))


class KnownLedgers:
    """The tables in the open store of a site."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def head(self, identity: str) -> Head | None:
        """The last entry of a ledger that was seen here."""
        query = "SELECT number, hash FROM ledger_chain WHERE identity = ? ORDER BY number DESC LIMIT 1"
        return next((Head(int(number), str(text)) for number, text in self._database.rows(query, identity)), None)

    def identities(self) -> list[str]:
        """All ledgers that were ever met."""
        return [str(one) for (one,) in self._database.rows("SELECT identity FROM ledgers ORDER BY 1")]

    def follow(self, entries: Sequence[Entry], public_key: str, called: str = "") -> Head:
        """Take over entries of a ledger, from the first or from any that is known here; the head afterwards.

        `called` is what whoever shows them calls the ledger.

        Raises
        ------
        ProtocolError
            When they do not continue what was seen before: the ledger was rolled back, rewritten, or is another.
        """
        if not entries:
            raise ProtocolError("the ledger shows no entries")
        identity = self._identity(entries, public_key)
        if called and called != identity:
            raise ProtocolError(f"the entries are of the ledger {identity}, and another one was named")
        head = self.head(identity)
        if head is not None and entries[-1].number < head.number:
            raise ProtocolError(
                f"the ledger {identity} ends at entry {entries[-1].number}, and entry {head.number} was seen here "
                "before: it was rolled back; keep your receipts and ask its coordinator"
            )
        before = self._hash(identity, entries[0].number - 1)
        if before is None:
            raise ProtocolError(
                f"entries of the ledger {identity} before number {entries[0].number} were never shown here"
            )
        problems = [*broken_from(entries, entries[0].number, before), *bad_signatures(entries, public_key)]
        for problem in problems:
            raise ProtocolError(f"the ledger {identity} does not continue what was seen here before: {problem}")
        for entry in entries:
            known = self._hash(identity, entry.number)
            if known not in (None, entry.hash):
                raise ProtocolError(
                    f"entry {entry.number} of the ledger {identity} is not the one that was seen here before: it was "
                    "rewritten, or others are shown another; keep your receipts and ask its coordinator"
                )
        if head is not None and head.number == entries[-1].number:
            return head
        with self._database.changes():
            self._database.run("INSERT OR IGNORE INTO ledgers VALUES (?, ?)", identity, public_key)
            rows = ((identity, entry.number, entry.hash, _by(entry)) for entry in entries)
            self._database.run_many("INSERT OR IGNORE INTO ledger_chain VALUES (?, ?, ?, ?)", rows)
        last = self.head(identity)
        assert last is not None
        return last

    def require_acknowledged(self, receipt: Receipt) -> None:
        """Raise unless a receipt is genuine, by a ledger that is pinned here, and for an entry that was seen."""
        receipt.require_genuine()
        query = "SELECT identity FROM ledgers WHERE public_key = ?"
        known = [str(one) for (one,) in self._database.rows(query, receipt.public_key)]
        if not any(self._hash(identity, receipt.entry.number) == receipt.entry.hash for identity in known):
            raise ProtocolError(
                f"the receipt for entry {receipt.entry.number} is not of a ledger whose entries were seen here"
            )

    def require_seen(self, identity: str, number: int, text: str) -> None:
        """Raise unless an entry of a ledger, by its number and hash, was seen here."""
        if self._hash(identity, number) != text:
            raise ProtocolError(f"entry {number} of the ledger {identity} is not one that was seen here")

    def holds(self, identity: str, entry: Entry) -> bool:
        """Whether an entry is one of a ledger as it was seen here."""
        return self._hash(identity, entry.number) == entry.hash

    def compare(self, other: SignedHead, public: str) -> None:
        """Raise if what another site has seen of a ledger contradicts what was seen here."""
        if not other.is_by(public):
            raise ProtocolError(f"what site {other.site!r} has seen of the ledger is not signed with its key")
        mine = self._hash(other.ledger, other.number)
        if mine != other.hash:
            what = "no such entry was shown here" if mine is None else "another was shown here"
            raise ProtocolError(
                f"site {other.site!r} was shown entry {other.number} of the ledger {other.ledger}, and {what}: the "
                "ledger was forked or rolled back; keep your receipts and ask its coordinator"
            )

    def require_shown(self, identity: str, heads: Iterable[SignedHead], before: int, but: str) -> None:
        """Raise if what a site has seen since it contributed is kept back; `before` is the head of before the news."""
        seen = {head.site: head.number for head in heads}
        query = (
            "SELECT site, MAX(number) FROM ledger_chain WHERE identity = ? AND number <= ? AND site <> '' GROUP BY site"
        )
        for names, number in self._database.rows(query, identity, before):
            for site in str(names).split(BETWEEN):
                if site != but and seen.get(site, 0) < number:
                    raise ProtocolError(f"what site {site!r} has seen of the ledger since it contributed is not shown")

    def _identity(self, entries: Sequence[Entry], public_key: str) -> str:
        """Which ledger it is: named by its first entry, or by its key if it is known."""
        query = "SELECT identity FROM ledgers WHERE public_key = ?"
        known = [str(one) for (one,) in self._database.rows(query, public_key)]
        if entries[0].kind == OPENED:
            identity = str(entries[0].content["ledger"])
            if not IDENTITY.fullmatch(identity):
                raise ProtocolError("the ledger has a name that no ledger gives itself")
            query = "SELECT public_key FROM ledgers WHERE identity = ?"
            pinned = [str(key) for (key,) in self._database.rows(query, identity)]
            if entries[0].content["public_key"] != public_key or (pinned and pinned != [public_key]):
                raise ProtocolError(f"the ledger {identity} comes with another key than it had before")
            return identity
        if not known:
            raise ProtocolError("the ledger is not known here, and its first entry was not shown")
        return known[0]

    def _hash(self, identity: str, number: int) -> str | None:
        if number == 0:
            return START
        query = "SELECT hash FROM ledger_chain WHERE identity = ? AND number = ?"
        return next((str(one) for (one,) in self._database.rows(query, identity, number)), None)
