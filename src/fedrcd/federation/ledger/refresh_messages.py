"""What coordinator and site say to each other when a ledger is brought up to date over the network.

Two exchanges: the coordinator asks for contributions about present editions, then tells what became of the ledger, with
receipts, certificates, and what the other sites have seen of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedrcd.federation.ledger.configuration import Configuration
from fedrcd.federation.ledger.contribution import SignedContribution, SignedWithdrawal
from fedrcd.federation.ledger.entries import Entry
from fedrcd.federation.ledger.heads import SignedHead
from fedrcd.protocol.wire import KINDS


@dataclass(frozen=True, slots=True, eq=False)
class ContributionRequest:
    """Asks a site for its present editions, in the configuration of a ledger.

    `versions` are the latest ones of its blocks that the ledger has, `federation` the digest of the federation file;
    `asked` is random, and comes back with the reply: one to an earlier refresh is not taken for one to this.
    """

    federation: str
    site: str
    ledger: str
    configuration: Configuration
    groups: int
    versions: tuple[tuple[str, int], ...]
    asked: str
    log_head: str = ""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What a site holds back of a block: how many persons, and until when at most; empty where there is no date."""

    block: str
    persons: int
    due: str


@dataclass(frozen=True, slots=True, eq=False)
class ContributionReply:
    """What a site contributes, what it holds back, how many erasures wait, and what it has seen of the ledger.

    `withdrawn` are blocks that the federation has no more: they were renamed, or are gone.
    """

    site: str
    items: tuple[SignedContribution, ...] = ()
    withdrawn: tuple[SignedWithdrawal, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    pending: int = 0
    head: SignedHead | None = None
    asked: str = ""
    refusal: str | None = None
    log_head: str = ""


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """An entry of a ledger as it travels."""

    number: int
    text: str
    hash: str
    signature: str

    @classmethod
    def of(cls, entry: Entry) -> EntryRecord:
        """That of an entry."""
        return cls(entry.number, entry.text, entry.hash, entry.signature)

    def entry(self) -> Entry:
        """The entry."""
        return Entry(self.number, self.text, self.hash, self.signature)


@dataclass(frozen=True, slots=True, eq=False)
class LedgerNews:
    """What became of a ledger: entries that the site has not seen, and what the others have.

    `acknowledged` are the numbers of entries that are receipts for this site, `certificates` of erasures, as JSON.
    """

    federation: str
    site: str
    ledger: str
    public_key: str
    entries: tuple[EntryRecord, ...]
    acknowledged: tuple[int, ...]
    certificates: tuple[str, ...]
    heads: tuple[SignedHead, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NewsReply:
    """That a site has verified the news, and what it has seen now; or why it does not believe them."""

    site: str
    head: SignedHead | None = None
    refusal: str | None = None
    log_head: str = ""


KINDS["contribution-request/3"] = ContributionRequest
KINDS["held-back/1"] = HeldBack
KINDS["contribution-reply/3"] = ContributionReply
KINDS["ledger-entry/1"] = EntryRecord
KINDS["ledger-news/1"] = LedgerNews
KINDS["news-reply/2"] = NewsReply
