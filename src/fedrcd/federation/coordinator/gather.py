"""First step of a transport over machines: ask every site, wait, ask again, until all replied or one is lost.

Sites keep no state between questions, so a site that was lost answers its next question like any other. What a run may
not do is mix: its sites are fixed when it starts, and if one is lost for good the run stops, or, if the operator said
so, starts anew without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.recorded_answers import RecordedAnswers
from fedrcd.federation.messages.refusals import TEMPORARY, WORDS, Refusal
from fedrcd.federation.messages.requests import Reply, Request, pack_request
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.questions import Question
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


class SiteLost(ProtocolError):
    """A site cannot be had; the message says why, `refusal` by which rule if it is there and will not."""

    def __init__(self, site: str, why: str, refusal: Refusal | None = None) -> None:
        super().__init__(f"site {site!r} {why}")
        self.site, self.refusal = site, refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long a coordinator waits, and how often it asks again.

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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a round is: its number, how many sites answered, and who has not."""

    round: int
    answered: int
    waiting: tuple[str, ...]


Judge = Callable[[str, Packet], Reply]
"""The reply of a site in a packet, if it is usable; raises `SiteLost` if it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """Gets a reply of every site of a cohort to one question: a recorded one, or a fresh one."""

    courier: Courier
    run: str
    federation: str
    """Digest of the federation file."""
    cohort: tuple[str, ...]
    answers: RecordedAnswers
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    progress: Callable[[Progress], None] | None = None
    warn: Callable[[str], None] | None = None
    surroundings: Surroundings = REAL

    def replies(self, question: Question[Any], digest: str, number: int, judge: Judge) -> dict[str, Reply]:
        """An accepted reply of every site; `number` is that of the round, `judge` accepts what sites send."""
        recorded = {site: self.answers.find(self.run, digest, site) for site in self.cohort}
        replies = {site: reply for site, reply in recorded.items() if reply is not None}
        until = self.surroundings.monotonic() + self.retry_policy.approval
        chances = {site: _Chances(until) for site in self.cohort}
        while missing := [site for site in self.cohort if site not in replies]:
            self._report(number, replies)
            lost: ProtocolError | None = None
            for site, sent in self._ask(question, number, missing):
                try:
                    reply = sent if isinstance(sent, Fault) else judge(site, sent)
                    if isinstance(reply, Reply) and reply.refusal is None:
                        self.answers.record(reply)
                        replies[site] = reply
                        self._report(number, replies)
                    else:
                        self._give_up_or_retry(site, reply, chances[site])
                except ProtocolError as problem:
                    lost = lost or problem  # raised once the others' answers are recorded
            if lost:
                raise lost
            if len(replies) < len(self.cohort):
                self.surroundings.sleep(self.retry_policy.pause)
        return replies

    def _ask(self, question: Question[Any], number: int, sites: Sequence[str]) -> Iterator[tuple[str, Packet | Fault]]:
        requests = {site: Request(self.run, number, self.federation, site, self.cohort, question) for site in sites}
        return self.courier.deliver(
            {site: pack_request(request) for site, request in requests.items()}, self.retry_policy.deadline
        )

    def _give_up_or_retry(self, site: str, reply: Reply | Fault, chances: _Chances) -> None:
        """Raise if another try is no use, or there were enough."""
        if isinstance(reply, Reply):
            assert reply.refusal is not None
            why, again = f"refused: {WORDS[reply.refusal]}", reply.refusal in TEMPORARY
            if reply.refusal is Refusal.WAITING and self.surroundings.monotonic() < chances.approval_until:
                return
        else:
            why, again = reply.value, True
        chances.faults += 1
        if not again or chances.faults > self.retry_policy.retries:
            raise SiteLost(site, why, reply.refusal if isinstance(reply, Reply) and not again else None)
        if self.warn:
            self.warn(f"site {site!r} {why}; asking again ({chances.faults} of {self.retry_policy.retries})")

    def _report(self, number: int, replies: Mapping[str, Reply]) -> None:
        if self.progress:
            missing = tuple(site for site in self.cohort if site not in replies)
            self.progress(Progress(number, len(replies), missing))


@dataclass(slots=True)
class _Chances:
    """What a site may still do wrong in a round."""

    approval_until: float
    faults: int = 0
