"""Which method to take when the user does not say: the rules behind `method="auto"`.

| the federation | the choice |
|---|---|
| every pair of columns is at some site, but no site has all columns | `fedrcd-sp` |
| fewer than 250 rows in all, and rounds cost next to nothing (one process) | `fed-direct` |
| a site refuses the tensor, or there are more than 80 variables | `fedrcd-sx` |
| anything else | `fedrcd-s` |

All four are scale-free. `fedrcd-s` takes one round, can be erased from, and orders as well as DirectLiNGAM. Beyond 80
variables its tensor (16 MB at p = 80, growing as p^4) and the coordinator's memory (0.5 GB) cost more than the rounds
of `fedrcd-sx`, which sends p^2 numbers in each of p - 1 rounds. With very few rows fourth moments are noisy and
DirectLiNGAM's entropies are the better evidence; `fed-direct` takes p rounds for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import NamedTuple

AUTO = "auto"
LARGEST_TENSOR = 80
FEW_ROWS = 250
CHEAP_ROUND = 0.1
"""Seconds below which a round counts as free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of a federation before the first question."""

    p: int
    rows: int
    seconds_per_round: float = 0.0
    all_columns_somewhere: bool = True
    tensor_refused: bool = False


class Choice(NamedTuple):
    """A method and the reason for it, in one line."""

    method: str
    reason: str


def choose(circumstances: Circumstances) -> Choice:
    """The method for a federation."""
    p = circumstances.p
    if not circumstances.all_columns_somewhere:
        return Choice("fedrcd-sp", "the sites cover pairs of columns only")
    if circumstances.rows < FEW_ROWS and circumstances.seconds_per_round < CHEAP_ROUND:
        return Choice("fed-direct", f"{circumstances.rows} rows are few for fourth moments, and rounds cost nothing")
    if circumstances.tensor_refused:
        return Choice("fedrcd-sx", "a site does not release the full tensor")
    size = 8 * comb(p + 4, 4) / 1e3
    if p > LARGEST_TENSOR:
        return Choice("fedrcd-sx", f"{p} variables are too many for the full tensor ({size:,.0f} kB a site)")
    return Choice("fedrcd-s", f"scale-free in one round, {size:,.0f} kB a site")
