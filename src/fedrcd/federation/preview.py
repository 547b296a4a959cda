"""What a method would make a site release, found out by running it on the site's own rows, where nothing leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.federation.block_answer import answer_block
from fedrcd.federation.coordinator.choosing import choose_method
from fedrcd.federation.guards import numbers_in
from fedrcd.federation.messages import cohort_layout
from fedrcd.federation.refusals import Refused
from fedrcd.federation.rules import Case, Rules
from fedrcd.federation.site_log import ANSWERED, Entry
from fedrcd.federation.site_service import declared_frame
from fedrcd.federation.trimming import trim_tag
from fedrcd.federation.words import describe
from fedrcd.methods.bootstrap import ask_groups, one_round
from fedrcd.methods.checks import ask_residuals
from fedrcd.methods.registry import build, find
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import LocalBlock
from fedrcd.protocol.groups import LEAST_GROUPS, GroupedQuestion, Grouping
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.statistics.frame import Frame, propose_frame
from fedrcd.statistics.grid import ARITHMETIC

REHEARSAL = "rehearsal"
"""The run that a rehearsal is to the rules."""


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
    instead: str = ""
    """The method that a run goes on with after the refusal, if that was left open."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A transport over one site's blocks that notes what it is asked, and what the site's rules say to it.

    After the first refusal nothing is judged, for a run would stop there.
    """

    sites: Sequence[TableSite]
    setting: Setting
    rules: Rules
    history: list[Entry]
    trim: str = ""
    releases: list[Release] = field(default_factory=list)
    refusals: list[Refused] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)

    def pool(self, question: Question[S]) -> S:
        """The sum of the site's own answers."""
        before = len(self.refusals)
        answers = [self._answer(question, site) for site in self.sites]
        answers = [answer for answer in answers if answer is not None]
        refusal = str(self.refusals[0]) if len(self.refusals) > before else ""
        self.releases.append(Release(describe(question), sum(map(numbers_in, answers)), refusal))
        if not answers:
            raise FedrcdError("this site has nothing to say to the question")
        pooled = answers[0]
        for answer in answers[1:]:
            pooled = pooled + answer
        result: S = pooled
        return result

    def _answer(self, question: Question[Any], site: TableSite) -> Any:
        """The answer of one block, also if it is refused."""
        asked = question.each if isinstance(question, GroupedQuestion) else question
        layout = self.setting.layout
        if asked.share(layout, 0 if layout is None else site.place_in(layout)) is None:
            return None
        if self.refusals:
            return site.answer(question, layout)
        try:
            sums, kept = answer_block(self._case(question, site), site, layout)
        except Refused as refused:
            self.refusals.append(refused)
            return site.answer(question, layout)
        self.history.append(
            Entry(
                time="",
                run=REHEARSAL,
                round=len(self.releases) + 1,
                federation="",
                digest="",
                question="",
                outcome=ANSWERED,
                **kept,
            )
        )
        return sums

    def _case(self, question: Question[Any], site: TableSite) -> Case:
        """What the rules look at; the secret by which rows are split is taken to be that of before."""
        splits = [entry.split for entry in self.history if entry.block == site.block and entry.groups]
        return Case(
            question=question,
            run=REHEARSAL,
            variables=self.setting.variables,
            frame=self.setting.frame,
            columns=site.columns,
            rows=site.rows,
            history=self.history,
            rules=self.rules,
            block=site.block,
            split=site.split,
            split_tag=splits[-1] if splits else "",
            trim=self.trim,
        )


def rehearse(
    federation: Federation,
    method: str,
    blocks: Sequence[LocalBlock],
    *,
    groups: int = 0,
    check: bool = False,
    rules: Rules = Rules(),  # noqa: B008 - frozen
    history: Sequence[Entry] = (),
    trim: float | None = None,
) -> Preview:
    """What a method would ask this site, and what the site would refuse of it.

    A site that lacks columns cannot run a method to its end alone: then the list stops where it would need others.

    Parameters
    ----------
    federation : Federation
        Whose run it would be.
    method : str
        The name of a method, or "auto".
    blocks : sequence of LocalBlock
        The rows of this site.
    groups : int
        Ask for sums of so many groups of rows.
    check : bool
        Ask for residuals at the end.
    rules, history, trim
        Of this site.
    """
    trimmed = trim_tag(blocks[0].columns, federation, trim)
    if groups and groups < LEAST_GROUPS:
        raise ConfigError(f"groups must be at least {LEAST_GROUPS}, got {groups}")
    name = choose_method(federation, method, groups=groups or 1).method
    variables = federation.variables
    held = [[variables.index(column) for column in block.columns] for block in blocks]
    frame = declared_frame(federation)
    if frame is None:
        frame = propose_frame([block.rows for block in blocks], held) if _holds_all(blocks, variables) else None
    site = blocks[0].site
    setting = Setting(
        variables, frame or Frame.identity(len(variables)), cohort_layout(federation, [site]), grid=ARITHMETIC["exact"]
    )
    grouping = Grouping(b"rehearsal", least=0)
    sites = [
        TableSite(block.site, block.rows, block.columns, block.block, ids=block.ids, grouping=grouping)
        for block in blocks
    ]
    rehearsal = Rehearsal(sites, setting, rules, list(history), trimmed)
    whole = _converse(rehearsal, name, groups, check=check)
    codes = [refused.code for refused in rehearsal.refusals]
    other = choose_method(federation, method, groups=groups or 1, refused=codes).method
    return Preview(name, rehearsal.releases, whole, other if other != name else "")


def _converse(rehearsal: Rehearsal, method: str, groups: int, *, check: bool) -> bool:
    """Whether a method comes to its end with one site alone."""
    setting = rehearsal.setting
    parts = one_round(find(method), {}) if groups else build(method)
    try:
        if groups:
            estimate = ask_groups(parts, setting, rehearsal, groups).estimate
        else:
            estimate = run(parts.rounds(setting), rehearsal)
        if check:
            run(ask_residuals(setting, estimate.marginals, estimate.order), rehearsal)
    except FedrcdError:
        return False
    return True


def _holds_all(blocks: Sequence[LocalBlock], variables: Sequence[str]) -> bool:
    return all(set(block.columns) == set(variables) for block in blocks)
