"""How far somebody has seen a ledger; signed by a site, for the others to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fedrcd.federation.messages.digests import canonical
from fedrcd.federation.messages.signatures import SiteKey, is_signed_by
from fedrcd.protocol.wire import KINDS

HEAD = "ledger head"
"""The kind of what a site signs of a ledger."""


class Head(NamedTuple):
    """The last entry of a ledger that was seen: its number and its hash."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class SignedHead:
    """What a site has seen of a ledger, for the other sites."""

    site: str
    ledger: str
    number: int
    hash: str
    signature: str

    @classmethod
    def by(cls, key: SiteKey, site: str, ledger: str, head: Head) -> SignedHead:
        """A head, signed with the key of a site."""
        unsigned = cls(site, ledger, *head, "")
        return cls(site, ledger, *head, key.sign(HEAD, unsigned.statement()))

    def statement(self) -> bytes:
        """What is signed."""
        return canonical([self.site, self.ledger, self.number, self.hash]).encode()

    def is_by(self, public: str) -> bool:
        """Whether the owner of a key signed it."""
        return is_signed_by(public, HEAD, self.statement(), self.signature)


KINDS["signed-head/1"] = SignedHead
