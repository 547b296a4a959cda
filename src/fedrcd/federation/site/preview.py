"""What a method would make a site release, found out by running it on the site's own rows; nothing leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from fedrcd.confidence.replicates import ask_groups
from fedrcd.data.rows import count_rows, streamed
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.federation.messages.refusals import Refused
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.federation.method_choice import choose_method
from fedrcd.federation.site.disclosure import allowance
from fedrcd.federation.site.editions.choosing import Inquiry
from fedrcd.federation.site.editions.exposure import exposures
from fedrcd.federation.site.own_question import parts_of
from fedrcd.federation.site.release import Door, Occasion
from fedrcd.methods.examination import ask_residuals
from fedrcd.methods.skeleton import Estimate, Parts
from fedrcd.protocol.combine import combine
from fedrcd.protocol.driver import run
from fedrcd.protocol.groups import LEAST_GROUPS, Grouping
from fedrcd.protocol.in_process import Within
from fedrcd.protocol.questions import PAIR_DEPTH, Question, S
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.statistics.frame import Frame, propose_frame
from fedrcd.statistics.grid import ARITHMETIC

DRY_RUN = "dry run"
"""The run that a preview is to the rules."""


@dataclass(frozen=True, slots=True)
class Release:
    """One question, in words, how many numbers its answer has, and why the site refuses it, if it does."""

    question: str
    numbers: int
    refusal: str = ""


class Preview(NamedTuple):
    """What a method would ask of a site."""

    method: str
    releases: list[Release]
    whole: bool
    """Whether that is all."""
    rows: int
    spent: int
    """Numbers that were released about these rows before."""
    allowed: int
    """Numbers that may ever be."""
    instead: str = ""
    """The method that a run goes on with after the refusal, if that was left open."""


@dataclass(frozen=True, slots=True)
class PreviewTransport:
    """A transport over one site's blocks that notes what it is asked, and what the site's door says to it.

    After the first refusal nothing is judged, for a run would stop there; `goes_on` says whether to list the rest.
    """

    door: Door
    tables: Sequence[Table]
    setting: Setting
    goes_on: bool = True
    within: Within = "none"
    questions: list[Question[Any]] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    refusals: list[Refused] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)

    def pool(self, question: Question[S]) -> S:
        """The sum of the site's own answers."""
        refusal, answers = "", []
        self.questions.append(question)
        if not self.refusals:
            try:
                occasion = Occasion(DRY_RUN, len(self.releases) + 1, "", self.setting.layout, within=self.within)
                [released] = self.door.release([question], self.tables, occasion)
                answers = [sums for _, sums in released.blocks if sums is not None]
            except Refused as refused:
                self.refusals.append(refused)
                if not self.goes_on:
                    raise
                refusal = str(refused)
        if self.refusals:
            answers = [sums for sums in map(self._unjudged(question), self.tables) if sums is not None]
        self.releases.append(Release(question.describe(), sum(sums.entries for sums in answers), refusal))
        if not answers:
            raise FedrcdError("this site has nothing to say to the question")
        pooled: S = combine(answers)
        return pooled

    def _unjudged(self, question: Question[Any]) -> Any:
        """What a block would answer if nothing were refused."""
        layout = self.setting.layout

        def answer(table: Table) -> Any:
            site = LocalSite(self.door.site, self.door.present(table), table.block, grouping=Grouping(b"dry run", 0))
            if question.each.share(layout, 0 if layout is None else site.place_in(layout)) is None:
                return None
            return site.answer(question, layout)

        return answer


