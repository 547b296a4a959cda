"""Which site decides a result: the result of a method of one round without each site, from the sums that are there.

One of ten sites can turn every edge round with sums that nobody can tell from true ones. It is then the site without
which the result is another one; so is a site whose patients truly differ. Either way people should look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
    """Hears of every answer, and keeps those to the first question, by site."""

    recorder: Recorder | None = None
    question: Question[Any] | None = None
    sums: dict[str, list[tuple[str, str, Any]]] = field(default_factory=dict)

    def __call__(self, site: str, block: str, question: Question[Any], sums: Any) -> None:
        """One answer was accepted."""
        if self.question is None:
            self.question = question
        if question is self.question:
            self.sums.setdefault(site, []).append((site, block, sums))
        if self.recorder:
            self.recorder(site, block, question, sums)


@dataclass(frozen=True, slots=True)
class WithoutSite:
    """How many of the pairs with a path are turned round without a site, of how many; and how edges change.

    `share` is the site's share of all rows.
    """

    site: str
    share: float
    turned: int
    pairs: int
    lost: int
    gained: int


def can_leave_out(run: Run, sites: int) -> bool:
    """Whether the result without each site follows from the sums of a run, in reasonable time."""
    setting = run.transport.setting
    return run.card.rounds.once and setting.layout is None and sites > 2 and sites * len(setting.variables) <= MOST


def without_each(run: Run, found: Estimate, heard: SumsOfSites) -> list[WithoutSite]:
    """What changes without each site; a site without which there is no result is left out of the list."""
    rows = {site: sum(sums.most_rows for *_, sums in ones) for site, ones in heard.sums.items()}
    changes = []
    for site in heard.sums:
        total = add_in_order(one for other, ones in heard.sums.items() if other != site for one in ones)
        setting = run.setting
        try:
            other = drive(run.parts.rounds(setting), Replayed(setting, iter([total])))
        except (FedrcdError, np.linalg.LinAlgError):
            continue
        changes.append(change_without(site, rows[site] / sum(rows.values()), found, other))
    return changes


def change_without(site: str, share: float, found: Estimate, other: Estimate) -> WithoutSite:
    """How what the other sites give differs from what was found with a site, which has a share of the rows."""
    related, edges, place = ancestry(found.B), found.B != 0, np.argsort(other.order)
    turned = int((related & (place[:, None] < place[None, :])).sum())
    lost, gained = int((edges & (other.B == 0)).sum()), int((~edges & (other.B != 0)).sum())
    return WithoutSite(site, share, turned, int(related.sum()), lost, gained)


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
    return (
        f"site {one.site!r} decides this result: without it {one.turned} of {one.pairs} causal pairs turn round. "
        "Have its table looked at; is it coded as elsewhere, and are its patients like others?"
    )
