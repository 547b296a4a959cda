"""A masked run over machines: the coordinator carries what sites sign, adds what they mask, and sees nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.gather import Gather, SiteLost
from fedrcd.federation.coordinator.roll_call import Called, RollCaller, notes_on
from fedrcd.federation.coordinator.run_folder import write_json
from fedrcd.federation.coordinator.transport import MachineTransport
from fedrcd.federation.ledger.digests import canonical, digest
from fedrcd.federation.masking.adding import Masked, require_answer, total
from fedrcd.federation.masking.cohorts import by_marks, mark_of, newly_told, total_of
from fedrcd.federation.masking.in_process import SentMasked
from fedrcd.federation.masking.plan import MaskedPlan, Planned
from fedrcd.federation.masking.site_run import agreed, transcript_of
from fedrcd.federation.masking.statements import DIFFERENCES, RUN_BYTES, RollCall, RunTerms, Signed
from fedrcd.federation.messages.envelope import pack_message, unpack_answer
from fedrcd.federation.messages.masked import (
    MaskedAsk,
    MaskedCallReply,
    MaskedCallRequest,
    MaskedEnd,
    MaskedEndReply,
    MaskedReply,
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

LEAST_LEFT = 3600
"""Seconds that a run must last when it is resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTransport:
    """Asks the one question of a masked run; `reaches` says how sites are reached, `said` is what they signed."""

    reaches: MachineTransport
    setting: Setting
    planned: Planned
    roster: Mapping[str, str]
    terms: RunTerms
    roll_calls: Mapping[str, Signed]
    answers: dict[str, Masked] = field(default_factory=dict)

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
        if to_bytes(question) != to_bytes(self.planned.question):
            raise ProtocolError("the method asks otherwise than the plan says: a masked run asks once")
        reaches = self.reaches
        reaches.traffic.rounds += 1
        began = reaches.surroundings.monotonic()
        signed = [self.roll_calls[site] for site in self.cohort]
        said = agreed(signed, self.roster, self.planned.asked.ring)
        shown = tuple((one.text, one.signature) for one in signed)
        gather: Gather[MaskedReply] = _gather(
            reaches,
            lambda site: pack_message(MaskedAsk(site, self.terms.run, self.planned.asked.digest, shown)),
            partial(self._judged, transcript_of(said)),
        )
        replies = gather.answers(reaches.traffic.rounds)
        for site in self.cohort:
            self.answers[site] = _masked(replies[site])
            sizes = (
                len(one.text) + len(one.signature) for one in (self.roll_calls[site], self.answers[site].statement)
            )
            sent: Any = SentMasked(len(self.answers[site].vector) + sum(sizes))
            reaches.traffic.count(sent)
        pooled: S = total(signed, self.answers, self.roster, self.planned.asked, self.planned.shape)
        reaches.seconds.append(reaches.surroundings.monotonic() - began)
        return pooled

    def end(self, found: Finding) -> None:
        """Tell all sites that the run is over, so that they erase its keys; one that is gone erases them in time."""
        answers = tuple(
            (one.statement.text, one.statement.signature) for one in map(self.answers.get, self.cohort) if one
        )
        result = result_digest(found)
        policy = replace(self.reaches.retry_policy, retries=0)
        gather: Gather[MaskedEndReply] = _gather(
            replace(self.reaches, retry_policy=policy),
            lambda site: pack_message(MaskedEnd(site, self.terms.run, answers, result)),
            lambda site, packet: _read(site, packet, MaskedEndReply),
        )
        try:
            gather.answers(self.reaches.traffic.rounds)
        except SiteLost as lost:
            if self.reaches.warn:
                self.reaches.warn(f"{lost}; it erases what it has of the run when that expires")

    def _judged(self, transcript: bytes, site: str, packet: Packet) -> MaskedReply:
        """The reply of a site, if it is its answer in this run."""
        reply: MaskedReply = _read(site, packet, MaskedReply)
        if reply.refusal is None:
            try:
                require_answer(_masked(reply), site, transcript, self.roster, self.planned.asked)
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
        plan = MaskedPlan(method=method, settings=caller.plan.settings, resampling=caller.plan.resampling)
        planned = plan.over(caller.federation, reaches.cohort)
        roster = {site.name: site.key for site in caller.federation.sites}
        terms = self._terms(plan)
        gather: Gather[MaskedCallReply] = _gather(
            reaches,
            lambda site: pack_message(MaskedCallRequest(site, terms.content.decode(), PROGRAM)),
            partial(self._judged, terms),
        )
        try:
            replies = gather.answers(0)
            signed = {site: Signed(one.statement, one.signature) for site, one in replies.items()}
            said = self._agreed(terms, [signed[site] for site in reaches.cohort], roster, planned)
        except SiteLost as lost:
            if lost.refusal in {Refusal.RUN, Refusal.EXPIRED}:
                self._path.unlink(missing_ok=True)  # the same command starts another run
            raise
        calls = {site: _as_call(reply) for site, reply in replies.items()}
        notes = (*notes_on(calls), *caller.require_alike(calls), *self._told(said, roster, planned))
        setting = plan.setting(caller.federation, planned.layout)
        transport = MaskedTransport(
            reaches=reaches, setting=setting, planned=planned, roster=roster, terms=terms, roll_calls=signed
        )
        return Called(transport, notes, None)

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
        reply: MaskedCallReply = _read(site, packet, MaskedCallReply)
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


def result_digest(found: Finding) -> str:
    """What identifies a result: the order, and the effects to the bit."""
    estimate = found.estimate
    content = {"order": estimate.order.tolist(), "B": [[value.hex() for value in row] for row in estimate.B.tolist()]}
    return digest("result of a masked run", canonical(content).encode())


def _gather(
    reaches: MachineTransport, pack: Callable[[str], Packet], judge: Callable[[str, Packet], Any]
) -> Gather[Any]:
    return Gather(
        courier=reaches.courier,
        cohort=reaches.cohort,
        pack=pack,
        judge=judge,
        retry_policy=reaches.retry_policy,
        progress=reaches.progress,
        warn=reaches.warn,
        surroundings=reaches.surroundings,
    )


def _read(site: str, packet: Packet, kind: Callable[..., Any]) -> Any:
    """The reply in a packet, under the name of the site."""
    try:
        reply = unpack_answer(packet, kind)
    except ProtocolError as problem:
        raise SiteLost(site, f"sent something that is not a reply: {problem}") from None
    if reply.site != site:
        raise SiteLost(site, "answered under another site's name; its key and its --name must belong together")
    return reply


def _masked(reply: MaskedReply) -> Masked:
    return Masked(Signed(reply.statement, reply.signature), reply.data)


def _as_call(reply: MaskedCallReply) -> RollCallReply:
    """What a reply says as any roll call does."""
    return RollCallReply(reply.site, reply.run, reply.digest, reply.program, reply.blocks, None, reply.refusal)
