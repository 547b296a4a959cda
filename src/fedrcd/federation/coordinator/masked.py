"""A masked run over machines: the coordinator carries what sites sign, adds what they mask, and sees nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedrcd.data.federation import Federation
from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.gather import Gather, SiteLost, reply_in
from fedrcd.federation.coordinator.roll_call import Called, RollCaller, notes_on
from fedrcd.federation.coordinator.run_folder import write_json
from fedrcd.federation.coordinator.transport import MachineTransport
from fedrcd.federation.ledger.masked_totals import SignedRun
from fedrcd.federation.masking.adding import total
from fedrcd.federation.masking.answers import Masked, Position, after, require_answer
from fedrcd.federation.masking.cohorts import by_marks, mark_of, newly_told, total_of
from fedrcd.federation.masking.in_process import SentMasked
from fedrcd.federation.masking.plan import MaskedPlan, Planned
from fedrcd.federation.masking.signed_result import SignedResult
from fedrcd.federation.masking.site_run import agreed, transcript_of
from fedrcd.federation.masking.statements import DIFFERENCES, RUN_BYTES, RollCall, RunTerms, Signed, result_digest
from fedrcd.federation.messages.envelope import pack_message
from fedrcd.federation.messages.masked import (
    MaskedAsk,
    MaskedCallReply,
    MaskedCallRequest,
    MaskedEnd,
    MaskedEndReply,
    MaskedReply,
    ReplayAsk,
    ReplayEnd,
    SignedText,
)
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.roll_call import PROGRAM, RollCallReply
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.protocol.wire import Packet, to_bytes
from fedrcd.runs.finding import Finding

TERMS = "masked.json"
"""The terms of a masked run, in its folder: a run that is resumed keeps its number, and sites repeat what they sent."""

LIFETIME = 6 * 86400
"""Seconds until a masked run expires: until then sites keep its keys, and people there can approve."""

OVER = frozenset({Refusal.RUN, Refusal.EXPIRED})
"""Refusals of a site for which a run is over: the same command starts another."""

DEVELOPMENT_KEYS = (
    "THE MASKS OF THIS RUN HIDE NOTHING from whoever ran `fedrcd keys init`: one machine made the keys of all sites. "
    "That is for trials with made-up data. Have each site make its own key, and put the public ones, without "
    "development_keys, into the federation file"
)
"""What is said with every masked run and its result where one machine made the keys."""

LEAST_LEFT = 3600
"""Seconds that a run must last when it is resumed."""


class EndedRound(NamedTuple):
    """A round that is over: its question, where it stands in the run, and what all sites answered."""

    planned: Planned
    position: Position
    answers: Mapping[str, Masked]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTransport:
    """Asks the questions of a masked run; `reaches` says how sites are reached, `roll_calls` is what they signed.

    In the rounds after the first, sites get all masked answers of the round before, and work the question out.
    """

    reaches: MachineTransport
    setting: Setting
    planned: Planned
    plan: MaskedPlan
    federation: Federation
    roster: Mapping[str, str]
    terms: RunTerms
    roll_calls: Mapping[str, Signed]
    rounds: list[EndedRound] = field(default_factory=list)

    @property
    def cohort(self) -> tuple[str, ...]:
        """The sites of the run."""
        return self.terms.cohort

    @property
    def traffic(self) -> Traffic:
        """Rounds and bytes so far."""
        return self.reaches.traffic

    @property
    def seconds(self) -> list[float]:
        """What each round took."""
        return self.reaches.seconds

    def pool(self, question: Question[S]) -> S:
        """The sum of all sites' answers, of which none was seen."""
        planned = self._planned(question)
        reaches = self.reaches
        reaches.traffic.rounds += 1
        began = reaches.surroundings.monotonic()
        signed = [self.roll_calls[site] for site in self.cohort]
        position = self._next_position(signed)
        gather: Gather[MaskedReply] = gather_of(
            reaches,
            lambda site: pack_message(self._ask(site, planned, question)),
            partial(self._judged, planned, position),
            partial(self._record, position.round) if self.plan.goes_on else None,
        )
        replies = gather.answers(reaches.traffic.rounds, self._recorded(planned, position))
        answers = {site: _masked(replies[site]) for site in self.cohort}
        for site, one in answers.items():
            statements = [one.statement] if self.rounds else [one.statement, self.roll_calls[site]]
            sizes = (len(said.text) + len(said.signature) for said in statements)
            sent: Any = SentMasked(len(one.vector) + sum(sizes))
            reaches.traffic.count(sent)
        pooled: S = total(signed, answers, self.roster, planned.asked, planned.shape, position)
        self.rounds.append(EndedRound(planned, position, answers))
        reaches.seconds.append(reaches.surroundings.monotonic() - began)
        return pooled

    def _record(self, number: int, site: str, reply: MaskedReply) -> None:
        """Keep an answer: sites forget it in the next round, which needs those of all."""
        self.reaches.answers.record_masked(self.terms.run, number, site, reply)

    def _recorded(self, planned: Planned, position: Position) -> dict[str, MaskedReply]:
        """Answers to this round that came before this process was started, if they are good."""
        kept = self.reaches.answers.masked(self.terms.run, position.round) if self.plan.goes_on else {}
        for site, reply in kept.items():
            require_answer(_masked(reply), site, position, self.roster, planned.asked)
        return kept

    def _planned(self, question: Question[Any]) -> Planned:
        """How a question is asked; only a plan that goes on has another than the first."""
        if not self.rounds and to_bytes(question) == to_bytes(self.planned.question):
            return self.planned
        if not self.rounds or not self.plan.goes_on:
            raise ProtocolError("the method asks otherwise than the plan says")
        return self.plan.planned(question, self.federation, self.cohort)

    def _next_position(self, signed: Sequence[Signed]) -> Position:
        """Where the next round stands."""
        if self.rounds:
            last = self.rounds[-1]
            return after(last.position, last.answers, self.cohort)
        return Position.first(transcript_of(agreed(signed, self.roster, self.planned.asked.ring)))

    def _ask(self, site: str, planned: Planned, question: Question[Any]) -> MaskedAsk | ReplayAsk:
        """What a site is asked with."""
        run, asked = self.terms.run, planned.asked.digest
        if not self.rounds:
            calls = (self.roll_calls[one] for one in self.cohort)
            return MaskedAsk(site, run, asked, tuple((one.text, one.signature) for one in calls))
        sources = question.basis.sources if question.basis else ()
        return ReplayAsk(site, run, len(self.rounds) + 1, asked, sources, *self._last_answers())

    def _last_answers(self) -> tuple[tuple[SignedText, ...], Any]:
        """What all sites signed in the last round, and the numbers under it one after the other."""
        last = [self.rounds[-1].answers[site] for site in self.cohort]
        signed = tuple((one.statement.text, one.statement.signature) for one in last)
        return signed, MaskedReply.words(b"".join(one.vector for one in last))

    @property
    def signed_run(self) -> SignedRun:
        """What the sites signed in the one round of a run."""
        [only] = self.rounds
        calls = tuple(self.roll_calls[site] for site in self.cohort)
        return SignedRun(
            self.terms.content.decode(), calls, tuple(only.answers[site].statement for site in self.cohort)
        )

    def end(self, found: Finding) -> SignedResult | None:
        """Tell all sites that the run is over, and what it found, as `close` does."""
        order, B = found.estimate.order, found.estimate.B
        result = result_digest(order, B)
        if not self.plan.goes_on:
            return self.close(result)
        signed, vectors = self._last_answers()
        return self._ended(
            lambda site: ReplayEnd(site, self.terms.run, signed, vectors, tuple(order.tolist()), B, result)
        )

    def close(self, result: str) -> SignedResult | None:
        """Tell all sites that a run of one round is over, so that they erase its keys; what they signed, if all did.

        One that is gone erases its keys in time. `result` is the digest of what came of it.
        """
        signed, _ = self._last_answers()
        return self._ended(lambda site: MaskedEnd(site, self.terms.run, signed, result))

    def _ended(self, message: Callable[[str], MaskedEnd | ReplayEnd]) -> SignedResult | None:
        policy = replace(self.reaches.retry_policy, give_up_after=0.0)
        gather: Gather[MaskedEndReply] = gather_of(
            replace(self.reaches, retry_policy=policy),
            lambda site: pack_message(message(site)),
            lambda site, packet: reply_in(site, packet, MaskedEndReply),
        )
        try:
            ends = gather.answers(self.reaches.traffic.rounds)
        except SiteLost as lost:
            if self.reaches.warn:
                self.reaches.warn(f"{lost}; it erases what it has of the run when that expires")
            return None
        most = max(one.apart for one in ends.values())
        farthest = [repr(site) for site in self.cohort if ends[site].apart == most]
        if most and self.reaches.warn:
            self.reaches.warn(
                f"{' and '.join(farthest)}: the rows relate otherwise than those of all others, by the site's own sums "
                "beside the total, and may decide the order; have the table looked at, and compare a run without it"
            )
        return SignedResult(
            self.terms.content.decode(),
            tuple(self.roll_calls[site] for site in self.cohort),
            tuple(Signed(ends[site].statement, ends[site].signature) for site in self.cohort),
        )

    def _judged(self, planned: Planned, position: Position, site: str, packet: Packet) -> MaskedReply:
        """The reply of a site, if it is its answer in this run."""
        reply: MaskedReply = reply_in(site, packet, MaskedReply)
        if reply.refusal is None:
            try:
                require_answer(_masked(reply), site, position, self.roster, planned.asked)
            except ProtocolError as problem:
                raise SiteLost(site, f"sent what cannot be used: {problem}") from None
        return reply


