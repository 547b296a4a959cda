"""Which method to take when the user does not say: the rules behind `method="auto"`.

| the federation | the choice |
|---|---|
| every pair of columns is at some site, but no site has all columns | `fedrcd-sp` |
| fewer than 250 rows in all, and rounds cost next to nothing (one process) | `fed-direct` |
| a site refuses the tensor, or there are more than 80 variables | `fedrcd-sx` |
| the same, but rows have gaps that are to be kept, or it must be one round (a bootstrap of groups) | `fedrcd-sp` |
| anything else | `fedrcd-s` |

With gaps that are kept, or where it must be one round, `fed-direct` is not taken either. All four are scale-free.
`fedrcd-s` takes one round, can be erased from, and orders as well as DirectLiNGAM. Beyond 80 variables its tensor
(16 MB at p = 80, growing as p^4) and the coordinator's memory (0.5 GB) cost more than the rounds of `fedrcd-sx`, which
sends p^2 numbers in each of p - 1 rounds. With very few rows fourth moments are noisy, and where rounds are free the
entropies of DirectLiNGAM are the evidence that most people know; `fed-direct` takes p rounds for them.
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
    complete_rows: bool = True
    """Whether rows with missing values are left out; methods that ask for residuals need that."""
    one_round: bool = False
    """Whether only methods of one round will do."""

    @property
    def allows_residuals(self) -> bool:
        """Whether sites may be asked for residuals, round by round."""
        return self.complete_rows and not self.one_round


class Choice(NamedTuple):
    """A method and the reason for it, in one line."""

    method: str
    reason: str


def choose(circumstances: Circumstances) -> Choice:
    """The method for a federation."""
    p = circumstances.p
    if not circumstances.all_columns_somewhere:
        return Choice("fedrcd-sp", "the sites cover pairs of columns only")
    few = circumstances.rows < FEW_ROWS and circumstances.seconds_per_round < CHEAP_ROUND
    if few and circumstances.allows_residuals:
        return Choice("fed-direct", f"{circumstances.rows} rows are few for fourth moments, and rounds cost nothing")
    without_tensor = "fedrcd-sx" if circumstances.allows_residuals else "fedrcd-sp"
    if circumstances.tensor_refused:
        return Choice(without_tensor, "a site does not release the full tensor")
    size = 8 * comb(p + 4, 4) / 1e3
    if p > LARGEST_TENSOR:
        return Choice(without_tensor, f"{p} variables are too many for the full tensor ({size:,.0f} kB a site)")
    return Choice("fedrcd-s", f"scale-free in one round, {size:,.0f} kB a site")
