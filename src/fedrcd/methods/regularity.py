"""Whether pooled second moments allow a regression at all."""

from __future__ import annotations

import numpy as np

from fedrcd.errors import DataError, StatisticError
from fedrcd.statistics.frame import Frame
from fedrcd.typing import Matrix

SMALLEST_SD, LARGEST_SD = 1e-35, 1e35
"""Scores multiply two fourth cumulants, eight powers of a standard deviation."""

SINGULAR = 1e-10
"""A variable with less than this share of its variance left, given others, counts as their linear combination."""


def require_rows(rows: int, names: tuple[str, ...]) -> None:
    """Raise unless there are enough rows for cumulants and regressions."""
    p = len(names)
    needed = max(p + 2, 8)
    if rows < needed:
        raise DataError(f"{p} variables need at least {needed} rows over all sites, got {rows}")


def require_units(frame: Frame, names: tuple[str, ...]) -> None:
    """Raise if the frame expects values whose powers do not fit a number."""
    absurd = ~((frame.scale > SMALLEST_SD) & (frame.scale < LARGEST_SD))
    if absurd.any():
        raise _absurd(names[int(np.argmax(absurd))])


def _absurd(name: str) -> StatisticError:
    return StatisticError(
        f"column {name!r} has a spread whose powers do not fit a number; look for extreme values "
        "there, or change its unit"
    )


def require_regular(cov: Matrix, names: tuple[str, ...]) -> None:
    """Raise if a variable does not vary or is a linear combination of others; names the culprits."""
    p = len(names)
    sd = np.sqrt(np.diagonal(cov))
    if not (sd > 0).all():
        raise StatisticError(f"column {names[int(np.argmin(sd))]!r} does not vary; leave it out")
    absurd = ~((sd > SMALLEST_SD) & (sd < LARGEST_SD))
    if absurd.any():
        raise _absurd(names[int(np.argmax(absurd))])
    correlation = cov / np.outer(sd, sd)
    if _clearly_regular(correlation):
        return
    for j in range(1, p):
        before = correlation[:j, :j]
        weight = np.linalg.solve(before, correlation[:j, j])
        if 1 - correlation[j, :j] @ weight < SINGULAR:
            partners = [names[k] for k in range(j) if abs(weight[k]) > 1e-6]
            raise StatisticError(
                f"column {names[j]!r} is a linear combination of {', '.join(map(repr, partners))}; "
                "leave one of them out"
            )


def _clearly_regular(correlation: Matrix) -> bool:
    """Whether far more than `SINGULAR` is left of every variable given those before it, by one factor for all."""
    try:
        factor = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        return False
    return bool((np.diagonal(factor) ** 2 > 10 * SINGULAR).all())
