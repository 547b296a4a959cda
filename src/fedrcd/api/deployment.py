"""What is known of the rows behind a run over machines: the federation file, and who took part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedrcd.api.describe import Background
from fedrcd.api.notes import require_together
from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.federation.method_choice import choose_method
from fedrcd.methods.registry import card_of
from fedrcd.methods.settings import Settings
from fedrcd.runs.finding import Finding
from fedrcd.statistics.grid import ARITHMETIC


def require_coverage(federation: Federation, method: str, *, trust_coordinator: bool = False) -> None:
    """Raise if the sites of a federation do not hold together what a method needs."""
    card = card_of(choose_method(federation, method, trust_coordinator=trust_coordinator).method)
    layout = cohort_layout(federation, [site.name for site in federation.sites])
    require_together(card, layout, len(federation.variables), "complete")


def require_masks(federation: Federation, settings: Settings) -> None:
    """Raise unless masks hide every site of a federation in a run with these settings: better now than half-way."""
    from fedrcd.federation.masking.plan import MaskedPlan
    from fedrcd.federation.masking.possible import require_keys

    require_keys(federation)
    method = choose_method(federation, settings.method, masked=True).method
    MaskedPlan(method=method, settings=settings).over(federation, tuple(site.name for site in federation.sites))


def require_no_trust(federation: Federation, method: str, *, check: bool, masked: bool = False) -> None:
    """Raise for a run that sites answer only if they trust the coordinator: better now than half-way.

    Where sums are `masked`, sites work out by themselves what some methods of several rounds ask.
    """
    card = card_of(choose_method(federation, method).method)
    why = ""
    if card.private:
        return  # noise hides rows whatever is asked
    if federation.declared_frame() is None:
        why = "the federation file declares no frame, so that the coordinator would choose one"
    elif not (card.maskable if masked else card.rounds.once):
        why = f"{card.name} asks the sites several times, about moments that the coordinator computes"
    elif check:
        why = "checks ask for residuals given moments that the coordinator computes"
    if why:
        raise ConfigError(
            f"{why}; sites answer that only if they were started with --trust-coordinator. If all were, say so here: "
            "--trust-coordinator; see docs/privacy.md for what it means"
        )


def require_noise(federation: Federation, asked: Mapping[str, Any]) -> None:
    """Raise for what sites that add noise do not answer, before anything is spent."""
    if federation.declared_frame() is None:
        raise ConfigError("epsilon needs a frame in the federation file, of what is known without these rows")
    if federation.lags:
        raise ConfigError("epsilon does not go with lags: what a person did at one time would stand in several rows")
    if asked.get("check") or asked.get("resampling"):
        raise ConfigError("epsilon goes with the discovery alone: checks and bootstraps ask for sums without noise")


def background_of(finding: Finding, federation: Federation) -> Background:
    """What the federation file says of the sites that took part in a run."""
    return Background(
        holdings=[one for one in federation.layout().holdings if one.site in finding.sites],
        layout=cohort_layout(federation, finding.sites),
        grid=ARITHMETIC[finding.settings.summation],
        units=federation.units(),
    )
