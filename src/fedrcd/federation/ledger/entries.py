"""Entries of the ledger and the chain that ties each to all before it.

The text of an entry is canonical JSON. Its hash covers the hash of the entry before, so no entry can be changed, taken
out or put in without changing all later hashes; each hash is signed. No entry holds a moment, a difference of sums or
anything about single rows. A ledger of masked totals has an entry "pooled" for each of them, and none of contributions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fedrcd.federation.ledger.signatures import is_signed, sign
from fedrcd.federation.messages.digests import canonical, digest

FORMAT = "fedrcd-ledger/1"
START = "0" * 64
"""What the first entry follows."""

OPENED, ADMITTED, JOINED, REPLACED, ERASED, LEFT, RESULT, POOLED = (
    *("opened", "admitted"),
    *("joined", "replaced", "erased", "left", "result", "pooled"),
)
KINDS = (OPENED, ADMITTED, JOINED, REPLACED, ERASED, LEFT, RESULT, POOLED)
CONTRIBUTIONS = (JOINED, REPLACED, ERASED)
"""Kinds of entry that a contribution comes with."""


@dataclass(frozen=True, eq=True)
class Entry:
    """One entry as it is stored: its number, its text, its hash and the signature of that."""

    number: int
    text: str
    hash: str
    signature: str

    @cached_property
    def content(self) -> dict[str, Any]:
        """What the text says."""
        content: dict[str, Any] = json.loads(self.text)
        return content

    @property
    def kind(self) -> str:
        """What happened."""
        return str(self.content["kind"])

    @property
    def state(self) -> str:
        """The state after it."""
        return str(self.content["state"])


class Problem(NamedTuple):
    """What is wrong, and with which record."""

    record: str
    problem: str

    def __str__(self) -> str:
        return f"{self.record}: {self.problem}"


def next_entry(last: Entry | None, kind: str, content: dict[str, Any], private: bytes) -> Entry:
    """The entry that follows another, signed."""
    number, previous = (1, START) if last is None else (last.number + 1, last.hash)
    text = canonical({"format": FORMAT, "number": number, "kind": kind, "previous": previous, **content})
    hashed = digest("entry", text.encode())
    return Entry(number, text, hashed, sign(private, hashed))


def broken_links(entries: Iterable[Entry]) -> Iterator[Problem]:
    """Entries that are not what was written, by their hashes alone."""
    return broken_from(entries, 1, START)


def broken_from(entries: Iterable[Entry], first: int, before: str | None) -> Iterator[Problem]:
    """The same from some entry on; `before` is the hash of the one before it, None if that is not known."""
    previous, sound = before, before is not None
    for place, entry in enumerate(entries, first):
        problem = _problem(entry, place) or (_misfit(entry, previous) if sound else "")
        if problem:
            yield Problem(f"entry {place}", problem)
        previous, sound = entry.hash, not problem


def bad_signatures(entries: Iterable[Entry], public: str) -> Iterator[Problem]:
    """Entries whose signature is not that of the ledger's key."""
    for entry in entries:
        if not is_signed(public, entry.hash, entry.signature):
            yield Problem(f"entry {entry.number}", "its signature is not that of the ledger's key")


def _problem(entry: Entry, place: int) -> str:
    """What is wrong with an entry by itself."""
    if entry.number != place:
        return f"it has number {entry.number}: an entry was taken out or put in"
    if digest("entry", entry.text.encode()) != entry.hash:
        return "its text is not the one its hash was made of: it was changed"
    return ""


def _misfit(entry: Entry, previous: str | None) -> str:
    """What is wrong with an entry beside the sound one before it."""
    if entry.content["number"] != entry.number or entry.content["previous"] != previous:
        return "it does not follow the entry before it: one was changed, taken out or put in"
    return ""
