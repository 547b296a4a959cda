"""Transports pool the answers of sites; `InProcess` is the reference and the embedded default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fedrcd.errors import ProtocolError, StatisticError
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.site import Site
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame

BYTES_PER_NUMBER = 8


@dataclass(slots=True)
class Traffic:
    """What a conversation has cost so far."""

    rounds: int = 0
    bytes_sent: int = 0
    """Bytes of all answers of all sites, in numbers of 8 bytes."""
    answers: int = 0
    expected: int = 0
    """Answers that the conversation will take, 0 if it is not known."""

    @property
    def share(self) -> float | None:
        """How much of the conversation is done, if it is known how long it is."""
        return min(1.0, self.answers / self.expected) if self.expected else None

    @property
    def words(self) -> str:
        """What it has cost, for people who wait."""
        return f"round {self.rounds}, {self.bytes_sent:,} bytes sent"


@dataclass(frozen=True, slots=True)
class Setting:
    """What every method knows before its first question."""

    variables: tuple[str, ...]
    frame: Frame
    layout: Layout | None = None
    """Who holds what; None where every site holds all variables of rows of its own."""
    fills_gaps: bool = False
    """Whether gaps are filled by pooled moments, which methods ask for first."""
    given: Gaussian | None = None
    """Those moments, once they are known."""


class Transport(Protocol):
    """Carries a question to all sites and adds up what they answer."""

    @property
    def setting(self) -> Setting:
        """Variables and frame of the federation."""
        ...

    @property
    def traffic(self) -> Traffic:
        """Rounds and bytes so far."""
        ...

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers."""
        ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """All sites live in this process; answers are added in the order the sites are given."""

    sites: Sequence[Site]
    setting: Setting
    progress: Callable[[Traffic], None] | None = None
    traffic: Traffic = field(default_factory=Traffic)

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers."""
        if not self.sites:
            raise ProtocolError("a federation needs at least one site")
        pooled: S | None = None
        self.traffic.rounds += 1
        for site in self.sites:
            answer = site.answer(question, self.setting.layout)
            if answer is None:
                continue
            try:
                answer.check(question.variables)
            except StatisticError as problem:
                raise StatisticError(
                    f"the sums of {site.name} cannot be used: {problem}; look for extreme values there"
                ) from None
            self.traffic.bytes_sent += BYTES_PER_NUMBER * answer.numbers
            self.traffic.answers += 1
            pooled = answer if pooled is None else pooled + answer
            if self.progress:
                self.progress(self.traffic)
        if pooled is None:
            raise ProtocolError("no site can answer: none holds all columns of complete rows")
        return pooled