@dataclass(frozen=True, slots=True)
class MaskedCaller:
    """Calls the roll of a cohort for a masked run, and has all sites sign its terms."""

    caller: RollCaller

    def held(self, method: str) -> Called:
        """What the sites said and signed; `ConfigError` where masks would not hide them all.

        Raises
        ------
        SiteLost
            When a site would refuse the run, or signed otherwise than the others.
        """
        caller, reaches = self.caller, self.caller.transport
        asked = caller.plan
        plan = MaskedPlan(
            method=method,
            settings=asked.settings,
            resampling=asked.resampling,
            title=asked.title,
            purpose=asked.purpose,
        )
        planned = plan.over(caller.federation, reaches.cohort)
        roster = {site.name: site.key for site in caller.federation.sites}
        terms = self._terms(plan)
        gather: Gather[MaskedCallReply] = gather_of(
            reaches,
            lambda site: pack_message(
                MaskedCallRequest(site, terms.content.decode(), PROGRAM, caller.known_head(site))
            ),
            partial(self._judged, terms),
        )
        replies = gather.answers(0)
        signed = {site: Signed(one.statement, one.signature) for site, one in replies.items()}
        said = self._agreed(terms, [signed[site] for site in reaches.cohort], roster, planned)
        calls = {site: _as_call(reply) for site, reply in replies.items()}
        notes = (*notes_on(calls, caller.federation), *caller.require_alike(calls), *self._told(said, roster, planned))
        if caller.federation.development_keys:
            notes = (DEVELOPMENT_KEYS, *notes)
        setting = plan.setting(caller.federation, reaches.cohort)
        declared = {(site, one.label): one.rows for site, reply in replies.items() for one in reply.blocks}
        transport = MaskedTransport(
            reaches=replace(reaches, declared=declared),
            setting=setting,
            planned=planned,
            plan=plan,
            federation=caller.federation,
            roster=roster,
            terms=terms,
            roll_calls=signed,
        )
        return Called(transport, notes, None, calls)

    @property
    def _path(self) -> Path:
        return Path(self.caller.plan.folder) / TERMS

    def _terms(self, plan: MaskedPlan) -> RunTerms:
        """The terms of this run: those of before where it is resumed over the same sites, else new ones."""
        reaches = self.caller.transport
        now = int(reaches.surroundings.now().timestamp())
        wanted = (reaches.federation, plan.text, reaches.cohort)
        try:
            before = RunTerms.read(str(json.loads(self._path.read_text(encoding="utf-8"))["terms"]))
            if (before.federation, before.plan, before.cohort) == wanted and before.expires > now + LEAST_LEFT:
                return before
        except (OSError, ValueError, KeyError, TypeError, ProtocolError):
            pass  # there was none, or none that can be used
        run = reaches.surroundings.token_bytes(RUN_BYTES).hex()
        terms = RunTerms(federation=wanted[0], run=run, plan=wanted[1], cohort=wanted[2], expires=now + LIFETIME)
        write_json(self._path, {"terms": terms.content.decode()})
        return terms

    def _judged(self, terms: RunTerms, site: str, packet: Packet) -> MaskedCallReply:
        """The reply of a site, if it is one to this roll call."""
        reply: MaskedCallReply = reply_in(site, packet, MaskedCallReply)
        self.caller.judged(terms.run, terms.digest.hex(), site, _as_call(reply))
        return reply

    def _agreed(
        self, terms: RunTerms, signed: Sequence[Signed], roster: Mapping[str, str], planned: Planned
    ) -> list[RollCall]:
        """What all sites signed, which must be these terms."""
        for site, one in zip(terms.cohort, signed, strict=True):
            try:
                said = one.read(RollCall, roster[site])
            except ProtocolError as problem:
                raise SiteLost(site, f"sent what cannot be used: {problem}") from None
            if (said.federation, said.run, said.plan) != (terms.federation, terms.run, terms.plan_digest):
                raise SiteLost(site, "signed other terms than it was asked to")
        return agreed(signed, roster, planned.asked.ring)

    def _told(self, said: Sequence[RollCall], roster: Mapping[str, str], planned: Planned) -> list[str]:
        """Raise if a site would be told by this total with those before; notes on those that have agreed."""
        before = {total_of(text) for one in said for text in one.totals}
        now = [by_marks(total, roster) for total in planned.totals]
        told = newly_told(list(before), now, self.caller.federation.colluding)
        names = {mark_of(key): name for name, key in roster.items() if key}
        agrees = {one.site for one in said if DIFFERENCES in one.agrees}
        listed = [names.get(mark, "a site that is gone") for mark in told]
        closed = [name for name in listed if name in {one.site for one in said} and name not in agrees]
        if closed:
            raise SiteLost(
                closed[0],
                "would be told by this total together with those before, and has not agreed to it; run over the same "
                "sites as before, or have it started with --agree-to-differences",
                Refusal.COHORT,
            )
        return [f"with totals of before this one tells the sums of site {name!r}; it was agreed to" for name in listed]


def gather_of(
    reaches: MachineTransport,
    pack: Callable[[str], Packet],
    judge: Callable[[str, Packet], Any],
    accepted: Callable[[str, Any], None] | None = None,
) -> Gather[Any]:
    """Gets answers of the sites that a transport reaches."""
    return Gather(
        courier=reaches.courier,
        cohort=reaches.cohort,
        pack=pack,
        judge=judge,
        accepted=accepted,
        retry_policy=reaches.retry_policy,
        progress=reaches.progress,
        warn=reaches.warn,
        surroundings=reaches.surroundings,
        heads=reaches.heads,
    )


def _masked(reply: MaskedReply) -> Masked:
    return Masked(Signed(reply.statement, reply.signature), reply.data)


def _as_call(reply: MaskedCallReply) -> RollCallReply:
    """What a reply says as any roll call does."""
    return RollCallReply(reply.site, reply.run, reply.digest, reply.program, reply.blocks, None, reply.refusal)
