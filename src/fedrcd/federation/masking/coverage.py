"""Whether masks can hide every site, by who holds what: said before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.federation.masking.cohorts import COLLUDING, told
from fedrcd.federation.masking.vectors import covering
from fedrcd.protocol.questions import Question
from fedrcd.statistics.coverage import Layout


def require_hidden(
    question: Question[Any], layout: Layout | None, cohort: Sequence[str], colluding: int = COLLUDING
) -> None:
    """Raise `ConfigError`, with the reason, unless masks hide every site of a cohort that answers a question."""
    needed = colluding + 2
    if len(cohort) < needed:
        raise ConfigError(
            f"masks hide nobody among {_sites(len(cohort))}: they need at least {needed}, so that {_sites(colluding)} "
            "and the coordinator together cannot tell the others apart"
        )
    if layout is None:
        return
    if len({one.block for one in layout.holdings}) == 1:
        raise ConfigError(
            "masks hide nobody here: all sites hold columns of the same rows, so every number is about what one site "
            "has; run in the clear, where every site agrees to it"
        )
    open_sites = told(totals_of(question, layout), colluding)
    if open_sites:
        raise ConfigError(
            f"masks cannot hide {', '.join(map(repr, open_sites))}: some sums of columns that too few sites hold, or a "
            f"difference of such sums, would be about one of them alone; every combination of columns that sites "
            f"answer for needs at least {needed} of them, or none"
        )


def totals_of(question: Question[Any], layout: Layout) -> list[frozenset[tuple[str, str]]]:
    """The sets of sites and blocks that the numbers of a pooled answer are about, each once."""
    shares = covering(question, layout)
    origins = list(shares)
    packed = np.packbits(np.stack([shares[one] for one in origins], axis=1), axis=1)
    found = np.unpackbits(np.unique(packed, axis=0), axis=1, count=len(origins)).astype(bool)
    sets = [frozenset(one for one, there in zip(origins, row, strict=True) if there) for row in found]
    return [one for one in sets if one]


def _sites(number: int) -> str:
    return "one site" if number == 1 else f"{number} sites"
