"""What a run does about columns that cannot be the same quantity at all sites: it stops, unless a person accepts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.combine import BlockSums
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.messages.roll_call import MISMATCHES
from fedrcd.protocol.questions import Question
from fedrcd.statistics.units import Described, Mismatch, odd_ones

DECLARED, ELSEWHERE = "than declared", "than at the other sites"

REMOVED_BY = {
    "none": frozenset[Mismatch](),
    "centre": frozenset({Mismatch.LEVEL}),
    "standardise": frozenset(Mismatch),
    "auto": frozenset(Mismatch),
}
"""Differences that are gone once every site expresses its rows by its own moments."""


@dataclass(slots=True)
class MomentsWatch:
    """Compares the moments of sites in the first sums that tell any: those of variables, not of residuals.

    Where the federation file declares a frame, every site has compared its own rows with it before, by robust scales,
    so this is a warning; where it does not, the run stops.
    """

    federation: Federation
    plan: RunPlan
    warn: Callable[[str], None]
    seen: bool = False

    def __call__(self, question: Question[Any], parts: Sequence[BlockSums]) -> None:
        """Look at the sums of all sites."""
        if self.seen or question.needs_trust or self.plan.settings.within != "none":
            return
        self.seen = True
        moments = [(site, sums.moments_of_variables()) for site, _, sums in parts]
        p = len(question.variables)  # sums about something else, such as directions of rows, are of another width
        told = [
            (site, Described(one.mean, one.deviation, one.deviation))
            for site, one in moments
            if one is not None and len(one.mean) == p
        ]
        if len(told) < 2:
            return
        odd = [
            (told[k][0], question.variables[one.variable], one.mismatch)
            for k, one in odd_ones([one for _, one in told])
        ]
        if self.federation.declared_frame() is None:
            for note in require_alike(odd, self.plan, ELSEWHERE):
                self.warn(note)
            return
        for site, columns in _by_site(one for one in odd if one[0] not in self.plan.accept_differing):
            self.warn(f"{_in_words(site, columns, ELSEWHERE)}")


class SitesDiffer(ProtocolError):
    """Columns of some sites cannot be the quantities that they should be."""


def require_alike(unlike: Iterable[tuple[str, str, Mismatch]], plan: RunPlan, than: str = DECLARED) -> list[str]:
    """Raise for sites with columns that differ, unless the plan accepts them or takes the difference away.

    `unlike` are sites, columns and in what they differ, `than` says from what. Returns notes on those accepted.
    """
    within = plan.settings.within
    left = [one for one in unlike if one[2] not in REMOVED_BY[within]]
    told = [(site, _in_words(site, columns, than)) for site, columns in _by_site(left)]
    refused = [(site, words) for site, words in told if site not in plan.accept_differing]
    if refused:
        flags = " ".join(f"--accept-differing {site}" for site, _ in refused)
        raise SitesDiffer(
            f"{'; '.join(words for _, words in refused)}. Have the column or its frame corrected: `fedrcd site check` "
            f"says at the site what is likely wrong. If the sites truly differ, let each express its rows by its own "
            f"moments (--within standardise), or accept it by {flags}"
        )
    return [f"{words}; it was accepted" for _, words in told]


def _by_site(unlike: Iterable[tuple[str, str, Mismatch]]) -> Iterator[tuple[str, list[tuple[str, Mismatch]]]]:
    """Columns that differ, by site, each once."""
    for site, ones in groupby(sorted(set(unlike)), lambda one: one[0]):
        yield site, [(name, mismatch) for _, name, mismatch in ones]


def _in_words(site: str, columns: list[tuple[str, Mismatch]], than: str) -> str:
    listed = ", ".join(f"column {name!r} {MISMATCHES[mismatch]} {than}" for name, mismatch in columns)
    return f"site {site!r}: {listed}"
