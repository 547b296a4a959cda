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
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.federation.answers import ANSWERS, Answers
from fedrcd.federation.confidence import Checked
from fedrcd.federation.deployed import Courier, Deployed, Progress, Recorder, SiteLost
from fedrcd.federation.messages import cohort_layout, federation_digest
from fedrcd.federation.plan import Outcome, Resampling, RunPlan, Status
from fedrcd.federation.site_service import declared_frame
from fedrcd.methods.auto import AUTO, Choice, Circumstances, choose
from fedrcd.methods.bootstrap import Resampled, one_round, resample_groups
from fedrcd.methods.checks import Check, Remembering, ask_residuals, scale_check, single_round
from fedrcd.methods.registry import build, find
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.questions import SiteMomentsQuestion
from fedrcd.protocol.site import available_threads
from fedrcd.protocol.transport import NobodyAnswers, Setting, Transport
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.residual_sums import ResidualSums

SECONDS_PER_ROUND = 5.0
"""About what a round takes between machines; `auto` avoids rounds by it."""


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

    def run(self, courier: Courier, present: Sequence[str]) -> Outcome:
        """Run the method over the sites that are present; `ProtocolError` if a site that is needed is not."""
        choice = choose_method(self.federation, self.plan.method)
        answers = Answers(Path(self.plan.folder) / ANSWERS)
        cohort = self._cohort(present)
        for _ in self.federation.sites:
            transport = self._transport(courier, cohort, answers, _conversation(self.plan.run, cohort))
            try:
                found = self._converse(transport, choice)
            except SiteLost as lost:
                cohort = self._without(cohort, lost)
                continue
            outcome = self._outcome(choice, found, transport)
            outcome.write(self.plan.folder)
            answers.delete()
            Status(state="finished", round=outcome.rounds, warnings=outcome.warnings).write(self.plan.folder)
            return outcome
        raise ProtocolError("every site was lost")

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
        if declared_frame(self.federation) is None:
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
            if not lost.refused:
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
        declared_frame(federation) or Frame.identity(len(variables)),
        cohort_layout(federation, cohort),
        grid=ARITHMETIC[plan.arithmetic],
        constraints=plan.knowledge.constraints(variables) if plan.knowledge else None,
    )


def choose_method(federation: Federation, method: str) -> Choice:
    """The method of a run, chosen by the federation file alone if that was left open."""
    if method != AUTO:
        card = find(method)
        if card.one_table:
            raise ConfigError(f"{card.name} works on one table; over sites {card.counterpart} gives the same order")
        return Choice(method, "")
    everything = set(federation.variables)
    return choose(
        Circumstances(
            p=len(federation.variables),
            rows=sum(block.rows for block in federation.blocks),
            seconds_per_round=SECONDS_PER_ROUND,
            all_columns_somewhere=any(set(site.columns) == everything for site in federation.sites),
        )
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


def _conversation(run: str, cohort: Sequence[str]) -> str:
    """A name for what a run says to some sites; with others its moments change, to which sites would object."""
    return f"{run}.{hashlib.sha256(repr(tuple(cohort)).encode()).hexdigest()[:8]}"


def _sites(names: Sequence[str]) -> str:
    return "one site is" if len(names) == 1 else f"{len(names)} sites are"
