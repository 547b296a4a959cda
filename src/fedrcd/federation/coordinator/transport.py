"""The transport of a federation of machines: gather, accept, combine; each step can be replaced or wrapped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fedrcd.federation.coordinator.accept import Accept, Asked, accept_reply
from fedrcd.federation.coordinator.combine import BlockSums, Combine, add_in_order, contributions
from fedrcd.federation.coordinator.gather import Courier, Gather, RetryPolicy, RoundProgress
from fedrcd.federation.coordinator.known_heads import KnownHeads
from fedrcd.federation.coordinator.recorded_answers import RecordedAnswers
from fedrcd.federation.messages.requests import Reply, Request, pack_request, question_digest
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.in_process import Within
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.protocol.wire import Packet

Recorder = Callable[[str, str, Question[Any], Any], None]
"""Is told of every answer that was accepted: site, block, question, sums."""


AnswersWatch = Callable[[Question[Any], Sequence[BlockSums]], None]
"""Looks at what all sites sent before it is added; raises where the run should not go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineTransport:
    """Sites are machines; `blocks` says which blocks of rows each site of the cohort has, in order."""

    setting: Setting
    courier: Courier
    run: str
    federation: str
    """Digest of the federation file."""
    blocks: Mapping[str, Sequence[str]]
    answers: RecordedAnswers
    declared: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By site and block, how many rows sums may be about at most, as the site said in the roll call."""
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    accept: Accept = accept_reply
    combine: Combine = add_in_order
    recorder: Recorder | None = None
    watch: AnswersWatch | None = None
    progress: Callable[[RoundProgress], None] | None = None
    warn: Callable[[str], None] | None = None
    surroundings: Surroundings = REAL
    heads: KnownHeads | None = None
    within: Within = "none"
    """Whether sites express their rows by moments of their own."""
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
        began = self.surroundings.monotonic()
        asked = Asked(
            run=self.run,
            digest=question_digest(question, self.cohort, self.within),
            question=question,
            blocks=self.blocks,
            version=partial(self.answers.version, self.run),
            declared=self.declared,
        )
        replies = self._replies(asked)
        self.seconds.append(self.surroundings.monotonic() - began)
        parts = list(contributions(replies[site] for site in self.cohort))
        if self.watch:
            self.watch(question, parts)
        for site, label, sums in parts:
            self.traffic.count(sums)
            if self.recorder:
                self.recorder(site, label, question, sums)
        total: S = self.combine(parts)
        self.traffic.note_clipped(total)
        return total

    def _replies(self, asked: Asked) -> dict[str, Reply]:
        """An accepted reply of every site: a recorded one, or a fresh one."""
        number = self.traffic.rounds

        def request(site: str) -> Packet:
            return pack_request(
                Request(self.run, number, self.federation, site, self.cohort, asked.question, self.within)
            )

        gather: Gather[Reply] = Gather(
            courier=self.courier,
            cohort=self.cohort,
            pack=request,
            judge=partial(self.accept, asked),
            accepted=lambda _, reply: self.answers.record(reply),
            retry_policy=self.retry_policy,
            progress=self.progress,
            warn=self.warn,
            surroundings=self.surroundings,
            heads=self.heads,
        )
        recorded = {site: self.answers.find(self.run, asked.digest, site) for site in self.cohort}
        return gather.answers(number, {site: reply for site, reply in recorded.items() if reply is not None})
