"""A discovery from what a method returned, whichever transport it ran over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fedrcd.api.discovery import Discovery, name_steps, software_versions
from fedrcd.api.notes import variance_agreement
from fedrcd.errors import FedrcdWarning
from fedrcd.methods.registry import Card
from fedrcd.methods.skeleton import Estimate
from fedrcd.methods.standard_errors import effect_errors
from fedrcd.statistics.coverage import Holding
from fedrcd.typing import IntVector, Matrix


def describe(
    estimate: Estimate,
    card: Card,
    variables: tuple[str, ...],
    options: dict[str, Any],
    *,
    sites: int,
    rounds: int = 0,
    bytes_sent: int = 0,
    chosen: str = "",
    notes: Iterable[FedrcdWarning | str] = (),
    holdings: Sequence[Holding] = (),
    standardised: IntVector | None = None,
    confidence: Matrix | None = None,
    state_id: str = "",
    settings: Mapping[str, Any] | None = None,
    filled: bool = False,
) -> Discovery:
    """The estimate with names, costs, notes and errors.

    `standardised` is the order that the method gives for standardised variables, where it depends on scale and
    somebody asked; `filled` says that missing values were, so that there are fewer observations than rows; the others
    are as in `Discovery`.
    """
    if card.scale_free:
        standardised = estimate.order
    has_errors = estimate.marginals.even and not filled
    errors = effect_errors(estimate.marginals.cov, estimate.marginals.rows, estimate.B != 0) if has_errors else None
    return Discovery(
        names=variables,
        order=tuple(variables[i] for i in estimate.order),
        B=estimate.B,
        method=card.name,
        chosen=chosen,
        options=options,
        rows=estimate.marginals.rows,
        sites=sites,
        rounds=rounds,
        bytes_sent=bytes_sent,
        variance_agreement=variance_agreement(estimate),
        start=tuple(variables[i] for i in estimate.start),
        trace=name_steps(estimate.steps, variables),
        notes=tuple(map(str, notes)),
        variances=tuple(np.diagonal(estimate.marginals.cov).tolist()),
        standardised_order=() if standardised is None else tuple(variables[i] for i in standardised),
        holdings=tuple(holdings),
        versions=software_versions(),
        confidence=confidence,
        errors=errors.direct if errors else None,
        total_errors=errors.total if errors else None,
        state_id=state_id,
        settings=dict(settings or {}),
    )
