"""A site's part in a masked run: it works out what is asked, lets sums out by its door, and masks them on the way.

Whatever the coordinator says is checked against what all sites signed. The sums are judged here, for nobody else sees
them, and the state of the run changes in the transaction of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np

from fedrcd.data.federation import federation_lines
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, ProtocolError, StatisticError
from fedrcd.federation.masking import site_run
from fedrcd.federation.masking.answers import Masked, Position
from fedrcd.federation.masking.cohorts import Total, by_marks, mark_of, newly_told, total_of, total_text
from fedrcd.federation.masking.plan import MaskedPlan, Planned, Replay
from fedrcd.federation.masking.ring import Words
from fedrcd.federation.masking.site_run import Own, RunAborted, RunRefused, SiteRun
from fedrcd.federation.masking.statements import DIFFERENCES, RollCall, RunTerms, Signed, result_digest
from fedrcd.federation.messages.digests import canonical
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
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.requests import Agreement
from fedrcd.federation.messages.roll_call import PROGRAM, Plan, RollCallReply, RollCallRequest
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.federation.site.editions.choosing import EditionChoice
from fedrcd.federation.site.editions.tables import Edition
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.release import Door, Occasion, Released
from fedrcd.federation.site.roll_call import RollCallAnswer
from fedrcd.methods.registry import card_of
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.accept import require_usable
from fedrcd.protocol.site import LocalSite
from fedrcd.statistics.directions import code_of_distance

CLOSE = 1e-9
"""How far effects may be from those that a site finds itself, relative to the largest."""

LONGEST_RUN = timedelta(days=8)
"""For how long a site keeps the key of a run at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedSite:
    """A site in masked runs. `agrees` is what its people accept, `tables` reads its rows."""

    door: Door
    agreement: Agreement
    key: SiteKey | None
    tables: Callable[[], Sequence[Table]]
    agrees: tuple[str, ...] = ()

    @property
    def roster(self) -> dict[str, str]:
        """The registered keys of all sites."""
        return {site.name: site.key for site in self.agreement.federation.sites}

    @property
    def now(self) -> int:
        """Seconds since 1970."""
        return int(self.door.store.surroundings.now().timestamp())

    def call(self, request: MaskedCallRequest) -> MaskedCallReply:
        """What a run would meet here, and this site's signature under its terms; nothing else leaves."""
        try:
            terms = RunTerms.read(request.terms)
        except ProtocolError as problem:
            raise Refused(Refusal.MESSAGE, str(problem)) from None
        signer, planned = self._signer(), self._planned(terms)
        if not self.now < terms.expires <= self.now + LONGEST_RUN.total_seconds():
            raise Refused(Refusal.EXPIRED)
        self._require_untold(planned, self._known_totals(), present=terms.cohort)
        said, known = self._judged(terms, planned), self.door.store.masked.find(terms.run)
        reply = MaskedCallReply(self.door.site, terms.run, terms.digest.hex(), PROGRAM, said.blocks)
        begun = known is not None and said.refusal == Refusal.BUDGET  # what it answered so far is charged
        if said.refusal is not None and not begun:
            return replace(reply, blocks=(), refusal=said.refusal)
        own = Own(
            self.door.site,
            signer,
            "+".join(one.edition for one in said.blocks),
            sum(one.rows for one in said.blocks),
            self.agrees,
            tuple(sorted(map(total_text, self._known_totals()))),
        )
        random = self.door.store.surroundings.token_bytes
        state, signed = self._stepped(
            request.terms, lambda: site_run.call(known and known[1], terms, own, self.now, random)
        )
        if known is None:
            self.door.store.masked.keep(request.terms, state)
        return replace(reply, statement=signed.text, signature=signed.signature)

    def answer(self, asked: MaskedAsk) -> MaskedReply:
        """The masked sums; the same bytes again if they left before."""
        text, state = self._found(asked.run)
        given = self._stepped(text, lambda: site_run.stored_answer(state, asked.question, self.now))
        if given is None:
            given = self._masked_now(text, state, asked)
        signed, data = given
        words = MaskedReply.words(data)
        return MaskedReply(self.door.site, asked.run, signed.text, signed.signature, words)

    def go_on(self, asked: ReplayAsk) -> MaskedReply:
        """The masked sums of a later round, if the site's own copy of the method asks for them."""
        text, state = self._found(asked.run)
        given = self._stepped(text, lambda: site_run.stored_answer(state, asked.question, self.now, asked.round))
        if given is None:
            given = self._replayed_now(text, state, asked)
        signed, data = given
        return MaskedReply(self.door.site, asked.run, signed.text, signed.signature, MaskedReply.words(data))

    def finish(self, message: ReplayEnd) -> MaskedEndReply:
        """The signed end of a run of several rounds, if the site's own copy of the method finds the same."""
        text, state = self._found(message.run)
        signer, plan = self._signer(), self._plan_again(text)

        def replayed() -> tuple[SiteRun, Signed]:
            given = (message.answers, message.vectors, plan.sources_of(message.order))
            _, replay, _ = self._total_again(plan, state, *given)
            if replay.estimate is None:
                raise RunAborted("the run was ended before it was over", state.ended("ended too early"))
            self._require_same(replay.estimate, message, state)
            answers = [Signed(*one) for one in message.answers]
            return site_run.end(state, answers, self.roster, message.result, signer)

        over, signed = self._stepped(text, replayed)
        apart = self._apart(plan, state)
        content = {
            "method": plan.method,
            "sites": list(state.cohort),
            "variables": list(self.agreement.federation.variables),
            "order": list(message.order),
            "effects": message.effects.tolist(),
            "result": message.result,
        }
        self.door.store.masked.keep(text, over, result=canonical(content))
        return MaskedEndReply(self.door.site, message.run, signed.text, signed.signature, apart)

    def _apart(self, plan: MaskedPlan, state: SiteRun) -> int:
        """How far the rows here are from all others, as a code, by the first total and what went into it from here."""
        planned = plan.over(self.agreement.federation, state.cohort)
        asked, question = planned.asked, planned.question
        if plan.within != "none" or len(state.totals) < asked.length * asked.ring.width:
            return 0
        total: Any = planned.shape.pooled(
            asked.ring.from_bytes(state.totals[: asked.length * asked.ring.width], asked.length)
        )
        quiet = replace(self.door, dry_run=[], approve=False)
        with quiet.chosen(quiet.asked([question], state.run), self.tables()) as choice:
            rows = [LocalSite(self.door.site, one.rows, one.rows.block) for one in choice.blocks]
            answers = [site.answer(question, planned.layout) for site in rows]
        own: Any = planned.shape.pooled(planned.shape.vector(answers))
        return code_of_distance(question.distance(own, total - own))

    def end(self, message: MaskedEnd) -> MaskedEndReply:
        """The signed end of a run: its key and its answer are erased."""
        text, state = self._found(message.run)
        answers = [Signed(*one) for one in message.answers]
        over, signed = self._stepped(
            text, lambda: site_run.end(state, answers, self.roster, message.result, self._signer())
        )
        self.door.store.masked.keep(text, over)
        return MaskedEndReply(self.door.site, message.run, signed.text, signed.signature)

    def _masked_now(self, text: str, state: SiteRun, asked: MaskedAsk) -> tuple[Signed, bytes]:
        """The masked answer of a run that has not been answered; it is on the disk before this returns."""
        terms = RunTerms.read(text)
        planned, signer = self._planned(terms), self._signer()
        roll_calls = [Signed(*one) for one in asked.roll_calls]

        def verify() -> list[RollCall]:
            if asked.question != planned.asked.digest:
                raise RunAborted("another question than the plan asks", state.ended("another question"))
            return site_run.verified(state, roll_calls, self.roster, planned.asked)

        said = self._stepped(text, verify)
        others = {total_of(one) for call in said for one in call.totals}
        agreed = {mark_of(self.roster[one.site]) for one in said if DIFFERENCES in one.agrees}
        self._require_untold(planned, others | self._known_totals(), agreed=agreed)
        goes_on = MaskedPlan.read(terms.plan).goes_on

        def step(vector: Words) -> tuple[SiteRun, Signed, bytes]:
            return site_run.answer(
                state, roll_calls, self.roster, planned.asked, vector, signer, self.now, goes_on=goes_on
            )

        editions = site_run.editions_of(said)
        return self._released(text, state, _Masks(self, text, state, planned, step, agreed), 1, editions)

    def _replayed_now(self, text: str, state: SiteRun, asked: ReplayAsk) -> tuple[Signed, bytes]:
        """The masked answer of a later round; the question is the one that the method asks here, given the totals."""
        plan, signer = self._plan_again(text), self._signer()

        def verify() -> tuple[Words, Position, Planned]:
            given = (asked.answers, asked.vectors, asked.sources)
            total, replay, here = self._total_again(plan, state, *given)
            if replay.planned is None or replay.planned.asked.digest != asked.question or here.round != asked.round:
                raise RunAborted("another question than the method asks", state.ended("another question"))
            return total, here, replay.planned

        total, here, planned = self._stepped(text, verify)
        self._require_untold(planned, self._known_totals(), agreed=self.door.store.masked.consents())
        goes_on = here.round < plan.rounds(len(planned.question.variables))

        def step(vector: Words) -> tuple[SiteRun, Signed, bytes]:
            return site_run.answer_next(state, total, here, planned.asked, vector, signer, self.now, goes_on=goes_on)

        masks = _Masks(self, text, state, planned, step, set())
        return self._released(text, state, masks, here.round, state.editions)

    def _total_again(
        self,
        plan: MaskedPlan,
        state: SiteRun,
        answers: Sequence[SignedText],
        vectors: Any,
        sources: tuple[int, ...],
    ) -> tuple[Words, Replay, Position]:
        """The total of the round answered last, where the method is after it, and the position of the next round."""
        federation, cohort = self.agreement.federation, state.cohort
        data, masked = MaskedReply.bytes_of(vectors), {}
        if len(answers) != len(cohort) or not data or len(data) % len(cohort):
            raise RunAborted("the answers are not those of all sites", state.ended("answers that do not agree"))
        size = len(data) // len(cohort)
        for k, (site, one) in enumerate(zip(cohort, answers, strict=True)):
            masked[site] = Masked(Signed(*one), data[k * size : (k + 1) * size])
        try:
            replay = plan.replayed(federation, cohort, state.totals, sources, state.rows)
            assert replay.planned is not None  # it was answered
            total, here = site_run.total_of_round(state, masked, self.roster, replay.planned.asked)
            replay.add(total)
        except (ProtocolError, StatisticError, ConfigError) as problem:
            if isinstance(problem, RunAborted | RunRefused):
                raise
            raise RunAborted(str(problem), state.ended("a total or a question that cannot be")) from None
        return total, replay, here

    def _require_same(self, estimate: Estimate, message: ReplayEnd, state: SiteRun) -> None:
        """Abort unless a result is what the site finds itself: the order exactly, effects as float64 allows."""
        B, shape = message.effects, estimate.B.shape
        same = tuple(estimate.order.tolist()) == message.order and B.shape == shape
        if not same or not np.allclose(B, estimate.B, rtol=CLOSE, atol=CLOSE * np.abs(estimate.B).max(initial=0.0)):
            raise RunAborted("the result is not what the sums give", state.ended("another result"))
        if result_digest(np.array(message.order), B) != message.result:
            raise RunAborted("the digest is not that of the result", state.ended("another result"))

    def _plan_again(self, text: str) -> MaskedPlan:
        """The plan of a run whose terms were signed, if they still are terms that this site can sign."""
        if not text:
            raise Refused(Refusal.RUN, "the run is over here")
        terms = RunTerms.read(text)
        self._planned(terms)
        return MaskedPlan.read(terms.plan)

    def _released(self, text: str, state: SiteRun, masks: _Masks, number: int, editions: str) -> tuple[Signed, bytes]:
        """What leaves by the door, under masks; it is on the disk before this returns."""
        planned = masks.planned
        terms = RunTerms.read(text)
        within = MaskedPlan.read(terms.plan).within
        occasion = Occasion(
            state.run,
            number,
            planned.asked.digest,
            planned.layout,
            terms.federation,
            within=within,
            noise_parts=len(state.cohort) - self.agreement.federation.colluding,
            editions=editions,
        )
        try:
            self.door.release(
                [planned.question],
                self.tables(),
                occasion._replace(masked=True, replayed=number > 1),
                masks,
            )
        except RunAborted as problem:
            self._abort(text, problem)
        [answer] = masks.made
        return answer

    def _planned(self, terms: RunTerms) -> Planned:
        """What the terms of a run make this site answer, if they are terms that it can sign."""
        federation, site = self.agreement.federation, self.door.site
        if terms.federation != self.agreement.digest:
            raise Refused(Refusal.FEDERATION)
        self._require_accepted()
        in_order = tuple(one.name for one in federation.sites if one.name in terms.cohort)
        if terms.cohort != in_order or site not in in_order:
            raise Refused(Refusal.MESSAGE)
        keyless = [one.name for one in federation.sites if one.name in terms.cohort and not one.key]
        if keyless:
            raise Refused(Refusal.MASKS, f"the federation file has no key of site {keyless[0]!r}")
        try:
            plan = MaskedPlan.read(terms.plan)
            private = card_of(plan.method).private  # what is chosen changes no noise
            if plan.goes_on and not private and plan.given != federation.agreed and not self.door.approve:
                raise Refused(Refusal.KNOWLEDGE)  # who chooses them chooses the order of residuals
            return plan.over(federation, terms.cohort)
        except ConfigError as problem:
            raise Refused(Refusal.MASKS, str(problem)) from None
        except ProtocolError as problem:
            if isinstance(problem, Refused):
                raise
            raise Refused(Refusal.PLAN, str(problem)) from None

    def _require_accepted(self) -> None:
        """Refuse a federation file that is not the one of before, until a person here has seen what changed.

        Who writes the keys in it decides who sits behind the masks. The first one is taken as it is.
        """
        masked, text = self.door.store.masked, "\n".join(federation_lines(self.agreement.federation))
        known = masked.accepted()
        if not known:
            masked.accept(text)
        elif known != text:
            raise Refused(Refusal.ROSTER)

    def _judged(self, terms: RunTerms, planned: Planned) -> RollCallReply:
        """What the door would say to the run, as in any roll call."""
        plan = MaskedPlan.read(terms.plan)
        asked = Plan(
            plan.method, plan.settings.method_options, plan.settings.summation, plan.groups, False, plan.settings.within
        )
        request = RollCallRequest(terms.run, terms.federation, self.door.site, terms.cohort, asked, plan.program)
        request = replace(request, title=plan.title, purpose=plan.purpose)
        door = replace(self.door, trusts=self.door.trusts or plan.goes_on)  # sites work out what is asked
        return RollCallAnswer(door, list(self.tables()), request, planned.layout).reply()

    def _signer(self) -> SiteKey:
        """The registered key of this site."""
        if self.key is None:
            raise Refused(Refusal.KEY)
        try:
            self.key.require(self.roster[self.door.site], self.door.site)
        except ConfigError as problem:
            raise Refused(Refusal.KEY, str(problem)) from None
        return self.key

    def _found(self, run: str) -> tuple[str, SiteRun]:
        """The terms of a run and the state in it."""
        known = self.door.store.masked.find(run)
        if known is None:
            raise Refused(Refusal.RUN, "there was no roll call of this run")
        return known

    def _stepped(self, text: str, step: Callable[[], Any]) -> Any:
        """A step of the run; where a check fails its key and answer are erased."""
        try:
            return step()
        except RunAborted as problem:
            self._abort(text, problem)
        except RunRefused as problem:
            raise Refused(Refusal.RUN, str(problem)) from None

    def _abort(self, text: str, problem: RunAborted) -> None:
        """Erase what a run has here, and refuse."""
        self.door.store.masked.keep(text, problem.state)
        code = Refusal.EXPIRED if problem.state.reason == "expired" else Refusal.RUN
        raise Refused(code, f"run {problem.state.run[:12]}: {problem}") from None

    def _known_totals(self) -> set[Total]:
        """Totals that sums of this site went into: under masks with those of others, in the clear alone."""
        store, roster, site = self.door.store, self.roster, self.door.site
        open_ones = {
            entry.block for entry in store.entries() if entry.outcome == ANSWERED and not entry.masked and entry.block
        }
        return store.masked.totals() | {by_marks([(site, block)], roster) for block in open_ones}

    def _require_untold(
        self,
        planned: Planned,
        before: set[Total],
        *,
        present: Sequence[str] = (),
        agreed: set[str] | frozenset[str] = frozenset(),
    ) -> None:
        """Refuse totals that, with those before, tell a site that has not agreed; those `present` are asked later.

        Who agreed is known of the sites of this run and of those that were in runs with this one: the others are for
        those to guard who were in runs with them.
        """
        roster, now = self.roster, [by_marks(one, self.roster) for one in planned.totals]
        told = newly_told(list(before), now, self.agreement.federation.colluding)
        mine = {mark for total in self.door.store.masked.totals() for mark, _ in total}
        here = {mark for total in now for mark, _ in total}
        later = {mark_of(roster[site]) for site in present}
        known = agreed | self.door.store.masked.consents()
        names = {mark_of(site.key): site.name for site in self.agreement.federation.sites}
        closed = [mark for mark in told if mark in mine | here and mark not in known | later]
        if closed:
            listed = ", ".join(
                repr(names.get(mark, "a site that is no more in the federation file")) for mark in closed
            )
            raise Refused(Refusal.COHORT, f"with what left before, this total would tell {listed}")


