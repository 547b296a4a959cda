"""A discovery from what a run found, whichever transport it went over."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from fedrcd.api.discovery import ConfoundedPair, Discovery, Rival, name_steps, software_versions
from fedrcd.api.notes import (
    clipped,
    doubtful,
    far_out,
    hidden_causes,
    identifiability,
    repaired,
    scale,
    scattered,
    standardised_by_sites,
    variance_agreement,
)
from fedrcd.api.rivals import rivals_of
from fedrcd.confidence.response_errors import response_errors
from fedrcd.confidence.standard_errors import effect_errors
from fedrcd.errors import FedrcdWarning
from fedrcd.methods.hidden.search import SURE
from fedrcd.methods.past import at_present, by_lag, now
from fedrcd.methods.registry import card_of
from fedrcd.methods.settings import DELTA, EPSILON
from fedrcd.methods.skeleton import Estimate, Marginals
from fedrcd.methods.weights import refit
from fedrcd.runs.finding import Finding
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.grid import Grid
from fedrcd.typing import IntVector, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What is known of the rows behind a finding, beside what the run found.

    Parameters
    ----------
    holdings : sequence of Holding
        Who holds what, if it is known.
    layout : Layout, optional
        The same where some site lacks columns or shares rows.
    grid : Grid, optional
        On which sums were exact.
    fills_gaps, filled : bool
        Whether missing values are filled, and whether there were any: then there are fewer observations than rows.
    unscaled : bool
        Whether sites took the units of the variables away.
    first, last : sequence of warnings or str
        Notes on these rows, before and after those on the finding.
    state_id : str
        The state of the ledger, if there is one.
    units : mapping of str to str
        The units of the variables, as far as they are known.
    left_out : mapping of str to int
        Rows that each site left out, where that may be told.
    rivals : sequence of Rival
        What other methods find that were asked.
    """

    holdings: Sequence[Holding] = ()
    layout: Layout | None = None
    grid: Grid | None = None
    fills_gaps: bool = False
    filled: bool = False
    unscaled: bool = False
    first: Sequence[FedrcdWarning | str] = ()
    last: Sequence[FedrcdWarning | str] = ()
    state_id: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    rivals: Sequence[Rival] = ()


def notes_on(finding: Finding, background: Background) -> list[FedrcdWarning | str]:
    """All that a user should know before trusting a finding."""
    card, estimate = card_of(finding.method), at_present(finding.estimate, finding.past)
    return [
        *background.first,
        *(() if finding.past else identifiability(estimate, card)),  # with a past, rows are sums of much noise
        *scale(estimate, card),
        *standardised_by_sites(card, unscaled=background.unscaled),
        *doubtful(estimate, finding.variables),
        *repaired(estimate),
        *far_out(estimate),
        *scattered(card, background.layout, fills_gaps=background.fills_gaps),
        *clipped(finding.clipped, background.grid),
        *hidden_causes(estimate),
        *background.last,
    ]


def _confounded(estimate: Estimate, names: Sequence[str]) -> tuple[ConfoundedPair, ...]:
    """Pairs that share a hidden cause, those of most evidence first."""
    if estimate.hidden is None:
        return ()
    evidence = np.triu(estimate.hidden.evidence)
    pairs = sorted(np.argwhere(evidence > 0).tolist(), key=lambda at: -evidence[at[0], at[1]])
    return tuple(
        ConfoundedPair(names[i], names[j], float(evidence[i, j]), bool(evidence[i, j] >= SURE)) for i, j in pairs
    )


def _ancestors(estimate: Estimate, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of a cause, near or far, and an effect, along the order."""
    if estimate.hidden is None:
        return ()
    order = estimate.order.tolist()
    above = estimate.hidden.ancestors
    return tuple((names[j], names[i]) for i in order for j in order if above[i, j])


class EffectsBefore(NamedTuple):
    """Effects on every variable of all that precede it, [i, j] for j on i, and their standard errors."""

    effects: Matrix
    errors: Matrix


MOST_CANDIDATES = 200
"""Variables up to which a result holds the effects of all pairs along its order."""


def _before(order: IntVector, marginals: Marginals) -> EffectsBefore | None:
    p = len(order)
    if p > MOST_CANDIDATES:
        return None
    full = np.zeros((p, p), dtype=bool)
    full[np.ix_(order, order)] = np.tril(np.ones((p, p), dtype=bool), -1)
    return EffectsBefore(refit(marginals.cov, full), effect_errors(marginals.cov, marginals.worth, full).direct)


def discovery_of(finding: Finding, background: Background, *, warn: int = 0) -> Discovery:
    """What a run found, with names, costs, notes and errors.

    Notes are issued as warnings too if `warn` is above 0: so many calls above this one is the user's.
    """
    card, whole, past = card_of(finding.method), finding.estimate, finding.past
    estimate = at_present(whole, past)
    names = finding.variables[: len(estimate.order)]
    notes = notes_on(finding, background)
    for note in notes if warn else ():
        if isinstance(note, FedrcdWarning):
            warnings.warn(note, stacklevel=warn + 1)
    standardised = estimate.order if card.scale_free else finding.standardised
    if standardised is not None:
        standardised = standardised[standardised < len(names)]
    has_errors = estimate.marginals.even and not background.filled and estimate.hidden is None
    before = _before(whole.order, whole.marginals) if has_errors and not past else None
    errors = effect_errors(whole.marginals.cov, whole.marginals.worth, whole.B != 0) if has_errors else None
    responses = (
        response_errors(whole.marginals.cov, whole.marginals.worth, whole.B != 0, past) if has_errors and past else []
    )
    checked = finding.checked
    return Discovery(
        names=names,
        order=tuple(names[i] for i in estimate.order),
        B=estimate.marked,
        method=finding.method,
        chosen=finding.chosen,
        options=dict(finding.options),
        rows=estimate.marginals.rows,
        sites=max(1, len(set(finding.sites))),
        rounds=finding.rounds - (checked.rounds if checked else 0),
        bytes_sent=finding.bytes_sent - (checked.bytes_sent if checked else 0),
        variance_agreement=variance_agreement(estimate),
        start=tuple(names[i] for i in estimate.start),
        trace=name_steps(estimate.steps, names),
        notes=tuple(map(str, (*finding.warnings, *notes))),
        variances=tuple(np.diagonal(estimate.marginals.cov).tolist()),
        standardised_order=() if standardised is None else tuple(names[i] for i in standardised),
        holdings=tuple(
            replace(one, columns=tuple(name for name in one.columns if name in names)) for one in background.holdings
        )
        if past
        else tuple(background.holdings),
        lagged_effects=dict(by_lag(whole.B, past)),
        lagged_errors=dict(by_lag(errors.direct, past)) if errors else {},
        response_errors=dict(enumerate(responses)),
        versions=software_versions(),
        confidence=now(finding.resampled.replicates.edge_shares(), past) if finding.resampled else None,
        errors=now(errors.direct, past) if errors else None,
        total_errors=now(errors.total, past) if errors else None,
        verdict=estimate.doubt.says(names) if estimate.doubt else "",
        order_confidence=estimate.doubt.neighbours if estimate.doubt else (),
        rivals=(*rivals_of(finding), *background.rivals),
        effects_before=before.effects if before else None,
        errors_before=before.errors if before else None,
        state_id=background.state_id,
        settings=finding.settings.recorded(),
        confounded=_confounded(estimate, names),
        ancestors=_ancestors(estimate, names),
        epsilon=finding.options.get(EPSILON),
        delta=finding.options.get(DELTA),
        left_out=dict(background.left_out),
    ).with_units(background.units)
