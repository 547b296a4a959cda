"""The transport of a federation of machines: asks, waits, asks again, checks what comes, adds in the order of the file.

Sites keep no state between questions, so a site that was lost answers its next question like any other. What a run may
not do is mix: its sites are fixed when it starts, and if one is lost for good the run stops, or, if the operator said
so, starts anew without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from fedrcd.errors import FedrcdError, ProtocolError
from fedrcd.federation.answers import Answers
from fedrcd.federation.messages import Reply, Request, pack_request, question_digest, unpack_reply
from fedrcd.federation.refusals import TEMPORARY, WORDS, Refusal
from fedrcd.protocol.accept import require_usable
from fedrcd.protocol.combine import NobodyAnswers
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.protocol.wire import Packet


class Fault(StrEnum):
    """Why no reply came."""

    SILENT = "did not answer in time"
    DIED = "stopped before it answered"
    RAISED = "failed before it could answer"


class Courier(Protocol):
    """Carries packets to sites and back."""

    def deliver(self, packets: Mapping[str, Packet], seconds: float) -> Iterator[tuple[str, Packet | Fault]]:
        """The reply of every site, as it comes; a fault for each that has not replied in time."""
        ...


Recorder = Callable[[str, str, Question[Any], Any], None]
"""Is told of every answer that was accepted: site, block, question, sums."""


class SiteLost(ProtocolError):
    """A site cannot be had; the message says why, `refusal` by which rule if it is there and will not."""

    def __init__(self, site: str, why: str, refusal: Refusal | None = None) -> None:
        super().__init__(f"site {site!r} {why}")
        self.site, self.refusal = site, refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a coordinator waits.

    Parameters
    ----------
    deadline : float
        Seconds a site has for one try.
    retries : int
        Further tries after a fault; each is a new process at the site.
    approval : float
        Seconds that a person at a site has to approve an answer.
    pause : float
        Seconds before a site is asked again, after a fault or while a person there decides.
    """

    deadline: float = 300.0
    retries: int = 2
    approval: float = 86400.0
    pause: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """Sites are machines; `blocks` says which blocks of rows each site of the cohort has, in order."""

    setting: Setting
    courier: Courier
    run: str
    federation: str
    blocks: Mapping[str, Sequence[str]]
    answers: Answers
    patience: Patience = field(default_factory=Patience)
    recorder: Recorder | None = None
    progress: Callable[[Progress], None] | None = None
    warn: Callable[[str], None] | None = None
    traffic: Traffic = field(default_factory=Traffic)
    seconds: list[float] = field(default_factory=list)
    """What each round took."""

    @property
    def cohort(self) -> tuple[str, ...]:
        """The sites of this run, in the order of the federation."""
        return tuple(self.blocks)

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers, added block by block in the order of the federation."""
        self.traffic.rounds += 1
        began = time.monotonic()
        replies = self._replies(question)
        self.seconds.append(time.monotonic() - began)
        pooled: Any = None
        for site in self.cohort:
            for label, sums in replies[site].blocks:
                if sums is None:
                    continue
                self.traffic.count(sums)
                if self.recorder:
                    self.recorder(site, label, question, sums)
                pooled = sums if pooled is None else pooled + sums
        if pooled is None:
            raise NobodyAnswers
        self.traffic.note_clipped(pooled)
        answer: S = pooled
        return answer

    def _replies(self, question: Question[Any]) -> dict[str, Reply]:
        """An accepted reply of every site: a recorded one, or a fresh one."""
        digest = question_digest(question, self.cohort)
        recorded = {site: self.answers.find(self.run, digest, site) for site in self.cohort}
        replies = {site: reply for site, reply in recorded.items() if reply is not None}
        chances = {site: _Chances(self.patience) for site in self.cohort}
        while missing := [site for site in self.cohort if site not in replies]:
            self._report(replies)
            lost: ProtocolError | None = None
            for site, came in self._ask(question, missing):
                try:
                    reply = self._accepted(question, digest, site, came)
                    if isinstance(reply, Reply) and reply.refusal is None:
                        self.answers.record(reply)
                        replies[site] = reply
                        self._report(replies)
                    else:
                        self._give_up_or_retry(site, reply, chances[site])
                except ProtocolError as problem:
                    lost = lost or problem  # raised once the others' answers are recorded
            if lost:
                raise lost
            if len(replies) < len(self.cohort):
                time.sleep(self.patience.pause)
        return replies

    def _ask(self, question: Question[Any], sites: Sequence[str]) -> Iterator[tuple[str, Packet | Fault]]:
        requests = {
            site: Request(self.run, self.traffic.rounds, self.federation, site, self.cohort, question) for site in sites
        }
        return self.courier.deliver(
            {site: pack_request(request) for site, request in requests.items()}, self.patience.deadline
        )

    def _accepted(self, question: Question[Any], digest: str, site: str, came: Packet | Fault) -> Reply | Fault:
        """The reply in a packet, if it is one to this question, of this site, about the same rows as before."""
        if isinstance(came, Fault):
            return came
        try:
            reply = unpack_reply(came)
        except FedrcdError as problem:
            raise SiteLost(site, f"sent something that is not a reply: {problem}") from None
        if reply.site != site:
            raise SiteLost(site, "answered under another site's name; its key and its --name must belong together")
        if reply.refusal is not None:
            return reply
        if (reply.run, reply.digest) != (self.run, digest):
            raise SiteLost(site, "answered another question than it was asked")
        if tuple(label for label, _ in reply.blocks) != tuple(self.blocks[site]):
            raise SiteLost(site, "answered for other blocks of rows than the federation says")
        before = self.answers.version(self.run, site)
        if before is not None and before != reply.version:
            raise SiteLost(site, "changed its rows during the run; start a new one")
        for label, sums in reply.blocks:
            if sums is not None and not question.accepts(sums, (site, label)):
                raise SiteLost(site, "sent sums that are not of the kind or the size that was asked for")
            if sums is not None:
                require_usable(question, sums, site)
        return reply

    def _give_up_or_retry(self, site: str, came: Reply | Fault, chances: _Chances) -> None:
        """Raise if another try is no use, or there were enough."""
        if isinstance(came, Reply):
            assert came.refusal is not None
            why, again = f"refused: {WORDS[came.refusal]}", came.refusal in TEMPORARY
            if came.refusal is Refusal.WAITING and time.monotonic() < chances.approval_until:
                return
        else:
            why, again = came.value, True
        chances.faults += 1
        if not again or chances.faults > self.patience.retries:
            raise SiteLost(site, why, came.refusal if isinstance(came, Reply) and not again else None)
        if self.warn:
            self.warn(f"site {site!r} {why}; asking again ({chances.faults} of {self.patience.retries})")

    def _report(self, replies: Mapping[str, Reply]) -> None:
        if self.progress:
            missing = tuple(site for site in self.cohort if site not in replies)
            self.progress(Progress(self.traffic.rounds, len(replies), missing))


class _Chances:
    """What a site may still do wrong in a round."""

    def __init__(self, patience: Patience) -> None:
        self.faults = 0
        self.approval_until = time.monotonic() + patience.approval


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a round is: its number, how many sites answered, and who has not."""

    round: int
    answered: int
    waiting: tuple[str, ...]
