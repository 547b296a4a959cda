"""The note of a run that takes rows of a series, or several rows of a subject, as a sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedrcd.data.table import Table
from fedrcd.errors import CoverageWarning

ALIKE = 0.2
"""Correlation of half of the columns with the row before from which rows are said to be alike."""

CHANCE = 5.0
"""Standard errors by which it must be beyond chance."""


def rows_in_time(blocks: Sequence[Table]) -> Iterator[CoverageWarning]:
    """A note for the first table whose rows are like those before them, and do not say whose they are."""
    for block in blocks:
        if not isinstance(block.data, np.ndarray) or block.identified:
            continue
        alike = _like_before(block)
        if alike > max(ALIKE, CHANCE / np.sqrt(len(block.data))):
            yield CoverageWarning(
                f"rows of {block.source} are like those before them (half of the columns correlate by {alike:.2f} or "
                "more): a series, or several rows of a subject. Taken as a sample their effects of before seem to be "
                "of now, and intervals are too narrow; say lags=... and time=..., or subject=... (docs/howto/time.md)"
            )
            return


def _like_before(block: Table) -> float:
    """The median over columns of how far a row correlates with the one before it."""
    rows = block.data[~np.isnan(block.data).any(axis=1)]
    if len(rows) < 3:
        return 0.0
    spread = rows - rows.mean(axis=0)
    size = np.square(spread).sum(axis=0)
    together = np.abs((spread[1:] * spread[:-1]).sum(axis=0))
    return float(np.median(together / np.where(size > 0, size, np.inf)))
