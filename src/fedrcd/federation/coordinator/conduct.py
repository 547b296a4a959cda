"""From a plan to a finding: who is there, which frame, the conversation, and what to do when a site is lost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.federation.coordinator.called_sites import CalledSite, CalledSites
from fedrcd.federation.coordinator.deciding_sites import SumsOfSites, can_leave_out, tell_deciding, without_each
from fedrcd.federation.coordinator.gather import Courier, RoundProgress, SiteLost
from fedrcd.federation.coordinator.known_heads import KnownHeads
from fedrcd.federation.coordinator.masked import OVER, TERMS, MaskedCaller, MaskedTransport
from fedrcd.federation.coordinator.masked_refresh import MaskedRefresher
from fedrcd.federation.coordinator.recorded_answers import ANSWERS, RecordedAnswers
from fedrcd.federation.coordinator.refresh import Refreshed, Refresher
from fedrcd.federation.coordinator.roll_call import Called, RollCaller
from fedrcd.federation.coordinator.run_folder import REFRESHED, RunPlan, Status, write_json
from fedrcd.federation.coordinator.saved_finding import write_finding
from fedrcd.federation.coordinator.transport import MachineTransport, Recorder
from fedrcd.federation.coordinator.unlike_sites import MomentsWatch
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.masking.signed_result import SIGNATURES
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import cohort_layout, federation_digest
from fedrcd.federation.method_choice import LESS_MAY_DO, choose_method
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.methods.auto import AUTO, Choice
from fedrcd.methods.registry import card_of
from fedrcd.methods.within import choose_within
from fedrcd.protocol.in_process import Within, after_own
from fedrcd.protocol.moment_questions import SiteMomentsQuestion
from fedrcd.protocol.site import available_threads
from fedrcd.protocol.transport import Setting
from fedrcd.runs.finding import Finding
from fedrcd.runs.run import Run, nobody_answers
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

TELL = 0.5
"""Seconds between two writings of the status."""


@dataclass(slots=True)
class Conductor:
    """Conducts one run, and keeps its status file up to date."""

    plan: RunPlan
    federation: Federation
    recorder: Recorder | None = None
    say: Callable[[str], None] = print
    warnings: list[str] = field(default_factory=list)
    surroundings: Surroundings = REAL
    _written: float = 0.0
    _refused: set[Refusal] = field(default_factory=set)

    def run(self, courier: Courier, present: Sequence[str]) -> Finding:
        """Run the method over the sites that are present; `ProtocolError` if a site that is needed is not."""
        self.plan.settings.check_over_machines()  # what is wrong here is said here, not by the sites
        choice = self._choose()
        answers = self._recorded()
        cohort = self._cohort(present)
        while True:
            conversation = _conversation(self.plan.run, cohort, choice.method)
            transport = self._transport(courier, cohort, answers, conversation)
            try:
                called = self._called(transport, choice)
                found = self._converse(called, choice)
            except SiteLost as lost:
                if lost.refusal in OVER:
                    (Path(self.plan.folder) / TERMS).unlink(missing_ok=True)
                before, choice = choice, self._instead(choice, lost)
                if choice == before:
                    cohort = self._without(cohort, lost)
                continue
            write_finding(self.plan.folder, found)
            answers.delete()
            if isinstance(called.transport, MaskedTransport):
                signed = called.transport.end(found)
                (Path(self.plan.folder) / TERMS).unlink(missing_ok=True)
                if signed is not None:
                    write_json(Path(self.plan.folder) / SIGNATURES, signed.as_dict())
                if found.warnings != tuple(self.warnings):  # sites say at the end how their rows compare
                    found = replace(found, warnings=tuple(self.warnings))
                    write_finding(self.plan.folder, found)
            Status(state="finished", round=found.rounds, warnings=tuple(self.warnings)).write(self.plan.folder)
            return found

    def _recorded(self) -> RecordedAnswers:
        """What sites answered to this run before its coordinator was stopped."""
        answers = RecordedAnswers(Path(self.plan.folder) / ANSWERS, self.surroundings)
        answers.mend()
        return answers

    def ask(self, courier: Courier, present: Sequence[str]) -> CalledSites:
        """What every site that is present says to the run, which is not begun: nothing of its sums leaves a site."""
        self.plan.settings.check_options()
        choice, said = self._choose(), dict[str, CalledSite]()
        cohort = tuple(site.name for site in self.federation.sites if site.name in present)
        while cohort:
            answers = self._recorded()
            conversation = _conversation(self.plan.run, cohort, choice.method)
            try:
                self._called(self._transport(courier, cohort, answers, conversation), choice, said)
                break
            except SiteLost as lost:
                if not lost.site:
                    raise
                said[lost.site] = CalledSite(refusal=str(lost))
                cohort = tuple(name for name in cohort if name != lost.site)
            except ConfigError as problem:  # too few are left for masks
                said |= {name: CalledSite(refusal=f"not asked any more: {problem}") for name in cohort}
                break
            finally:
                (Path(self.plan.folder) / TERMS).unlink(missing_ok=True)
        called = self._note_called(choice, said)
        Status(state="finished", warnings=tuple(self.warnings)).write(self.plan.folder)
        return called

    def refresh(self, courier: Courier, present: Sequence[str]) -> Refreshed:
        """Bring the ledger of the plan up to date with the sites that are present."""
        plan = self.plan
        cohort = self._cohort(present)
        with Ledger.open(plan.ledger, key=plan.ledger_key or None, surroundings=self.surroundings) as ledger:
            if ledger.masked:
                refreshed = self._refresh_masked(ledger, courier, cohort)
            else:
                refreshed = self._refresh_clear(ledger, courier, cohort)
        write_json(Path(plan.folder) / REFRESHED, refreshed.as_dict())
        Status(state="finished", round=2, warnings=tuple(self.warnings)).write(plan.folder)
        return refreshed

    def _refresh_clear(self, ledger: Ledger, courier: Courier, cohort: tuple[str, ...]) -> Refreshed:
        """Bring a ledger of contributions up to date."""
        return Refresher(
            federation=self.federation,
            ledger=ledger,
            courier=courier,
            cohort=cohort,
            retry_policy=self.plan.retry_policy,
            progress=self._progress,
            warn=self.warn,
            surroundings=self.surroundings,
            heads=KnownHeads.read(self.plan.heads, self.federation),
        ).run()

    def _refresh_masked(self, ledger: Ledger, courier: Courier, cohort: tuple[str, ...]) -> Refreshed:
        """Bring a ledger of totals up to date; a run that is over at a site is started anew."""
        answers = self._recorded()
        terms: set[Path] = set()

        def calls(plan: RunPlan, method: str) -> MaskedTransport:
            terms.add(Path(plan.folder) / TERMS)
            transport = self._transport(courier, cohort, answers, _conversation(plan.run, cohort, method), plan)
            transport_of: MaskedTransport = (
                MaskedCaller(RollCaller(self.federation, plan, transport)).held(method).transport
            )
            return transport_of

        refresher = MaskedRefresher(
            plan=self.plan, federation=self.federation, ledger=ledger, cohort=cohort, calls=calls, warn=self.warn
        )
        while True:
            try:
                refreshed = refresher.run()
            except SiteLost as lost:
                known = [path for path in terms if path.exists()]
                if lost.refusal not in OVER or not known:
                    raise
                for path in known:
                    path.unlink()
                continue
            for path in terms:
                path.unlink(missing_ok=True)
            return refreshed

    def warn(self, text: str) -> None:
        """Say something that the operator must see, now and with the result."""
        self.warnings.append(text)
        self.say(f"WARNING: {text}")

    def fail(self, error: str, exit_code: int) -> None:
        """Write that the run failed."""
        Status(state="failed", error=error, exit_code=exit_code, warnings=tuple(self.warnings)).write(self.plan.folder)

    def _cohort(self, present: Sequence[str]) -> tuple[str, ...]:
        """The sites of the run: all of the federation, or those that are there if the operator allowed it."""
        expected = [site.name for site in self.federation.sites]
        missing = [name for name in expected if name not in present]
        if not missing:
            return tuple(expected)
        names = ", ".join(map(repr, missing))
        if not self.plan.allow_missing:
            raise ProtocolError(
                f"{_sites(missing)} missing: {names}; start them and run again, or go on without by --allow-missing"
            )
        if len(missing) == len(expected):
            raise ProtocolError("no site is there; `fedrcd coordinator status` shows who is")
        self.warn(f"going on without {names}: the result is about the rows of the other sites only")
        return tuple(name for name in expected if name in present)

    def _without(self, cohort: tuple[str, ...], lost: SiteLost) -> tuple[str, ...]:
        """The cohort without a site that was lost; raises where that is not allowed."""
        if not self.plan.allow_missing or len(cohort) == 1:
            raise lost
        self.warn(f"{lost}; starting anew without it: the result is about the rows of the other sites only")
        return tuple(name for name in cohort if name != lost.site)

    def _choose(self) -> Choice:
        """The method, by all that is known so far."""
        return choose_method(
            self.federation,
            self.plan.settings.method,
            groups=self.plan.resampling.groups if self.plan.resampling else 1,
            refused=self._refused,
            trust_coordinator=self.plan.trust_coordinator,
            masked=self.plan.settings.masked,
        )

    def _instead(self, choice: Choice, lost: SiteLost) -> Choice:
        """A method that asks for less than a site refused, if there is one and the choice was left open; else the same.

        A run that is resumed meets the same refusal and chooses the same.
        """
        if self.plan.settings.method != AUTO or lost.refusal not in LESS_MAY_DO:
            return choice
        self._refused.add(lost.refusal)
        other = self._choose()
        if other.method == choice.method:
            return choice
        why, _, _ = str(lost).partition("; take ")
        self.warn(f"{why}; going on with {other.method} instead of {choice.method}")
        return other

    def _transport(
        self,
        courier: Courier,
        cohort: tuple[str, ...],
        answers: RecordedAnswers,
        run: str,
        plan: RunPlan | None = None,
    ) -> MachineTransport:
        """The transport over a cohort, in the declared frame or one that is asked for."""
        return MachineTransport(
            setting=run_setting(self.federation, plan or self.plan, cohort),
            courier=courier,
            run=run,
            federation=federation_digest(self.federation),
            blocks={site.name: site.blocks for site in self.federation.sites if site.name in cohort},
            answers=answers,
            retry_policy=self.plan.retry_policy,
            recorder=self.recorder,
            watch=MomentsWatch(self.federation, self.plan, self.warn),
            progress=self._progress,
            warn=self.warn,
            surroundings=self.surroundings,
            heads=KnownHeads.read(self.plan.heads, self.federation),
        )

    def _called(self, transport: MachineTransport, choice: Choice, said: dict[str, CalledSite] | None = None) -> Called:
        """What came of the roll call: in the clear, or of a run whose sums are masked; `said` is what others said."""
        caller, said = RollCaller(self.federation, self.plan, transport), said if said is not None else {}
        try:
            masked = self.plan.settings.masked
            called = MaskedCaller(caller).held(choice.method) if masked else caller.held(choice.method)
        except SiteLost as lost:
            self._note_called(choice, {**said, lost.site: CalledSite(refusal=str(lost))})
            raise
        said |= {site: CalledSite.of(reply) for site, reply in called.replies.items()}
        self._note_called(choice, said)
        return called

    def _note_called(self, choice: Choice, said: Mapping[str, CalledSite]) -> CalledSites:
        """Write down what the sites said, for whoever looks at the run."""
        called = CalledSites(self.surroundings.now().isoformat(timespec="seconds"), choice.method, said)
        called.write(self.plan.folder)
        return called

    def _converse(self, called: Called, choice: Choice) -> Finding:
        """What the method finds over a cohort, with all that the plan asks for beside it."""
        transport: Any = called.transport
        for note in called.notes:
            if note not in self.warnings:
                self.warn(note)
        plan, card = self.plan, card_of(choice.method)
        within, why = self._within(transport)
        if isinstance(transport, MachineTransport):
            frame = self.federation.declared_frame() or ask_frame(transport)
            setting = replace(transport.setting, frame=after_own(frame, within))
            transport = replace(transport, setting=setting, within=within)
        heard = SumsOfSites(self.recorder)
        if isinstance(transport, MachineTransport):
            transport = replace(transport, recorder=heard)
        run = Run(transport, plan.settings, card, transport.cohort, "; ".join(filter(None, (choice.reason, why))))
        found = run.find(
            resampling=plan.resampling,
            check=plan.check,
            standardised=plan.check_scale and (card.rounds.once or plan.resampling is not None),
            jobs=available_threads(),
            progress=lambda done: self._tell_replicates(transport, done),
            forgives=self._forgives,
            no_checks=called.no_checks,
        )
        if not plan.resampling and can_leave_out(run, len(heard.rows)):
            tell_deciding(without_each(run, found.estimate, heard), Path(plan.folder), self.warn)
        return replace(
            found,
            run=plan.run,
            missing=tuple(site.name for site in self.federation.sites if site.name not in transport.cohort),
            seconds=tuple(transport.seconds),
            warnings=tuple(self.warnings),
        )

    def _within(self, transport: Any) -> tuple[Within, str]:
        """How sites express their rows, and why, where that was left open: then they are asked for their moments."""
        wanted = self.plan.settings.within
        if wanted != "auto":
            return wanted, ""
        unframed = Frame.identity(len(self.federation.variables))
        within, reason = choose_within(replace(transport, setting=replace(transport.setting, frame=unframed)))
        return within, f"within={within!r} because {reason}"

    def _forgives(self, problem: ProtocolError) -> bool:
        """Whether the result stands although checks cannot be had: a site that refuses them took part all the same."""
        if isinstance(problem, SiteLost) and problem.refusal is not None:
            self.warn(f"no checks: {problem}")
            return True
        return nobody_answers(problem)

    def _tell_replicates(self, transport: Any, done: int) -> None:
        Status(
            state="resampling",
            round=transport.traffic.rounds,
            replicates=done,
            warnings=tuple(self.warnings),
        ).write(self.plan.folder)

    def _progress(self, progress: RoundProgress) -> None:
        """Write how far the run is, but not a thousand times in a round of a thousand sites."""
        now = self.surroundings.monotonic()
        if progress.answered and progress.waiting and now - self._written < TELL:
            return
        self._written = now
        Status(
            state="running",
            round=progress.round,
            answered=progress.answered,
            waiting=progress.waiting,
            warnings=tuple(self.warnings),
        ).write(self.plan.folder)


def run_setting(federation: Federation, plan: RunPlan, cohort: Sequence[str]) -> Setting:
    """What a method knows before its first question; the frame is a stand-in where none is declared."""
    variables = federation.variables
    parts = len(cohort) if plan.settings.wants_noise else 1  # each adds all of it: none relies on others
    setting = Setting(
        variables,
        federation.declared_frame() or Frame.identity(len(variables)),
        cohort_layout(federation, cohort),
        grid=ARITHMETIC[plan.settings.summation],
        past=federation.lags,
        noise_parts=parts,
    )
    return setting.knowing(plan.settings.knowledge)


def ask_frame(transport: MachineTransport) -> Frame:
    """A frame from one round: pooled means and standard deviations, coarse enough to be the same on any machine."""
    variables = transport.setting.variables
    pooled = transport.pool(SiteMomentsQuestion(variables, Frame.identity(len(variables))))
    _, n, nm, nm2, nv, _, _ = pooled.sums
    mean = nm / n
    variance = (nv + nm2) / n - mean**2
    scale = np.exp2(np.round(np.log2(variance) / 2))
    return Frame(np.round(mean / scale) * scale, scale)


def _conversation(run: str, cohort: Sequence[str], method: str) -> str:
    """A name for what a method says to some sites: another one, or others' moments, sites would take for a lie."""
    return f"{run}.{hashlib.sha256(repr((tuple(cohort), method)).encode()).hexdigest()[:8]}"


def _sites(names: Sequence[str]) -> str:
    return "one site is" if len(names) == 1 else f"{len(names)} sites are"
