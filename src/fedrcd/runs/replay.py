"""Transports that keep what was answered, and that answer with what was kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Around, Setting, Traffic, Transport


@dataclass(frozen=True, slots=True)
class Remembering(Around):
    """A transport that keeps the answers; it counts rounds for a transport that does not count itself."""

    behind: Transport
    answers: list[Any] = field(default_factory=list)
    counted: Traffic = field(default_factory=Traffic)

    @property
    def traffic(self) -> Traffic:
        """Of the transport behind, if it has any."""
        traffic: Traffic = getattr(self.behind, "traffic", self.counted)
        return traffic

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers."""
        answer = self.behind.pool(question)
        self.answers.append(answer)
        self.counted.rounds += 1
        self.counted.note_clipped(answer)
        return answer


@dataclass(frozen=True, slots=True)
class Replayed:
    """A transport that gives remembered answers again, one after the other, whatever units questions are about."""

    setting: Setting
    answers: Iterator[Any]
    traffic: Traffic = field(default_factory=Traffic)

    def pool(self, question: Question[S]) -> S:  # noqa: ARG002 - the method asks the same again
        """The next of the remembered sums; those of groups are added."""
        answer = next(self.answers)
        total: S = answer.total()
        return total
