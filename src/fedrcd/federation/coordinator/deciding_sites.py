"""Which site decides a result: what a method finds without each site, from the sums that are there.

A method of one round is run again on the sums of the others. What a method of several rounds asks depends on what it
found so far, and nobody is asked again: its rounds are gone through as they were, and each tells which source the sums
of the others would have taken.

One of ten sites can turn every edge round with sums that nobody can tell from true ones. It is then the site without
which the result is another one; so is a site whose patients truly differ. Either way people should look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.combine import add_in_order
from fedrcd.federation.coordinator.run_folder import write_json
from fedrcd.federation.coordinator.transport import Recorder
from fedrcd.graphs.dag import ancestry
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.questions import Question
from fedrcd.runs.replay import Replayed
from fedrcd.runs.run import Run

WITHOUT = "without.json"
"""What changes without each site, in the folder of a run."""

DECIDES = 0.1
"""Share of the pairs with a path that must be turned round without a site that decides, and more than that of its rows:
without a third of the rows a result may well be another one."""

MOST = 500
"""Sites times variables up to which it is computed: it takes the method once for each site."""


@dataclass(slots=True)
class SumsOfSites:
    """Hears of every answer, and keeps the sums of every round: site, block, sums."""

    recorder: Recorder | None = None
    question: Question[Any] | None = None
    rounds: list[list[tuple[str, str, Any]]] = field(default_factory=list)

    def __call__(self, site: str, block: str, question: Question[Any], sums: Any) -> None:
        """One answer was accepted."""
        if question is not self.question:
            self.question = question
            self.rounds.append([])
        self.rounds[-1].append((site, block, sums))
        if self.recorder:
            self.recorder(site, block, question, sums)

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each site has, as its first answers say."""
        found: dict[str, int] = {}
        for site, _, sums in self.rounds[0] if self.rounds else ():
            found[site] = found.get(site, 0) + sums.most_rows
        return found

    def without(self, site: str) -> Iterator[Any]:
        """What the other sites answer together, round after round."""
        return (add_in_order(one for one in answers if one[0] != site) for answers in self.rounds)


@dataclass(frozen=True, slots=True)
class WithoutSite:
    """How many of the pairs with a path are turned round without a site, of how many; and how edges change.

    `share` is the site's share of all rows. With `steps`, it is the choices of a source that are turned round: where
    the sums of the others would have taken a variable that comes after it.
    """

    site: str
    share: float
    turned: int
    pairs: int
    lost: int
    gained: int
    steps: bool = False


def can_leave_out(run: Run, sites: int) -> bool:
    """Whether what is found without each site follows from the sums of a run, in reasonable time."""
    setting = run.transport.setting
    whole = setting.layout is None and not run.card.private  # noise tells nobody how many rows a site has
    return whole and sites > 2 and sites * len(setting.variables) <= MOST


def without_each(run: Run, found: Estimate, heard: SumsOfSites) -> list[WithoutSite]:
    """What changes without each site; a site without which there is no result is left out of the list."""
    rows, setting, parts = heard.rows, run.setting, run.parts.of_its_sources()
    if not run.card.rounds.once and run.parts.climb is None:
        setting = replace(setting, followed=tuple(step.chosen for step in found.steps), insists=True)
    elif run.parts.climb is not None:  # what is asked after the first round follows from where the climb has come
        found = drive(parts.rounds(setting), Replayed(setting, heard.without("")))
    changes = []
    for site in rows:
        try:
            other = drive(parts.rounds(setting), Replayed(setting, heard.without(site)))
        except (FedrcdError, StopIteration, np.linalg.LinAlgError):
            continue
        share = rows[site] / sum(rows.values())
        compare = steps_without if setting.insists else change_without
        changes.append(compare(site, share, found, other))
    return changes


def steps_without(site: str, share: float, found: Estimate, other: Estimate) -> WithoutSite:
    """How the choices of a source differ that sums without a site would have made, along the order that was found."""
    related = ancestry(found.B)
    turned = sum(bool(related[step.best, step.chosen]) for step in other.steps)
    pairs = sum(bool(related[list(step.candidates), step.chosen].any()) for step in other.steps)
    return WithoutSite(site, share, turned, pairs, *_changed_edges(found, other), steps=True)


def change_without(site: str, share: float, found: Estimate, other: Estimate) -> WithoutSite:
    """How what the other sites give differs from what was found with a site, which has a share of the rows."""
    related, place = ancestry(found.B), np.argsort(other.order)
    turned = int((related & (place[:, None] < place[None, :])).sum())
    return WithoutSite(site, share, turned, int(related.sum()), *_changed_edges(found, other))


def _changed_edges(found: Estimate, other: Estimate) -> tuple[int, int]:
    """Edges that are lost and gained."""
    edges, others = found.B != 0, other.B != 0
    return int((edges & ~others).sum()), int((~edges & others).sum())


def deciding(changes: list[WithoutSite]) -> list[WithoutSite]:
    """Sites without which the result is another one, the most decisive first; none where it is whichever is missing."""
    usual = float(np.median([one.turned for one in changes])) if changes else 0.0
    chosen = [one for one in changes if one.turned > max(max(DECIDES, one.share) * one.pairs, 2 * usual)]
    return sorted(chosen, key=lambda one: -one.turned)


def tell_deciding(changes: list[WithoutSite], folder: Path, warn: Callable[[str], None]) -> None:
    """Write what changes without each site, and warn of those that decide."""
    names = ("turned", "pairs", "lost", "gained")
    write_json(folder / WITHOUT, {one.site: {name: getattr(one, name) for name in names} for one in changes})
    for one in deciding(changes):
        warn(decides(one))


def decides(one: WithoutSite) -> str:
    """That a site decides, in words."""
    what = "choices of a source" if one.steps else "causal pairs"
    return (
        f"site {one.site!r} decides this result: without it {one.turned} of {one.pairs} {what} turn round. "
        "Have its table looked at; is it coded as elsewhere, and are its patients like others?"
    )
