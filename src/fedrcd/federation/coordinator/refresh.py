"""Bringing a ledger up to date over the network: ask for present editions, enter them, tell the sites what was done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.gather import Courier, Gather, RetryPolicy, RoundProgress, SiteLost, reply_in
from fedrcd.federation.coordinator.known_heads import KnownHeads
from fedrcd.federation.coordinator.ledger_news import NewsOfLedger
from fedrcd.federation.ledger.certificate import as_json, certify
from fedrcd.federation.ledger.entries import ERASED
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.refresh_messages import (
    ContributionReply,
    ContributionRequest,
    NewsReply,
)
from fedrcd.federation.messages.envelope import pack_message
from fedrcd.federation.messages.requests import federation_digest
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import Packet

ASKED_BYTES = 8
"""Of the number by which replies to this refresh are told from those to another."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What came of a refresh: numbers of new entries by site, what sites hold back, and erasures that wait there."""

    entries: dict[str, list[int]]
    held_back: dict[str, list[dict[str, Any]]]
    pending: dict[str, int]
    missing: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "entries": self.entries,
            "held_back": self.held_back,
            "pending_erasures": self.pending,
            "missing": list(self.missing),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresher:
    """Brings a ledger up to date with the sites of a cohort."""

    federation: Federation
    ledger: Ledger
    courier: Courier
    cohort: tuple[str, ...]
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    progress: Callable[[RoundProgress], None] | None = None
    warn: Callable[[str], None] | None = None
    surroundings: Surroundings = REAL
    heads: KnownHeads | None = None
    _asked: str = field(default="", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_asked", self.surroundings.token_bytes(ASKED_BYTES).hex())

    def run(self) -> Refreshed:
        """Ask, enter and tell; what came of it.

        Raises
        ------
        SiteLost
            When a site cannot be had, or does not believe the ledger.
        """
        replies = self._gather(self._request, self._contributions).answers(1)
        entries = {site: self._enter(site, replies[site]) for site in self.cohort}
        self._news.note_heads(replies.values())
        heard: dict[str, NewsReply] = self._gather(
            lambda site: self._told(site, replies[site], entries[site]), self._news.heard
        ).answers(2)
        self._news.note_heads(heard.values())
        return Refreshed(
            entries,
            {site: [_record(one) for one in reply.held_back] for site, reply in replies.items() if reply.held_back},
            {site: reply.pending for site, reply in replies.items() if reply.pending},
            tuple(site.name for site in self.federation.sites if site.name not in self.cohort),
        )

    @property
    def _news(self) -> NewsOfLedger:
        return NewsOfLedger(self.federation, self.ledger)

    def _gather(self, pack: Callable[[str], Packet], judge: Callable[[str, Packet], Any]) -> Gather[Any]:
        return Gather(
            courier=self.courier,
            cohort=self.cohort,
            pack=pack,
            judge=judge,
            retry_policy=self.retry_policy,
            progress=self.progress,
            warn=self.warn,
            surroundings=self.surroundings,
            heads=self.heads,
        )

    def _enter(self, site: str, reply: ContributionReply) -> list[int]:
        """Take the contributions of a site in; the numbers of their entries."""
        try:
            leaving = [one for one in reply.withdrawn if one.place in self.ledger.roster.standings]
            receipts = [self.ledger.withdraw(one) for one in leaving] + [self.ledger.add(one) for one in reply.items]
            return [receipt.entry.number for receipt in receipts]
        except FedrcdError as problem:
            raise SiteLost(site, f"sent a contribution that is not taken in: {problem}") from None

    def _request(self, site: str) -> Packet:
        versions = {block: number for (name, block), number in self.ledger.roster.versions.items() if name == site}
        return pack_message(
            ContributionRequest(
                federation=federation_digest(self.federation),
                site=site,
                ledger=self.ledger.identity,
                configuration=self.ledger.configuration,
                groups=self.ledger.groups,
                versions=tuple(sorted(versions.items())),
                asked=self._asked,
                log_head="" if self.heads is None else self.heads.of(site),
            )
        )

    def _contributions(self, site: str, packet: Packet) -> ContributionReply:
        reply: ContributionReply = reply_in(site, packet, ContributionReply)
        if reply.refusal is None and reply.asked != self._asked:
            raise SiteLost(site, "answered another refresh than it was asked for")
        blocks = self.federation.site(site).blocks
        strange = any(item.contribution.site != site or item.contribution.block not in blocks for item in reply.items)
        if strange or any(one.site != site or one.block in blocks for one in reply.withdrawn):
            raise SiteLost(site, "sent a contribution of another site, or for a block that it does not have")
        return reply

    def _told(self, site: str, reply: ContributionReply, mine: list[int]) -> Packet:
        erased = [number for number in mine if self.ledger.entries[number - 1].kind == ERASED]
        return self._news.packet(site, reply.head, mine, [as_json(certify(self.ledger, number)) for number in erased])


def _record(held: Any) -> dict[str, Any]:
    return {"block": held.block, "persons": held.persons, "due": held.due or None}
