"""Whether pooled second moments allow a regression at all."""

from __future__ import annotations

import numpy as np

from fedrcd.errors import DataError, StatisticError
from fedrcd.typing import Matrix

SINGULAR = 1e-10
"""A variable with less than this share of its variance left, given others, counts as their linear combination."""


def require_rows(rows: int, names: tuple[str, ...]) -> None:
    """Raise unless there are enough rows for cumulants and regressions."""
    p = len(names)
    needed = max(p + 2, 8)
    if rows < needed:
        raise DataError(f"{p} variables need at least {needed} rows over all sites, got {rows}")


def require_regular(cov: Matrix, names: tuple[str, ...]) -> None:
    """Raise if a variable does not vary or is a linear combination of others; names the culprits."""
    p = len(names)
    sd = np.sqrt(np.diagonal(cov))
    if not (sd > 0).all():
        raise StatisticError(f"column {names[int(np.argmin(sd))]!r} does not vary; leave it out")
    correlation = cov / np.outer(sd, sd)
    for j in range(1, p):
        before = correlation[:j, :j]
        weight = np.linalg.solve(before, correlation[:j, j])
        if 1 - correlation[j, :j] @ weight < SINGULAR:
            partners = [names[k] for k in range(j) if abs(weight[k]) > 1e-6]
            raise StatisticError(
                f"column {names[j]!r} is a linear combination of {', '.join(map(repr, partners))}; "
                "leave one of them out"
            )
