"""Receipts: an entry of the ledger as a site keeps it, to prove later what the ledger acknowledged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fedrcd.errors import FileError, ProtocolError
from fedrcd.federation.ledger.entries import Entry, Problem, bad_signatures
from fedrcd.federation.ledger.export import entry_record, read_record
from fedrcd.federation.messages.digests import digest

FORMAT = "fedrcd-receipt/1"


@dataclass(frozen=True)
class Receipt:
    """A signed entry, and the public key of the ledger it is from."""

    entry: Entry
    public_key: str

    @property
    def content(self) -> dict[str, Any]:
        """What was acknowledged."""
        return self.entry.content

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps({"format": FORMAT, **entry_record(self.entry), "public_key": self.public_key}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """The receipt in a JSON text."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise FileError("this is not a receipt of fedrcd")
            return cls(read_record(content), str(content["public_key"]))
        except (ValueError, KeyError, TypeError):
            raise FileError("this is not a receipt of fedrcd") from None

    def require_genuine(self) -> None:
        """Raise unless the entry is as it was signed."""
        if digest("entry", self.entry.text.encode()) != self.entry.hash:
            raise ProtocolError(f"the receipt for entry {self.entry.number} was changed")
        for problem in bad_signatures([self.entry], self.public_key):
            raise ProtocolError(f"the receipt is not genuine: {problem}")

    def missing_from(self, entries: list[Entry]) -> Problem | None:
        """What is wrong with a chain that should hold this entry."""
        record = f"entry {self.entry.number}"
        if self.entry.number > len(entries):
            return Problem(record, "a receipt was given for it, and it is not in the ledger")
        if entries[self.entry.number - 1].hash != self.entry.hash:
            return Problem(
                record, "it is not the one a receipt was given for: another ledger, or one that was rewritten"
            )
        return None
