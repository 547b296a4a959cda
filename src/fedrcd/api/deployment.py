"""The result of a run over machines, as `discover` gives it for tables in one process."""

from __future__ import annotations

from fedrcd.api.bootstrap import told_by
from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.api.checks import Checks, judge
from fedrcd.api.describe import describe
from fedrcd.api.discovery import Discovery
from fedrcd.api.notes import clipped, identifiability, repaired, require_together, scale, scattered
from fedrcd.api.settings import recorded
from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.choosing import choose_method
from fedrcd.federation.messages import cohort_layout
from fedrcd.federation.plan import Outcome
from fedrcd.methods.registry import find
from fedrcd.statistics.exact_sums import Clipped
from fedrcd.statistics.grid import ARITHMETIC


def require_coverage(federation: Federation, method: str) -> None:
    """Raise if the sites of a federation do not hold together what a method needs."""
    card = find(choose_method(federation, method).method)
    layout = cohort_layout(federation, [site.name for site in federation.sites])
    require_together(card, layout, len(federation.variables), "complete")


def discovery_of(outcome: Outcome, federation: Federation) -> Discovery:
    """The discovery in the outcome of a run; who was missing and what went wrong is among its notes."""
    estimate, card, variables = outcome.estimate, find(outcome.method), outcome.variables
    notes = [
        *identifiability(estimate, card),
        *scale(estimate, card),
        *repaired(estimate),
        *clipped(Clipped(*outcome.clipped) if outcome.clipped else None, ARITHMETIC[outcome.arithmetic]),
        *scattered(card, cohort_layout(federation, outcome.sites), fills_gaps=False),
    ]
    return describe(
        estimate,
        card,
        variables,
        dict(outcome.options),
        sites=len(outcome.sites),
        rounds=outcome.rounds,
        bytes_sent=outcome.bytes_sent,
        chosen=outcome.chosen,
        notes=(*outcome.warnings, *notes),
        holdings=[one for one in federation.layout().holdings if one.site in outcome.sites],
        confidence=outcome.resampled.replicates.edge_shares() if outcome.resampled else None,
        settings=recorded(arithmetic=outcome.arithmetic, knowledge=outcome.knowledge),
    )


def bootstrap_of(outcome: Outcome, federation: Federation) -> Bootstrap:
    """The bootstrap in the outcome of a run that was planned with one."""
    if outcome.resampled is None:
        raise ConfigError("the run made no replicates")
    constraints = outcome.knowledge.constraints(outcome.variables) if outcome.knowledge else None
    return told_by(outcome.resampled, discovery_of(outcome, federation), constraints)


def checks_of(outcome: Outcome, federation: Federation, level: float = 0.05) -> Checks:
    """The checks in the outcome of a run that was planned with them."""
    if outcome.checked is None:
        raise ConfigError("the run asked for nothing that assumptions could be checked by")
    checked = outcome.checked
    sums = checked.residuals if checked.residuals is not None else checked.problem
    found = discovery_of(outcome, federation)
    return judge(found, sums, checked.scale, level, rounds=checked.rounds, bytes_sent=checked.bytes_sent)
