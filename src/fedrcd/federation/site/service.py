"""A site of a federation of machines: reads its table and answers by its door; no word of a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.data.site_file import read_site
from fedrcd.data.table import Table
from fedrcd.errors import FedrcdError, ProtocolError
from fedrcd.federation.ledger.refresh_messages import (
    ContributionReply,
    ContributionRequest,
    LedgerNews,
    NewsReply,
)
from fedrcd.federation.masking.possible import why_clear
from fedrcd.federation.masking.statements import DIFFERENCES
from fedrcd.federation.messages.envelope import is_message, pack_message, unpack_message
from fedrcd.federation.messages.masked import MaskedCallRequest
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.requests import Reply, Request, pack_reply, read_agreement, unpack_request
from fedrcd.federation.messages.roll_call import RollCallReply, RollCallRequest
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.site.approvals import SHORT
from fedrcd.federation.site.log import LogEntry
from fedrcd.federation.site.masked import REPLIES as MASKED_REPLIES
from fedrcd.federation.site.masked import MaskedMessage, MaskedSite
from fedrcd.federation.site.masked import respond as respond_masked
from fedrcd.federation.site.refreshing import Refreshing
from fedrcd.federation.site.release import LEDGER, Door, Occasion, code_of
from fedrcd.federation.site.roll_call import RollCallAnswer
from fedrcd.federation.site.secret import read_secret
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.federation.site.witness import Witness
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import Packet
from fedrcd.statistics.privacy_loss import loss_within

MESSAGES = (RollCallRequest, ContributionRequest, LedgerNews, *MASKED_REPLIES)
"""What may arrive that is no question."""


@dataclass(frozen=True, slots=True)
class SiteService:
    """Answers requests under the rules of a site."""

    settings: SiteSettings
    surroundings: Surroundings = REAL

    @contextmanager
    def store(self, wait: float | None = None) -> Iterator[Store]:
        """What the site remembers, open; waits for another process as long as for an answer, or as is said."""
        settings = self.settings
        witness = Witness.beside(settings.key) if settings.key and "history" not in settings.rules.off else None
        name, patience = settings.name, settings.deadline if wait is None else wait
        with Store(settings.state, name, self.surroundings, witness=witness, wait=patience) as opened:
            yield opened

    def respond(self, packet: Packet) -> Packet:
        """The reply to a request, whatever it is: sums, or a fixed code; the text of no exception leaves."""
        try:
            if is_message(packet):
                message: Any = unpack_message(packet, MESSAGES)
                if type(message) in MASKED_REPLIES:
                    return pack_message(self._masked(message))
                called = isinstance(message, RollCallRequest)
                return pack_message(self._roll_call(message) if called else self._refresh(message))
            request = unpack_request(packet)
        except ProtocolError as problem:
            return self.unreadable(problem)
        return pack_reply(self.reply(request))

    def unreadable(self, problem: ProtocolError) -> Packet:
        """The reply to a message that is none of ours; that one came is in the log."""
        self._note_refused("a message that cannot be read", Refused(Refusal.MESSAGE, str(problem)))
        return pack_reply(Reply("", "", self.settings.name, refusal=Refusal.MESSAGE))

    def _roll_call(self, request: RollCallRequest) -> RollCallReply:
        """What a run would meet here."""
        try:
            agreement = read_agreement(self.settings.federation)
            self._require_for_us(request, agreement.federation, agreement.digest)
            self._require_clear(agreement.federation)
            with self.store() as store:
                self._require_history(store, request.log_head)
                door = open_door(self.settings, agreement.federation, store)
                tables = read_tables(agreement.federation, self.settings)
                said = RollCallAnswer(door, tables, request, agreement.layout(request.cohort)).reply()
                return replace(said, log_head=store.head())
        except Exception as problem:  # whatever it is, its text may hold data: a code leaves
            self._note_refused(f"the roll call of a run of {request.plan.method}", problem)
            code = code_of(problem).value
            return RollCallReply(self.settings.name, request.run, request.digest, refusal=code)

    def _masked(self, message: MaskedMessage) -> Any:
        """The reply to a message of a masked run."""
        try:
            agreement = read_agreement(self.settings.federation)
            self._require_named(message.site)
            with self.store() as store:
                if isinstance(message, MaskedCallRequest):
                    self._require_history(store, message.log_head)
                door = open_door(self.settings, agreement.federation, store)
                site = MaskedSite(
                    door=door,
                    agreement=agreement,
                    key=SiteKey.read(self.settings.key) if self.settings.key else None,
                    tables=lambda: read_tables(agreement.federation, self.settings),
                    agrees=(DIFFERENCES,) if self.settings.agree_to_differences else (),
                )
                return replace(respond_masked(site, message), log_head=store.head())
        except Exception as problem:  # whatever it is, its text may hold data: a code leaves
            code = code_of(problem)
            if code is not Refusal.WAITING:
                self._note_refused("a message of a masked run", problem)
            return MASKED_REPLIES[type(message)](self.settings.name, refusal=code.value)

    def _refresh(self, message: ContributionRequest | LedgerNews) -> ContributionReply | NewsReply:
        """The reply to a message of a refresh."""
        asks = isinstance(message, ContributionRequest)
        try:
            agreement = read_agreement(self.settings.federation)
            self._require_ours(message.federation, message.site, agreement.digest)
            if asks:
                self._require_clear(agreement.federation)
            with self.store() as store:
                if isinstance(message, ContributionRequest):
                    self._require_history(store, message.log_head)
                door = open_door(self.settings, agreement.federation, store)
                key = SiteKey.read(self.settings.key) if self.settings.key else None
                refreshing = Refreshing(door, key, Path(self.settings.state))
                if isinstance(message, ContributionRequest):
                    made = refreshing.contribute(message, read_tables(agreement.federation, self.settings))
                    return replace(made, log_head=store.head())
                return replace(refreshing.hear(message), log_head=store.head())
        except Exception as problem:  # whatever it is, its text may hold data: a code leaves
            code = code_of(problem).value
            self._note_refused(f"refresh of ledger {message.ledger[:SHORT]}", problem, LEDGER)
            reply = ContributionReply if asks else NewsReply
            return reply(self.settings.name, refusal=code)

    def _note_refused(self, question: str, problem: BaseException, federation: str = "") -> None:
        """Write into the log that something was refused; sums that were asked for have entries of their own."""
        entry = LogEntry(
            time=self.surroundings.now().isoformat(timespec="milliseconds"),
            round=0,
            federation=federation,
            question=question,
            outcome=code_of(problem).value,
            detail=str(problem) if isinstance(problem, FedrcdError) else type(problem).__name__,
        )
        try:
            with self.store() as store:
                store.append([entry])
        except FedrcdError:
            return

    def reply(self, request: Request) -> Reply:
        """The reply to a request that was understood; what happened is in the log before this returns."""
        try:
            return self._answer(request)
        except Exception as problem:  # whatever it is, its text may hold data: it is in the log here, a code leaves
            return Reply(request.run, request.digest, self.settings.name, refusal=code_of(problem))

    def _answer(self, request: Request) -> Reply:
        try:
            agreement = read_agreement(self.settings.federation)
        except FedrcdError as problem:
            self._note_refused(f"a question of run {request.run}", problem)
            raise
        federation = agreement.federation
        with self.store() as store:
            door = open_door(self.settings, federation, store)
            occasion = Occasion(
                request.run, request.round, request.digest, None, request.federation, within=request.within
            )
            try:
                self._require_for_us(request, federation, agreement.digest)
                self._require_clear(federation)
                tables = read_tables(federation, self.settings)
                occasion = occasion._replace(layout=agreement.layout(request.cohort))
            except Exception as problem:
                door.note([request.question], occasion, problem)
                raise
            [released] = door.release([request.question], tables, occasion)
            return Reply(
                request.run,
                request.digest,
                self.settings.name,
                released.version,
                released.blocks,
                log_head=store.head(),
            )

    def _require_history(self, store: Store, head: str) -> None:
        """Refuse where the log is not the one of which the coordinator was told before."""
        if head and "history" not in self.settings.rules.off and not store.has_head(head):
            raise Refused(Refusal.HISTORY)

    def _require_clear(self, federation: Federation) -> None:
        """Refuse to answer in the clear what could be masked, unless the people here agreed to it."""
        own = self.settings
        agreed = own.clear or own.trust_coordinator
        if own.masked_only or not (agreed or why_clear(federation)):
            raise Refused(Refusal.CLEAR)

    def _require_ours(self, federation: str, site: str, digest: str) -> None:
        """Refuse what is of another federation, or for another site."""
        if federation != digest:
            raise Refused(Refusal.FEDERATION)
        self._require_named(site)

    def _require_named(self, site: str) -> None:
        """Refuse what is for another site."""
        if site != self.settings.name:
            raise Refused(Refusal.NAME)

    def _require_for_us(self, request: Request | RollCallRequest, federation: Federation, digest: str) -> None:
        """Refuse a question of another federation, for another site, or of a cohort that cannot be."""
        self._require_ours(request.federation, request.site, digest)
        cohort = frozenset(request.cohort)
        in_order = tuple(site.name for site in federation.sites if site.name in cohort)
        if request.cohort != in_order or self.settings.name not in in_order:
            raise Refused(Refusal.MESSAGE)


def open_door(settings: SiteSettings, federation: Federation, store: Store) -> Door:
    """The door of a site, as its settings say."""
    settings.rules.require_strict(trial=federation.trial)
    secret = read_secret(Path(settings.group_secret)) if settings.group_secret else b""
    return Door(
        site=settings.name,
        federation=federation,
        store=store,
        rules=settings.rules,
        trim=settings.trim,
        trusts=settings.trust_coordinator,
        approve=settings.approve,
        group_secret=secret,
        most_loss=loss_within(settings.epsilon_budget, settings.delta) if settings.epsilon_budget else 0.0,
    )


def read_tables(federation: Federation, settings: SiteSettings) -> list[Table]:
    """The rows of a site's table, a table per block."""
    return read_site(settings.data, federation, federation.site(settings.name), query=settings.query)