def preview(door: Door, tables: Sequence[Table], method: str, *, groups: int = 0, check: bool = False) -> Preview:
    """What a method would ask this site, and what the site would refuse of it.

    A site that lacks columns cannot run a method to its end alone: then the list stops where it would need others.

    Parameters
    ----------
    door : Door
        Of this site; nothing is written to its store.
    tables : sequence of Table
        The rows of this site.
    method : str
        The name of a method, or "auto".
    groups : int
        Ask for sums of so many groups of rows.
    check : bool
        Ask for residuals at the end.
    """
    if groups and groups < LEAST_GROUPS:
        raise ConfigError(f"groups must be at least {LEAST_GROUPS}, got {groups}")
    federation, quiet = door.federation, replace(door, dry_run=[], approve=False)
    name = choose_method(federation, method, groups=groups or 1, trust_coordinator=door.trusts).method
    layout = cohort_layout(federation, [door.site])
    frame, grid = frame_here(quiet, tables), ARITHMETIC["exact"]
    setting = Setting(federation.variables, frame, layout, grid=grid, past=federation.lags).knowing(None)
    rows, spent, allowed = _budget(quiet, tables)
    dry_run = PreviewTransport(quiet, tables, setting)
    estimate = estimated(dry_run, parts_of(name, {}, groups), groups)
    whole = estimate is not None and (not check or ask_checks(dry_run, estimate))
    codes = [refused.code for refused in dry_run.refusals]
    other = choose_method(federation, method, groups=groups or 1, refused=codes, trust_coordinator=door.trusts).method
    return Preview(name, dry_run.releases, whole, rows, spent, allowed, other if other != name else "")


def _budget(door: Door, tables: Sequence[Table]) -> tuple[int, int, int]:
    """How many rows would be answered about, how many numbers left about them, and how many may."""
    history, rows, spent, allowed = door.store.entries(), 0, 0, 0
    try:
        with door.chosen(Inquiry(depth=PAIR_DEPTH), tables) as choice:
            told = [(one.vectors, label) for one, label in zip(exposures(choice), choice.labels, strict=True)]
            chosen = [(count_rows(one.rows), len(one.rows.columns), one.most) for one in choice.blocks]
    except Refused:  # nothing would be answered, as the first question will show
        present = [door.present(table) for table in tables]
        told = [((), "") for _ in present]
        chosen = [(count_rows(table), len(table.columns), door.most_rows(table)) for table in present]
    for (vectors, label), (count, p, most) in zip(told, chosen, strict=True):
        of_block = allowance(history, vectors, label, door.rules_for(most).budget(count, p))
        rows, spent, allowed = rows + count, spent + of_block.spent, allowed + of_block.allowed
    return rows, spent, allowed


def frame_here(door: Door, tables: Sequence[Table]) -> Frame:
    """The declared frame; where there is none, that in which sums left before, or one from the rows here."""
    federation, variables = door.federation, door.federation.variables
    declared, pinned = federation.declared_frame(), door.store.pinned_frame()
    if declared is not None:
        return declared
    if all(name in pinned for name in variables):
        centre, scale = zip(*(pinned[name] for name in variables), strict=True)
        return Frame(np.array(centre), np.array(scale))
    if not all(set(table.columns) == set(variables) for table in tables):
        return Frame.identity(len(variables))
    present = [door.present(table) for table in tables]
    held = [[variables.index(column) for column in table.columns] for table in present]
    return propose_frame([streamed(table) for table in present], [count_rows(table) for table in present], held)


def estimated(dry_run: PreviewTransport, parts: Parts[Any], groups: int) -> Estimate | None:
    """What a method finds with one site alone; None if it does not come to its end."""
    setting = dry_run.setting
    try:
        if groups:
            return ask_groups(parts, setting, dry_run, groups).estimate
        return run(parts.rounds(setting), dry_run)
    except (FedrcdError, np.linalg.LinAlgError):
        return None


def ask_checks(dry_run: PreviewTransport, estimate: Estimate) -> bool:
    """Whether checks of an estimate come to their end with one site alone."""
    try:
        run(ask_residuals(dry_run.setting, estimate.marginals, estimate.order), dry_run)
    except (FedrcdError, np.linalg.LinAlgError):
        return False
    return True
