"""What a user should know before trusting a result; each note is also issued as a warning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedrcd.errors import FedrcdWarning, IdentifiabilityWarning, OutlierWarning, ScaleWarning
from fedrcd.graphs.metrics import order_agreement
from fedrcd.methods.registry import Card
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.outliers import columns_with_gross_errors
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.transport import InProcess

GAUSSIAN_WITHIN = 4.5
"""Standard errors within which a variable passes for Gaussian."""

SCALE_DECIDES = 0.9
"""Agreement with a plain sort by variance from which scale is suspected of having decided the order."""


def variance_agreement(estimate: Estimate) -> float:
    """Share of pairs that the order and a plain sort by variance place alike; about 0.5 if scale plays no part."""
    return order_agreement(estimate.order, np.diagonal(estimate.marginals.cov))


def identifiability(estimate: Estimate, card: Card) -> list[FedrcdWarning]:
    """Whether any variable is far enough from Gaussian for an order to be identified."""
    if (estimate.marginals.distance >= GAUSSIAN_WITHIN).any():
        return []
    what = "skewness" if card.score == "tau3" else "departure from a Gaussian distribution"
    return [
        IdentifiabilityWarning(
            f"none of the {len(estimate.order)} variables shows a {what} beyond sampling error, so {card.name} cannot "
            "identify the order: treat it as arbitrary"
            + ("; try a fourth-order method" if card.score == "tau3" else "")
        )
    ]


def scale(estimate: Estimate, card: Card) -> list[FedrcdWarning]:
    """Whether a method that reads scale may have read nothing else."""
    agreement = variance_agreement(estimate)
    if card.scale_free or agreement < SCALE_DECIDES:
        return []
    return [
        ScaleWarning(
            f"{card.name} depends on the units of the variables, and its order agrees with a plain sort by variance in "
            f"{agreement:.0%} of pairs: scale may have decided it; compare with fedrcd-s, which ignores scale"
        )
    ]


def outliers(transport: InProcess, trim: float | None, before: Sequence[int]) -> list[FedrcdWarning]:
    """Rows that were left out, and columns with gross errors where none were."""
    notes: list[FedrcdWarning] = []
    for site, rows in zip(transport.sites, before, strict=True):
        if not isinstance(site, TableSite):
            continue
        if trim is not None:
            if len(site.rows) < rows:
                notes.append(
                    OutlierWarning(f"trim={trim:g} left out {rows - len(site.rows)} of {rows} rows of {site.name}")
                )
            continue
        columns = [site.columns[j] for j in columns_with_gross_errors(site.rows, transport.setting.frame)]
        if columns:
            notes.append(
                OutlierWarning(
                    f"{site.name} holds values in {', '.join(map(repr, columns[:5]))} that stand far apart from all "
                    "others; if they are errors correct them, or leave their rows out with trim=8"
                )
            )
    return notes