@dataclass(frozen=True, slots=True)
class _Masks:
    """Masks what the door lets out, in the transaction that writes it down."""

    site: MaskedSite
    text: str
    state: SiteRun
    planned: Planned
    step: Callable[[Words], tuple[SiteRun, Signed, bytes]]
    agreed: set[str]
    made: list[tuple[Signed, bytes]] = field(default_factory=list)

    def before(self, choice: EditionChoice) -> None:
        """Nothing hangs on it."""

    def after(self, released: list[Released], editions: Sequence[Edition]) -> None:
        """Mask the sums, and keep the answer in place of the key."""
        [one], planned, site = released, self.planned, self.site
        answered = [edition.label for (_, sums), edition in zip(one.blocks, editions, strict=True) if sums is not None]
        assert self.state.roll_call is not None
        if "+".join(answered) != RollCall.read(self.state.roll_call.text).edition:
            raise RunAborted("the rows are others than at the roll call", self.state.ended("other rows"))
        for block, sums in one.blocks:
            if sums is not None:
                self._require_good(block, sums)
        vector = planned.shape.vector(sums for _, sums in one.blocks)
        done, signed, data = self.step(vector)
        masked = site.door.store.masked
        masked.put(self.text, done)
        masked.note([by_marks(total, site.roster) for total in planned.totals], self.agreed)
        self.made.append((signed, data))

    def _require_good(self, block: str, sums: Any) -> None:
        """Refuse sums that a coordinator would not have accepted in the clear."""
        question, site = self.planned.question, self.site.door.site
        try:
            if not question.accepts(sums, (site, block)):
                raise Refused(Refusal.FAILED, "the sums are not of the kind that is asked for")
            require_usable(question, sums, site)
        except StatisticError as problem:
            raise Refused(Refusal.OVERFLOW, str(problem)) from None


MaskedMessage = MaskedCallRequest | MaskedAsk | MaskedEnd | ReplayAsk | ReplayEnd
"""What may arrive."""

REPLIES: dict[type[Any], Callable[..., Any]] = {
    MaskedCallRequest: MaskedCallReply,
    MaskedAsk: MaskedReply,
    MaskedEnd: MaskedEndReply,
    ReplayAsk: MaskedReply,
    ReplayEnd: MaskedEndReply,
}
"""What is sent back."""


def respond(site: MaskedSite, message: MaskedMessage) -> Any:
    """The reply to a message of a masked run; whatever it is, keys of runs whose time is over are erased first."""
    site.door.store.masked.end_expired(site.now)
    if isinstance(message, MaskedCallRequest):
        return site.call(message)
    if isinstance(message, MaskedAsk):
        return site.answer(message)
    if isinstance(message, ReplayAsk):
        return site.go_on(message)
    return site.finish(message) if isinstance(message, ReplayEnd) else site.end(message)
