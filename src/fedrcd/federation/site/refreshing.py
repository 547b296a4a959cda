"""A site's part when a ledger is brought up to date over the network: contribute, then verify what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FileError, ProtocolError
from fedrcd.federation.ledger.certificate import as_json, require_genuine
from fedrcd.federation.ledger.contribution import SignedContribution, SignedWithdrawal
from fedrcd.federation.ledger.entries import CONTRIBUTIONS, POOLED
from fedrcd.federation.ledger.heads import SignedHead
from fedrcd.federation.ledger.masked_totals import require_signed
from fedrcd.federation.ledger.receipts import Receipt
from fedrcd.federation.ledger.refresh_messages import (
    ContributionReply,
    ContributionRequest,
    HeldBack,
    LedgerNews,
    NewsReply,
)
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.site.erasure import Member, Renewal, former_names, renew, require_newest
from fedrcd.federation.site.release import Door

CERTIFICATES, RECEIPTS = "certificates", "receipts"
"""Folders of a site's state in which certificates of erasures, and receipts for totals, are filed."""


@dataclass(frozen=True, slots=True)
class Refreshing:
    """Answers the messages of a refresh, for one site."""

    door: Door
    key: SiteKey | None
    folder: Path

    @property
    def federation(self) -> Federation:
        """What was agreed on."""
        return self.door.federation

    def contribute(self, request: ContributionRequest, tables: list[Table]) -> ContributionReply:
        """Contributions of all blocks whose latest one in the ledger is not about the present edition."""
        if request.configuration.variables != self.federation.variables:
            raise Refused(Refusal.FEDERATION, "the ledger is about other variables")
        member = Member(
            door=self.door, configuration=request.configuration, groups=request.groups, key=self.key, approves=True
        )
        versions, store = dict(request.versions), self.door.store
        require_newest(member, versions)
        renewals = []
        for table in tables:
            if store.sent.is_withdrawn(table.block):
                continue  # it stays out until people here bring it back
            last = store.sent.latest(table.block)
            lacks = last is not None and versions.get(table.block, 0) < last.version
            renewals.append(renew(member, table, store.today(), again=lacks))
        made = [one.contribution for one in renewals if one.contribution is not None]
        gone = [one.block for one in former_names(member, renewals) if one.block in versions]
        return ContributionReply(
            self.door.site,
            tuple(SignedContribution.by(self.key, one, versions.get(one.block, 0)) for one in made),
            tuple(SignedWithdrawal.by(self.key, self.door.site, block, versions[block]) for block in gone),
            tuple(held for one in renewals for held in _held_back(one)),
            len(store.struck.pending(self._contributed(tables))),  # who is in the ledger's sums waits, too
            self.head(request.ledger),
            request.asked,
        )

    def _contributed(self, tables: Sequence[Table]) -> set[int]:
        """The editions that the last contributions of blocks are about."""
        sent = self.door.store.sent
        there = [sent.latest(one.block) for one in tables if not sent.is_withdrawn(one.block)]
        return {one.edition for one in there if one is not None}

    def hear(self, news: LedgerNews) -> NewsReply:
        """Verify that the ledger continues what was seen here and by the others, and file receipts and certificates."""
        ledgers = self.door.store.ledgers
        entries = [record.entry() for record in news.entries]
        try:
            before = ledgers.head(news.ledger)
            ledgers.follow(entries, news.public_key, news.ledger)
            self._compare(news, 0 if before is None else before.number)
            for entry in entries:
                if entry.number in news.acknowledged:
                    self._acknowledge(Receipt(entry, news.public_key))
            certificates = [self._genuine(text, news) for text in news.certificates]
        except (ProtocolError, ConfigError) as problem:
            raise Refused(Refusal.LEDGER, str(problem)) from None
        for number, text in certificates:
            self._file(CERTIFICATES, f"{news.ledger}-{number}.json", text)
        return NewsReply(self.door.site, self.head(news.ledger))

    def _acknowledge(self, receipt: Receipt) -> None:
        """File a receipt: for what was contributed, or for a total that this site has signed its part of."""
        store, entry = self.door.store, receipt.entry
        store.ledgers.require_acknowledged(receipt)
        if entry.kind in CONTRIBUTIONS:
            store.sent.acknowledge(receipt)
        elif entry.kind == POOLED:
            require_signed(entry.content, {site.name: site.key for site in self.federation.sites})
            if self.door.site not in entry.content["editions"]:
                raise ProtocolError(f"entry {entry.number} is no receipt for this site: it is not in that total")
            [ledger] = [one for one in store.ledgers.identities() if store.ledgers.holds(one, entry)]
            self._file(RECEIPTS, f"{ledger}-{entry.number}.json", receipt.to_json())

    def _compare(self, news: LedgerNews, before: int) -> None:
        """Raise if another site has seen another ledger, or what it has seen is kept back."""
        keys = {site.name: site.key for site in self.federation.sites}
        for head in news.heads:
            if head.site != self.door.site and keys.get(head.site):
                self.door.store.ledgers.compare(head, keys[head.site])
        if not all(keys.values()):
            return  # a trial, in which nobody signs
        self.door.store.ledgers.require_shown(news.ledger, news.heads, before, self.door.site)

    def head(self, ledger: str) -> SignedHead | None:
        """What was seen of a ledger here, signed; nothing in a trial."""
        seen = self.door.store.ledgers.head(ledger)
        return None if seen is None or self.key is None else SignedHead.by(self.key, self.door.site, ledger, seen)

    def _genuine(self, text: str, news: LedgerNews) -> tuple[int, str]:
        """A certificate as the ledger signed it, about an erasure of this site that was seen; the entry's number."""
        try:
            content: dict[str, Any] = json.loads(text)
            number, hashed = int(content["entry"]["number"]), str(content["entry"]["hash"])
            about = content["ledger"], content["site"], content["public_key"]
            require_genuine(content)
        except (FileError, ValueError, KeyError, TypeError):
            raise ProtocolError("something came in the place of a certificate") from None
        if about != (news.ledger, self.door.site, news.public_key):
            raise ProtocolError("a certificate is of another ledger, or for another site")
        self.door.store.ledgers.require_seen(news.ledger, number, hashed)
        return number, as_json(content)

    def _file(self, folder: str, name: str, text: str) -> None:
        """Write a receipt or a certificate into the folder of the site."""
        path = self.folder / folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise FileError(f"cannot write {path}: {problem.strerror}") from None


def _held_back(renewal: Renewal) -> list[HeldBack]:
    waiting = renewal.waiting
    if waiting is None:
        return []
    return [HeldBack(renewal.block, waiting.persons, "" if waiting.due is None else waiting.due.isoformat())]
