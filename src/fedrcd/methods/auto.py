"""Which method to take when the user does not say: the rules behind `method="auto"`.

| the federation | the choice |
|---|---|
| every pair of columns is at some site, but no site has all columns | `fedrcd-sp` |
| some values stand far apart from all others, and rounds cost next to nothing (one process) | `fedrcd-r` |
| rounds cost next to nothing (one process), and there are at most 80 variables | `fedrcd-se` |
| fewer than 250 rows of more than 80 variables in all, and rounds cost next to nothing | `fed-direct` |
| a site refuses the tensor, or there are more than 80 variables | `fedrcd-sx` |
| the same, but rows have gaps that are to be kept, or it must be one round (a bootstrap of groups) | `fedrcd-sp` |
| anything else | `fedrcd-s` |

With gaps that are kept, or where it must be one round, `fedrcd-r`, `fedrcd-se` and `fed-direct` are not taken either.
All are scale-free.
`fedrcd-s` takes one round, can be erased from, and orders as well as DirectLiNGAM. Beyond 80 variables its tensor
(16 MB at p = 80, growing as p^4) and the coordinator's memory (0.5 GB) cost more than the rounds of `fedrcd-sx`, which
sends p^2 numbers in each of p - 1 rounds. Where rounds are free, `fedrcd-se` climbs on from the order of `fedrcd-s` by
the entropies of DirectLiNGAM, a few rounds more: they see what fourth moments miss, above all with few rows and weak
edges. Beyond 80 variables and with very few rows `fed-direct` takes p rounds for the same entropies. Gross errors
turn the orders of all of these and not that of `fedrcd-r`, which takes six rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, inf
from typing import NamedTuple

from fedrcd.errors import ConfigError
from fedrcd.methods.card import Card
from fedrcd.methods.costs import Job, available_memory
from fedrcd.methods.registry import METHODS, build, find, first
from fedrcd.methods.settings import AUTO

__all__ = ["AUTO", "Choice", "Circumstances", "choose", "scale_free_default"]

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
    past: bool = False
    """Whether rows go back in time."""
    far_apart: bool = False
    """Whether values of some rows stand far apart from all others."""
    memory: float = inf
    """Bytes that a run may take beside the tables."""
    sites: int = 1
    threads: int = 1
    stored_tensor: bool | None = None
    """Whether the sums that are stored are full tensors; None where sites are asked."""

    @property
    def allows_residuals(self) -> bool:
        """Whether sites may be asked for residuals, round by round."""
        return self.complete_rows and not self.one_round and self.stored_tensor is None

    @property
    def allows_tensor(self) -> bool:
        """Whether the full tensor is there, or sites may be asked for it."""
        if self.stored_tensor is not None:
            return self.stored_tensor
        return self.all_columns_somewhere and not self.tensor_refused and self.p <= LARGEST_TENSOR

    @property
    def few_rows(self) -> bool:
        """Whether there are few rows, and rounds are free."""
        return self.rows < FEW_ROWS and self.rounds_are_free

    def affords(self, card: Card) -> bool:
        """Whether there is memory enough for a method; one that takes no tensor runs with what there is."""
        if card.cost is None or not card.payload.is_tensor:
            return True
        return card.cost(Job(self.p, self.rows, self.sites, self.threads)).memory <= self.memory

    @property
    def rounds_are_free(self) -> bool:
        """Whether a round costs next to nothing."""
        return self.seconds_per_round < CHEAP_ROUND


class Choice(NamedTuple):
    """A method and the reason for it, in one line."""

    method: str
    reason: str


def choose(circumstances: Circumstances) -> Choice:
    """The method for a federation: the first in rank that can run."""
    suitable = [card for card in METHODS.values() if _suits(card, circumstances)]
    if not suitable:  # no method asks for less and follows a past: whoever refuses it says what it needs
        return choose(replace(circumstances, past=False, tensor_refused=False))
    card = first(suitable.__contains__)
    return Choice(card.name, _reason(card, circumstances))


def require_memory(card: Card, job: Job) -> None:
    """Raise if a method needs more memory than there is."""
    needed, there = card.cost(job).memory if card.cost else 0.0, available_memory()
    if needed > there:
        raise ConfigError(
            f"{card.name} needs about {needed / 1e6:,.0f} MB of memory for {job.p} variables and {there / 1e6:,.0f} MB "
            f"are free; take {AUTO}, which chooses a method that fits"
        )


def scale_free_default() -> str:
    """What is taken where nothing speaks against it; messages name it."""
    return first(lambda card: card.auto is not None and card.auto.always).name


def robust_choice() -> str:
    """What is taken where values stand far apart; messages name it."""
    return first(lambda card: card.auto is not None and card.auto.far_apart).name


def pairs_only() -> str:
    """The scale-free method for sites that hold pairs of columns together and no more; messages name it."""
    return first(lambda card: card.auto is not None and card.coverage.together(3) == 2).name


def one_round_choices() -> list[str]:
    """Methods of one round that `auto` takes, by their rank."""
    chosen = [card for card in METHODS.values() if card.auto and card.rounds.once]
    return [card.name for card in sorted(chosen, key=lambda card: card.auto.rank if card.auto else 0)]


def _suits(card: Card, known: Circumstances) -> bool:
    """Whether `auto` may take a method."""
    if card.auto is None or (known.past and not build(card.name).deflation.least_squares):
        return False
    if (card.auto.few_rows and not known.few_rows) or not known.affords(card):
        return False
    if not card.auto.always and not known.rounds_are_free:
        return False
    if card.auto.far_apart and not (known.far_apart and known.p <= LARGEST_TENSOR):
        return False
    if not card.rounds.once and not (known.allows_residuals and known.all_columns_somewhere):
        return False
    return known.allows_tensor or not card.payload.is_tensor


def _reason(card: Card, known: Circumstances) -> str:
    """Why that method, in one line."""
    if known.stored_tensor is not None:
        return f"the ledger holds {'full tensors' if known.stored_tensor else 'sums of pairs of columns only'}"
    if not known.all_columns_somewhere:
        return "the sites cover pairs of columns only"
    if card.auto and card.auto.few_rows:
        return f"{known.rows} rows are few for fourth moments, and rounds cost nothing"
    if card.auto and card.auto.free_rounds:
        return "rounds cost nothing here, and entropies over whole orders see what the sums of one round miss"
    if card.auto and card.auto.far_apart:
        return "some values stand far apart from all others, and no row turns its order"
    if known.tensor_refused:
        return "a site does not release the full tensor"
    if not known.affords(find(scale_free_default())) and not card.asks_tensor:
        return f"there is too little memory for the full tensor of {known.p} variables"
    size = 8 * comb(known.p + 4, 4) / 1e3
    if known.p > LARGEST_TENSOR:
        return f"{known.p} variables are too many for the full tensor ({size:,.0f} kB a site)"
    return f"scale-free in one round, {size:,.0f} kB a site"
