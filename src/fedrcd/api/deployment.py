"""What is known of the rows behind a run over machines: the federation file, and who took part."""

from __future__ import annotations

from fedrcd.api.describe import Background
from fedrcd.api.notes import require_together
from fedrcd.data.federation import Federation
from fedrcd.federation.choosing import choose_method
from fedrcd.federation.messages import cohort_layout
from fedrcd.methods.finding import Finding
from fedrcd.methods.registry import find
from fedrcd.statistics.grid import ARITHMETIC


def require_coverage(federation: Federation, method: str, *, trust_coordinator: bool = False) -> None:
    """Raise if the sites of a federation do not hold together what a method needs."""
    card = find(choose_method(federation, method, trust_coordinator=trust_coordinator).method)
    layout = cohort_layout(federation, [site.name for site in federation.sites])
    require_together(card, layout, len(federation.variables), "complete")


def background_of(finding: Finding, federation: Federation) -> Background:
    """What the federation file says of the sites that took part in a run."""
    return Background(
        holdings=[one for one in federation.layout().holdings if one.site in finding.sites],
        layout=cohort_layout(federation, finding.sites),
        grid=ARITHMETIC[finding.settings.arithmetic],
    )
