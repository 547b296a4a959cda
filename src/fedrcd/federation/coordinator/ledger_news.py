"""Telling sites what became of a ledger: entries that they have not seen, receipts, certificates, heads of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedrcd.data.federation import Federation
from fedrcd.federation.coordinator.gather import reply_in
from fedrcd.federation.ledger.heads import SignedHead
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.refresh_messages import ContributionReply, EntryRecord, LedgerNews, NewsReply
from fedrcd.federation.messages.envelope import pack_message
from fedrcd.federation.messages.requests import federation_digest
from fedrcd.protocol.wire import Packet


@dataclass(frozen=True, slots=True)
class NewsOfLedger:
    """What the sites of a federation are told of a ledger."""

    federation: Federation
    ledger: Ledger

    def packet(
        self, site: str, head: SignedHead | None, acknowledged: Sequence[int], certificates: Iterable[str]
    ) -> Packet:
        """News for a site, from what it has seen on; `acknowledged` are entries that are receipts for it."""
        ledger = self.ledger
        return pack_message(
            LedgerNews(
                federation=federation_digest(self.federation),
                site=site,
                ledger=ledger.identity,
                public_key=ledger.public_key,
                entries=tuple(EntryRecord.of(entry) for entry in ledger.entries[_seen(ledger, head) :]),
                acknowledged=tuple(acknowledged),
                certificates=tuple(certificates),
                heads=tuple(head for head in ledger.heads() if head.site != site),
            )
        )

    def heard(self, site: str, packet: Packet) -> NewsReply:
        """What a site says to its news."""
        reply: NewsReply = reply_in(site, packet, NewsReply)
        return reply

    def note_heads(self, replies: Iterable[ContributionReply | NewsReply]) -> None:
        """Keep what sites have seen, to show it to the others."""
        for reply in replies:
            if reply.head is not None:
                self.ledger.note_head(reply.head)


def _seen(ledger: Ledger, head: SignedHead | None) -> int:
    """How many entries a site has seen of this very ledger; it gets those from the last of them on."""
    if head is None or not 1 <= head.number <= len(ledger.entries) or ledger.entries[head.number - 1].hash != head.hash:
        return 0
    return head.number - 1
