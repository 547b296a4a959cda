"""First step of a transport over machines: ask every site, wait, ask again, until all replied or one is lost.

Sites keep no state between questions, so a site that was lost answers its next question like any other. What a run may
not do is mix: its sites are fixed when it starts, and if one is lost for good the run stops, or, if the operator said
so, starts anew without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from fedrcd.errors import FedrcdError, FileError, ProtocolError
from fedrcd.federation.messages.envelope import unpack_answer
from fedrcd.federation.messages.printable import printable
from fedrcd.federation.messages.refusals import TEMPORARY, WORDS, Refusal
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.wire import Packet

if TYPE_CHECKING:
    from fedrcd.federation.coordinator.known_heads import KnownHeads

LONGEST_PAUSE = 30.0
"""Seconds between two tries, at most."""

MOST_REFUSALS = 3
"""Times that a site is asked although it refused for a reason that may mend: it is there, so waiting is little use."""


class Fault(StrEnum):
    """Why no reply came."""

    SILENT = "did not answer in time"
    DIED = "stopped before it answered"
    RAISED = "failed before it could answer"
    ANOTHER = "was answered for by another node"


class Courier(Protocol):
    """Carries packets to sites and back."""

    def deliver(self, packets: Mapping[str, Packet], seconds: float) -> Iterator[tuple[str, Packet | Fault]]:
        """The reply of every site, as it comes; a fault for each that has not replied in time."""
        ...


class SiteLost(ProtocolError):
    """A site cannot be had; the message says why, `refusal` by which rule if it is there and will not."""

    def __init__(self, site: str, why: str, refusal: Refusal | None = None) -> None:
        super().__init__(f"site {site!r} {printable(why)}")  # what a site sent may be quoted in it
        self.site, self.refusal = site, refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long a coordinator waits, and when it asks again.

    Parameters
    ----------
    deadline : float
        Seconds a site has for one try.
    give_up_after : float
        Seconds after its first fault in a round during which a site is asked again; each try is a new process there.
    approval : float
        Seconds that a person at a site has to approve an answer.
    pause : float
        Seconds before sites are asked again, after a fault or while a person there decides; every pause of a round is
        twice as long as the one before, up to 30 seconds.
    """

    deadline: float = 300.0
    give_up_after: float = 900.0
    approval: float = 86400.0
    pause: float = 2.0

    def pause_after(self, tries: int) -> float:
        """Seconds before the next try."""
        return min(self.pause * 2.0 ** min(tries - 1, 20), max(LONGEST_PAUSE, self.pause))


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How far a round is: its number, how many sites answered, and who has not."""

    round: int
    answered: int
    waiting: tuple[str, ...]


class SiteAnswer(Protocol):
    """What a site sends back: why it refuses, or None."""

    @property
    def refusal(self) -> Refusal | str | None:
        """The code of its refusal."""
        ...

    @property
    def log_head(self) -> str:
        """How far the log of the site goes."""
        ...


A = TypeVar("A", bound=SiteAnswer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather(Generic[A]):
    """Gets an answer of every site of a cohort, asking again after faults.

    `pack` makes the packet for a site, `judge` the answer of a packet, or raises `SiteLost` if it is none that can be
    used; `accepted` is told of every answer.
    """

    courier: Courier
    cohort: tuple[str, ...]
    pack: Callable[[str], Packet]
    judge: Callable[[str, Packet], A]
    accepted: Callable[[str, A], None] | None = None
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    progress: Callable[[RoundProgress], None] | None = None
    warn: Callable[[str], None] | None = None
    surroundings: Surroundings = REAL
    heads: KnownHeads | None = None
    """Where it is kept how far the logs of sites go, if that is to be."""

    def answers(self, number: int, known: Mapping[str, A] | None = None) -> dict[str, A]:
        """An accepted answer of every site; `number` is that of the round, `known` are those that are there already."""
        answers = dict(known or {})
        until = self.surroundings.monotonic() + self.retry_policy.approval
        chances = {site: _Chances(until) for site in self.cohort}
        tries = 0
        while missing := [site for site in self.cohort if site not in answers]:
            tries += 1
            self._report(number, answers)
            lost: ProtocolError | None = None
            packets, heard = {site: self.pack(site) for site in missing}, dict[str, str]()
            for site, sent in self.courier.deliver(packets, self.retry_policy.deadline):
                try:
                    answer = sent if isinstance(sent, Fault) else self._judged(site, sent)
                    if isinstance(answer, Fault) or answer.refusal is not None:
                        self._give_up_or_retry(site, answer, chances[site])
                    else:
                        if self.accepted:
                            self.accepted(site, answer)
                        answers[site], heard[site] = answer, answer.log_head
                        self._report(number, answers)
                except ProtocolError as problem:
                    lost = lost or problem  # raised once the others' answers are recorded
            if self.heads is not None:
                self.heads.note(heard)
            if lost:
                raise lost
            if len(answers) < len(self.cohort):
                self.surroundings.sleep(self.retry_policy.pause_after(tries))
        return answers

    def _judged(self, site: str, packet: Packet) -> A:
        """The answer in a packet; a fault of it that nobody thought of is its site's too, and not the end of a run."""
        try:
            return self.judge(site, packet)
        except (ProtocolError, FileError):  # of the site; of the disk here
            raise
        except Exception as problem:
            raise SiteLost(site, f"sent what cannot be used ({type(problem).__name__})") from problem

    def _give_up_or_retry(self, site: str, answer: A | Fault, chances: _Chances) -> None:
        """Raise if another try is no use, or there were enough."""
        now, refusal, policy = self.surroundings.monotonic(), None, self.retry_policy
        if isinstance(answer, Fault):
            why, again = answer.value, True
        else:
            refusal = Refusal(str(answer.refusal))
            why, again = f"refused: {WORDS[refusal]}", refusal in TEMPORARY
            if refusal is Refusal.WAITING and now < chances.approval_until:
                return
            chances.refusals += 1
        if chances.first_fault is None:
            chances.first_fault = now
        if not again or now - chances.first_fault >= policy.give_up_after or chances.refusals >= MOST_REFUSALS:
            raise SiteLost(site, why, refusal if not again else None)
        if self.warn and not chances.told:
            chances.told = True
            self.warn(f"site {site!r} {why}; asking again, for {in_words(policy.give_up_after)} at most")

    def _report(self, number: int, answers: Mapping[str, A]) -> None:
        if self.progress:
            missing = tuple(site for site in self.cohort if site not in answers)
            self.progress(RoundProgress(number, len(answers), missing))


def reply_in(site: str, packet: Packet, wanted: type[Any]) -> Any:
    """The reply of a site in a packet; `SiteLost` if it is none, or another site's."""
    try:
        reply = unpack_answer(packet, wanted)
    except FedrcdError as problem:
        raise SiteLost(site, f"sent something that is not a reply: {problem}") from None
    if reply.site != site:
        raise SiteLost(site, "answered under another site's name; its key and its --name must belong together")
    return reply


@dataclass(slots=True)
class _Chances:
    """What a site may still do wrong in a round."""

    approval_until: float
    first_fault: float | None = None
    refusals: int = 0
    told: bool = False


def in_words(seconds: float) -> str:
    """Some time, in words."""
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
