"""One run of a method, whichever transport it goes over: what it asks, and what it finds.

Tables in one process, sites on machines and sums in a ledger differ in how their transport is made, and in nothing
that happens here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedrcd.confidence.checks import scale_check
from fedrcd.confidence.replicates import Resampled, one_round, resample_groups
from fedrcd.errors import ProtocolError
from fedrcd.methods.card import Card
from fedrcd.methods.examination import ask_residuals
from fedrcd.methods.on_card import on_card
from fedrcd.methods.past import at_present
from fedrcd.methods.registry import build, find
from fedrcd.methods.settings import Settings
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.protocol.changed_units import Rescaled
from fedrcd.protocol.combine import NobodyAnswers
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.transport import Setting, Traffic, Transport
from fedrcd.runs.finding import Checked, Finding, Resampling
from fedrcd.runs.replay import Remembering, Replayed
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.residual_sums import ResidualSums
from fedrcd.typing import IntVector


def nobody_answers(problem: ProtocolError) -> bool:
    """Whether checks cannot be had because no site holds what they need: the result stands without them."""
    return isinstance(problem, NobodyAnswers)


@dataclass(frozen=True, slots=True)
class Run:
    """A method about to ask a federation.

    Parameters
    ----------
    transport : Transport
        Carries the questions; anything with `setting` and `pool`.
    settings : Settings
        Checked, with prior knowledge in its own form.
    card : Card
        The method: that of the settings, or the one chosen for `auto`.
    sites : tuple of str
        Who is asked, as far as it is known.
    chosen : str
        Why this method.
    device : Accelerator, optional
        Where the loops of the method are, if not in memory.
    """

    transport: Transport
    settings: Settings
    card: Card
    sites: tuple[str, ...] = ()
    chosen: str = ""
    device: Accelerator | None = None

    @property
    def setting(self) -> Setting:
        """What the method knows before its first question."""
        return self.transport.setting.knowing(self.settings.knowledge)

    @property
    def parts(self) -> Parts[Any]:
        """The method with its options set."""
        parts = build(self.card.name, **self.settings.method_options)
        if self.device is None:
            return parts
        return on_card(parts, self.device, self.setting, getattr(self.transport, "sites", ()))

    def find(
        self,
        *,
        resampling: Resampling | None = None,
        check: bool = False,
        standardised: bool = False,
        jobs: int = 1,
        progress: Callable[[int], None] | None = None,
        forgives: Callable[[ProtocolError], bool] = nobody_answers,
        no_checks: ProtocolError | None = None,
    ) -> Finding:
        """Run the method, and ask for what else is wanted of it.

        Parameters
        ----------
        resampling : Resampling, optional
            Ask for sums of groups of rows instead, and draw replicates from them.
        check : bool
            Ask, in one round more, for what checks of assumptions need.
        standardised : bool
            Find the order of standardised variables too; a method of several rounds asks all of them again.
        jobs : int
            Processes for the replicates.
        progress : callable, optional
            Called with the number of replicates done.
        forgives : callable
            Whether the result stands without checks, although asking for them met this problem.
        no_checks : ProtocolError, optional
            What asking for checks would meet, where that is known before: then nobody is asked.
        """
        setting, heard, resampled = self.setting, Remembering(self.transport), None
        if resampling is None:
            parts = self.parts
            estimate = drive(parts.rounds(setting), heard)
        else:
            parts = one_round(self.card, self.settings.method_options)
            resampled = resample_groups(
                parts,
                setting,
                heard,
                resampling.groups,
                resampling.replicates,
                np.random.SeedSequence(resampling.seed),
                jobs=jobs,
                progress=progress,
            )
            estimate = resampled.estimate
        spent = replace(heard.traffic)
        answers = list(heard.answers) if self.card.rounds.once or resampled else None
        rivals = self._rivals(estimate, heard.answers[:1]) if resampled is None else {}
        again = check or standardised
        order = self._order_of_standardised(parts, estimate, answers, ask=standardised) if again else None
        ordered = order if answers else None
        checked = self.check(estimate, ordered, forgives=forgives, known=no_checks) if check else None
        found = self.finding(
            estimate, spent, resampled=resampled, checked=checked, standardised=order if standardised else None
        )
        return replace(found, rivals=rivals)

    def check(
        self,
        estimate: Estimate,
        standardised: IntVector | None,
        *,
        forgives: Callable[[ProtocolError], bool] = nobody_answers,
        known: ProtocolError | None = None,
    ) -> Checked:
        """Residual sums along an order, in one round more, unless it is `known` what that would meet.

        `standardised` is the order of standardised variables.
        """
        p, heard = len(self.setting.present), Remembering(self.transport)
        ordered = None if standardised is None else standardised[standardised < p]
        scale = scale_check(self.card, at_present(estimate, self.setting.past), ordered)
        before, problem = replace(heard.traffic), ""
        residuals: ResidualSums | None = None
        try:
            if known is not None:
                raise known
            residuals = drive(ask_residuals(self.setting, estimate.marginals, estimate.order), heard)
        except ProtocolError as reason:
            if not forgives(reason):
                raise
            problem = str(reason)
        rounds, bytes_sent = heard.traffic.rounds - before.rounds, heard.traffic.bytes_sent - before.bytes_sent
        return Checked(residuals, problem, scale, rounds, bytes_sent)

    def finding(
        self,
        estimate: Estimate,
        spent: Traffic,
        *,
        resampled: Resampled | None = None,
        checked: Checked | None = None,
        standardised: IntVector | None = None,
    ) -> Finding:
        """What was found, with what it cost: nothing but work for a method on one table, checks apart."""
        rounds, bytes_sent = (0, 0) if self.card.one_table else (spent.rounds, spent.bytes_sent)
        return Finding(
            settings=self.settings,
            method=self.card.name,
            options=self.card.resolve(self.settings.method_options),
            chosen=self.chosen,
            variables=self.transport.setting.variables,
            past=self.transport.setting.past,
            estimate=estimate,
            sites=self.sites,
            rounds=rounds + (checked.rounds if checked else 0),
            bytes_sent=bytes_sent + (checked.bytes_sent if checked else 0),
            clipped=spent.clipped,
            resampled=resampled,
            checked=checked,
            standardised=standardised,
        )

    def _rivals(self, estimate: Estimate, first: list[Any]) -> dict[str, Estimate]:
        """In doubt, what others find from the same sums of the first round, which nobody is asked for again."""
        if estimate.doubt is None or not estimate.doubt.doubtful:
            return {}
        setting, found = self.setting, dict[str, Estimate]()
        own = self.card.resolve(self.settings.method_options)
        for rival in self.card.rivals:
            if (rival.method, find(rival.method).resolve(rival.options)) != (self.card.name, own):
                parts = build(rival.method, **rival.options)
                found[str(rival)] = drive(parts.rounds(setting), Replayed(setting, iter(first)))
        return found

    def _order_of_standardised(
        self, parts: Parts[Any], estimate: Estimate, answers: list[Any] | None, *, ask: bool
    ) -> IntVector | None:
        """The order when every variable is divided by its standard deviation; None if that takes questions not allowed.

        The sums of x are those of x / sd in another frame: where all answers are there, nobody is asked again.
        """
        if self.card.scale_free:
            return estimate.order
        sd = np.sqrt(np.diagonal(estimate.marginals.cov))
        setting = self.setting
        unit = replace(setting, frame=Frame(setting.frame.centre / sd, setting.frame.scale / sd))
        if answers is not None:
            return drive(parts.rounds(unit), Replayed(unit, iter(answers))).order
        return drive(parts.rounds(unit), Rescaled(self.transport, unit)).order if ask else None
