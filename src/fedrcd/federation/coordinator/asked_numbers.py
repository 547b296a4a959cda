"""How many numbers each site would release in the first round of a run, by the federation file alone."""

from __future__ import annotations

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.data.table import Table
from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.masking.plan import MaskedPlan
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.protocol.site import LocalSite


def asked_numbers(federation: Federation, plan: RunPlan, method: str) -> dict[str, int]:
    """Numbers by site, of a method that was chosen; of a site for which they cannot be told beforehand, none."""
    asked = MaskedPlan(method=method, settings=plan.settings, resampling=plan.resampling)
    found = {}
    for site in federation.sites:
        layout = cohort_layout(federation, [site.name])
        try:
            question = next(asked.parts.rounds(asked.setting(federation, [site.name])))
            row = np.zeros((1, len(site.columns)))  # how many numbers there are does not depend on the rows
            table = Table(row, columns=site.columns, source="a row of zeros")
            answers = [LocalSite(site.name, table, block).answer(question, layout) for block in site.blocks]
        except (FedrcdError, StopIteration):
            continue
        found[site.name] = max(asked.groups, 1) * sum(sums.entries for sums in answers if sums is not None)
    return found
