"""Whether a few rows, or one site, decide an order: where the robust method finds another one.

First a look that costs one round, at what every site's rows look like to the robust method's first question. Only if a
site's differ from those of all others beyond chance, or values stand far apart, the robust method is run; and only if
it turns edges that were found, anything is said.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeGuard

import numpy as np

from fedrcd.api.notes import far_apart
from fedrcd.errors import FedrcdError, FedrcdWarning, OutlierWarning, SitesWarning
from fedrcd.methods.auto import LARGEST_TENSOR, robust_choice
from fedrcd.methods.registry import build
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.combine import in_the_clear
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.transport import InProcess, Setting, Traffic, Transport
from fedrcd.runs.run import Run
from fedrcd.statistics.directions import BEYOND_CHANCE, Whitening, distance_from_others
from fedrcd.statistics.frame import Frame
from fedrcd.typing import Matrix

TURNED = 0.1
"""Share of edges that the robust order must turn before anything is said."""

MOST_TRIED = 3
"""Sites without which the order is tried."""


def decisive(run: Run, estimate: Estimate) -> list[FedrcdWarning]:
    """What to know of an estimate that some rows, or a site, decide; nothing where that cannot be looked at."""
    transport = run.transport
    card = run.card
    of_tensors = card.scale_free and card.payload.is_tensor and card.name != robust_choice()
    if not (of_tensors and _can_be_looked_at(transport)):
        return []
    again = replace(transport, traffic=Traffic(), progress=None)
    suspects = sites_unlike_others(again)
    spoiled = [] if run.settings.trim is not None else _with_values_far_apart(again)
    if not suspects and not spoiled:
        return []
    try:
        robust = drive(build(robust_choice()).rounds(run.setting), again)
    except FedrcdError:
        return []
    share = turned(estimate.B, robust)
    if share <= TURNED:
        return []
    return [_warning(_deciding(run, again, suspects, robust), spoiled, share)]


def turned(B: Matrix, other: Estimate) -> float:
    """Share of the edges of a graph that another order turns."""
    place = np.argsort(other.order)
    effect, cause = np.nonzero(B)
    return float(np.mean(place[cause] > place[effect])) if len(effect) else 0.0


def sites_unlike_others(transport: InProcess) -> list[int]:
    """Numbers of the sites whose rows relate otherwise than those of all others, the most unlike first."""
    setting, sites = transport.setting, transport.sites
    if len(sites) < 3:
        return []
    answers: list[Any] = [site.answer(_first_question(setting), None) for site in sites]
    sums = [answer.floats() for answer in answers]
    total = reduce(operator.add, sums)
    if any(not one.count.max() for one in sums):
        return []
    unlike = [distance_from_others(one, total - one) for one in sums]
    return [int(k) for k in np.argsort(unlike)[::-1] if unlike[k] > BEYOND_CHANCE]


def _first_question(setting: Setting) -> Any:
    """That of the robust method, about rows that were not whitened yet."""
    p = len(setting.variables)
    return setting.directions(Whitening.of_frame(setting.robust or Frame.identity(p)).on_grid(setting.grid), near=True)


def _can_be_looked_at(transport: Transport) -> TypeGuard[InProcess]:
    """Whether all sites are in this process, in the clear, with complete rows of all columns."""
    return (
        isinstance(transport, InProcess)
        and transport.combine is in_the_clear
        and transport.setting.layout is None
        and not transport.setting.fills_gaps
        and not any(_has_gaps(site) for site in transport.sites)
        and len(transport.setting.variables) <= LARGEST_TENSOR
    )


def _has_gaps(site: Any) -> bool:
    """Whether rows of a site may have gaps; sites of others do not say."""
    try:
        return bool(site.gaps)
    except AttributeError:
        return True


def _with_values_far_apart(transport: InProcess) -> list[str]:
    sites: Any = transport.sites
    return [site.name for site in sites if far_apart(site, transport)]


def _deciding(run: Run, transport: InProcess, suspects: Sequence[int], robust: Estimate) -> list[str]:
    """The suspects without which the method finds an order like the robust one."""
    found = []
    for suspect in suspects[:MOST_TRIED]:
        others = [site for k, site in enumerate(transport.sites) if k != suspect]
        try:
            without = drive(run.parts.rounds(run.setting), replace(transport, sites=others))
        except FedrcdError:
            continue
        if turned(robust.B, without) <= TURNED:
            found.append(transport.sites[suspect].name)
    return found


def _warning(sites: Sequence[str], spoiled: Sequence[str], share: float) -> FedrcdWarning:
    says = f"{robust_choice()}, in whose sums no row dominates, turns {share:.0%} of the edges found"
    if sites:
        return SitesWarning(
            f"{' or '.join(map(repr, sites))} decides the order: without it the order is another, and {says}; find out "
            "why its rows relate otherwise, or leave it out"
        )
    who = f" of {', '.join(map(repr, spoiled[:3]))}" if spoiled else ""
    return OutlierWarning(
        f"some rows{who} decide the order: {says}; compare the two, and look at the rows far from all others"
    )
