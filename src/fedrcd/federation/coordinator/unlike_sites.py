"""What a run does about columns that cannot be the same quantity at all sites: it stops, unless a person accepts it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.messages.roll_call import DIFFERENCES
from fedrcd.statistics.units import Mismatch

REMOVED_BY = {
    "none": frozenset[Mismatch](),
    "centre": frozenset({Mismatch.LEVEL}),
    "standardise": frozenset(Mismatch),
    "auto": frozenset(Mismatch),
}
"""Differences that are gone once every site expresses its rows by its own moments."""


class SitesDiffer(ProtocolError):
    """Columns of some sites cannot be the quantities that they should be."""


def require_alike(unlike: Iterable[tuple[str, str, Mismatch]], plan: RunPlan) -> list[str]:
    """Raise for sites with columns that differ, unless the plan accepts them or takes the difference away.

    `unlike` are sites, columns and in what they differ. Returns notes on those that were accepted.
    """
    within = plan.settings.within
    left = sorted({one for one in unlike if one[2] not in REMOVED_BY[within]})
    told = [(site, _in_words(site, [one[1:] for one in ones])) for site, ones in groupby(left, lambda one: one[0])]
    refused = [(site, words) for site, words in told if site not in plan.accept_differing]
    if refused:
        flags = " ".join(f"--accept-differing {site}" for site, _ in refused)
        raise SitesDiffer(
            f"{'; '.join(words for _, words in refused)}. Have the column or its frame corrected: `fedrcd site check` "
            "says at the site what is likely wrong. If the sites truly differ, take the difference away by --within "
            f"standardise, or accept it by {flags}"
        )
    return [f"{words}; it was accepted" for _, words in told]


def _in_words(site: str, columns: list[tuple[str, Mismatch]]) -> str:
    listed = ", ".join(f"column {name!r} {DIFFERENCES[difference]}" for name, difference in columns)
    return f"site {site!r}: {listed}"
