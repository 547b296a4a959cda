"""From a plan to an outcome: who is there, which frame, the conversation, and what to do when a site is lost."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.errors import ProtocolError
from fedrcd.federation.answers import ANSWERS, Answers
from fedrcd.federation.choosing import LESS_MAY_DO, choose_method
from fedrcd.federation.confidence import Checked
from fedrcd.federation.deployed import Courier, Deployed, Progress, Recorder, SiteLost
from fedrcd.federation.messages import cohort_layout, federation_digest
from fedrcd.federation.plan import Outcome, Resampling, RunPlan, Status
from fedrcd.federation.refusals import Refusal
from fedrcd.methods.auto import AUTO, Choice
from fedrcd.methods.bootstrap import Resampled, one_round, resample_groups
from fedrcd.methods.checks import Check, Remembering, ask_residuals, scale_check, single_round
from fedrcd.methods.registry import build, find
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.protocol.combine import NobodyAnswers
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.questions import SiteMomentsQuestion
from fedrcd.protocol.site import available_threads
from fedrcd.protocol.transport import Setting, Transport
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.residual_sums import ResidualSums

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
    _told: float = 0.0
    _refused: set[Refusal] = field(default_factory=set)

    def run(self, courier: Courier, present: Sequence[str]) -> Outcome:
        """Run the method over the sites that are present; `ProtocolError` if a site that is needed is not."""
        choice = self._choose()
        answers = Answers(Path(self.plan.folder) / ANSWERS)
        cohort = self._cohort(present)
        while True:
            conversation = _conversation(self.plan.run, cohort, choice.method)
            transport = self._transport(courier, cohort, answers, conversation)
            try:
                found = self._converse(transport, choice)
            except SiteLost as lost:
                before, choice = choice, self._instead(choice, lost)
                if choice == before:
                    cohort = self._without(cohort, lost)
                continue
            outcome = self._outcome(choice, found, transport)
            outcome.write(self.plan.folder)
            answers.delete()
            Status(state="finished", round=outcome.rounds, warnings=outcome.warnings).write(self.plan.folder)
            return outcome

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
        groups = self.plan.resampling.groups if self.plan.resampling else 1
        return choose_method(self.federation, self.plan.method, groups=groups, refused=self._refused)

    def _instead(self, choice: Choice, lost: SiteLost) -> Choice:
        """A method that asks for less than a site refused, if there is one and the choice was left open; else the same.

        A run that is resumed meets the same refusal and chooses the same.
        """
        if self.plan.method != AUTO or lost.refusal not in LESS_MAY_DO:
            return choice
        self._refused.add(lost.refusal)
        other = self._choose()
        if other.method == choice.method:
            return choice
        why, _, _ = str(lost).partition("; take ")
        self.warn(f"{why}; going on with {other.method} instead of {choice.method}")
        return other

    def _transport(self, courier: Courier, cohort: tuple[str, ...], answers: Answers, run: str) -> Deployed:
        """The transport over a cohort, in the declared frame or one that is asked for."""
        return Deployed(
            setting=run_setting(self.federation, self.plan, cohort),
            courier=courier,
            run=run,
            federation=federation_digest(self.federation),
            blocks={site.name: site.blocks for site in self.federation.sites if site.name in cohort},
            answers=answers,
            patience=self.plan.patience,
            recorder=self.recorder,
            progress=self._progress,
            warn=self.warn,
        )

    def _converse(self, transport: Deployed, choice: Choice) -> Found:
        if self.federation.declared_frame() is None:
            setting = replace(transport.setting, frame=ask_frame(transport))
            transport = replace(transport, setting=setting)
        card, setting, heard = find(choice.method), transport.setting, Remembering(transport, [])
        if self.plan.resampling is None:
            parts = build(card.name, **self.plan.options)
            estimate, resampled = drive(parts.rounds(setting), heard), None
            first = heard.answers[-1] if single_round(card) else None
        else:
            parts = one_round(card, dict(self.plan.options))
            resampled = self._resample(parts, heard, self.plan.resampling)
            estimate, first = resampled.estimate, heard.answers[-1].total()
        if not self.plan.check:
            return Found(estimate, resampled, None)
        scale = scale_check(card, parts, setting, estimate, first)
        return Found(estimate, resampled, self._check(transport, estimate, scale))

    def _resample(self, parts: Parts[Any], transport: Transport, resampling: Resampling) -> Resampled:
        """The estimate from the sums of groups, and replicates of it."""

        def tell(done: int) -> None:
            Status(
                state="resampling",
                round=transport.traffic.rounds,
                replicates=done,
                warnings=tuple(self.warnings),
            ).write(self.plan.folder)

        return resample_groups(
            parts,
            transport.setting,
            transport,
            resampling.groups,
            resampling.replicates,
            np.random.SeedSequence(resampling.seed),
            jobs=available_threads(),
            progress=tell,
        )

    def _check(self, transport: Deployed, estimate: Estimate, scale: Check) -> Checked:
        """Residual sums along the order that was found, in one round more."""
        traffic, problem = transport.traffic, ""
        before = replace(traffic)
        residuals: ResidualSums | None = None
        try:
            residuals = drive(ask_residuals(transport.setting, estimate.marginals, estimate.order), transport)
        except NobodyAnswers as reason:
            problem = str(reason)
        except SiteLost as lost:
            if lost.refusal is None:
                raise
            problem = str(lost)  # a site that will not be checked has taken part all the same
            self.warn(f"no checks: {lost}")
        rounds, bytes_sent = traffic.rounds - before.rounds, traffic.bytes_sent - before.bytes_sent
        return Checked(residuals, problem, scale, rounds, bytes_sent)

    def _progress(self, progress: Progress) -> None:
        """Write how far the run is, but not a thousand times in a round of a thousand sites."""
        now = time.monotonic()
        if progress.answered and progress.waiting and now - self._told < TELL:
            return
        self._told = now
        Status(
            state="running",
            round=progress.round,
            answered=progress.answered,
            waiting=progress.waiting,
            warnings=tuple(self.warnings),
        ).write(self.plan.folder)

    def _outcome(self, choice: Choice, found: Found, transport: Deployed) -> Outcome:
        clipped = transport.traffic.clipped
        return Outcome(
            run=self.plan.run,
            method=choice.method,
            chosen=choice.reason,
            options=find(choice.method).resolve(self.plan.options),
            variables=self.federation.variables,
            estimate=found.estimate,
            knowledge=self.plan.knowledge,
            resampled=found.resampled,
            checked=found.checked,
            sites=transport.cohort,
            missing=tuple(site.name for site in self.federation.sites if site.name not in transport.cohort),
            rounds=transport.traffic.rounds,
            bytes_sent=transport.traffic.bytes_sent,
            arithmetic=self.plan.arithmetic,
            clipped=None if clipped is None else (clipped.least, clipped.most),
            seconds=tuple(transport.seconds),
            warnings=tuple(self.warnings),
        )


class Found(NamedTuple):
    """What a conversation gave: the estimate, and what to judge it by if the plan asks for that."""

    estimate: Estimate
    resampled: Resampled | None
    checked: Checked | None


def run_setting(federation: Federation, plan: RunPlan, cohort: Sequence[str]) -> Setting:
    """What a method knows before its first question; the frame is a stand-in where none is declared."""
    variables = federation.variables
    return Setting(
        variables,
        federation.declared_frame() or Frame.identity(len(variables)),
        cohort_layout(federation, cohort),
        grid=ARITHMETIC[plan.arithmetic],
        constraints=plan.knowledge.constraints(variables) if plan.knowledge else None,
    )


def ask_frame(transport: Deployed) -> Frame:
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
