"""How far the moments that come with a question are from those of the rows here: for the person who approves it."""

from __future__ import annotations

import numpy as np

from fedrcd.federation.site.residual_rules import moments_here
from fedrcd.federation.site.rule_context import RuleContext


def beside_own(context: RuleContext) -> str:
    """That, in words; empty where no moments come with it, or the site does not hold all variables."""
    basis = context.question.each.basis
    if basis is None or not set(context.variables) <= set(context.columns):
        return ""
    mean, cov = moments_here(context)
    variance, claimed = np.diagonal(cov), np.diagonal(basis.moments.cov)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(basis.moments.mean - mean) / np.sqrt(variance)
        times = np.maximum(claimed / variance, variance / claimed)
    farthest, widest = int(np.argmax(off)), int(np.argmax(times))
    return (
        f"the moments that came with it are the coordinator's: means up to {off[farthest]:.2g} standard deviations "
        f"from those of the rows here ({context.variables[farthest]}), variances up to {times[widest]:.2g} times "
        f"({context.variables[widest]})"
    )
