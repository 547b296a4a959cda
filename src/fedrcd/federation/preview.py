"""What a method would make a site release, found out by running it on the site's own rows, where nothing leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.federation.choosing import choose_method
from fedrcd.federation.guards import numbers_in
from fedrcd.federation.messages import cohort_layout
from fedrcd.federation.site_service import declared_frame
from fedrcd.federation.words import describe
from fedrcd.methods.bootstrap import ask_groups, one_round
from fedrcd.methods.checks import ask_residuals
from fedrcd.methods.registry import build, find
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import LocalBlock
from fedrcd.protocol.groups import LEAST_GROUPS, Grouping
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.statistics.frame import Frame, propose_frame
from fedrcd.statistics.grid import ARITHMETIC


@dataclass(frozen=True, slots=True)
class Release:
    """One question, in words, and how many numbers its answer has."""

    question: str
    numbers: int


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A transport over one site's blocks that notes what it is asked."""

    sites: Sequence[TableSite]
    setting: Setting
    releases: list[Release] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)

    def pool(self, question: Question[S]) -> S:
        """The sum of the site's own answers."""
        answers: list[Any] = [site.answer(question, self.setting.layout) for site in self.sites]
        answers = [answer for answer in answers if answer is not None]
        self.releases.append(Release(describe(question), sum(map(numbers_in, answers))))
        if not answers:
            raise FedrcdError("this site has nothing to say to the question")
        pooled = answers[0]
        for answer in answers[1:]:
            pooled = pooled + answer
        result: S = pooled
        return result


def rehearse(
    federation: Federation, method: str, blocks: Sequence[LocalBlock], *, groups: int = 0, check: bool = False
) -> tuple[str, list[Release], bool]:
    """The method, what it would ask this site, and whether that is all.

    With `groups` it is asked for sums of so many groups of rows, with `check` for residuals at the end. A site that
    lacks columns cannot run a method to its end alone: then the list stops where it would need others.
    """
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
    rehearsal = Rehearsal(sites, setting)
    if groups and groups < LEAST_GROUPS:
        raise ConfigError(f"groups must be at least {LEAST_GROUPS}, got {groups}")
    parts = one_round(find(name), {}) if groups else build(name)
    try:
        if groups:
            estimate = ask_groups(parts, setting, rehearsal, groups).estimate
        else:
            estimate = run(parts.rounds(setting), rehearsal)
        if check:
            run(ask_residuals(setting, estimate.marginals, estimate.order), rehearsal)
    except FedrcdError:
        return name, rehearsal.releases, False
    return name, rehearsal.releases, True


def _holds_all(blocks: Sequence[LocalBlock], variables: Sequence[str]) -> bool:
    return all(set(block.columns) == set(variables) for block in blocks)
