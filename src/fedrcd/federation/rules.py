"""The numbers in the rules of disclosure, which sites keep and coordinators reckon with."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from math import comb
from typing import Any

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.protocol.questions import PAIR_DEPTH, TENSOR_DEPTH

STRICTER_BELOW = frozenset({"share", "checks", "whitenings", "dominance"})
"""Numbers that are stricter the smaller they are."""

FREE = frozenset({"days", "off"})
"""What makes no rule stricter or weaker by a number."""

DEPTHS = (PAIR_DEPTH, TENSOR_DEPTH)
"""How many variables sums combine at most: differences of rows are judged by what is known of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The numbers in the rules, the same at every door of a site; a site may only make them stricter."""

    rows: int = 100
    rows_per_variable: int = 10
    rows_per_tensor: float = 2.0
    """Rows, in multiples of what the full tensor, or all numbers that left, determine."""
    levels: int = 5
    cell: int = 11
    share: float = 0.5
    """Of the rows, that all released numbers may determine."""
    checks: int = 3
    """Different questions for powers of residuals that may be answered about the same rows."""
    whitenings: int = 6
    """Whitenings under which sums over directions of the same rows may be part of replayed totals."""
    suppress: int = 0
    """Few-level columns of which rare combinations leave their rows out; 0: for such rows the site refuses."""
    dominance: float = 1.0
    """Of an even moment, what a single row may make up: rows that are more leave the sums."""
    batch: int = 0
    """Persons by whom two editions must differ, alone and combined; at least what sums of them determine."""
    days: int = 30
    """After so many days an erasure is carried out whatever the batch."""
    off: tuple[str, ...] = ()
    """Rules that are switched off, by name: in federations that say of themselves that they are trials."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name not in ("off", "dominance") and getattr(self, one.name) < 0:
                raise ConfigError(f"{one.name} must be at least 0, got {getattr(self, one.name)}")
        if not 0 < self.dominance <= 1:
            raise ConfigError(f"dominance must be a share above 0 and at most 1, got {self.dominance:g}")

    def require_strict(self, *, trial: bool = False) -> None:
        """Raise if a number is weaker than the default, or a rule is off in a federation that is no trial."""
        if self.off and not trial:
            raise ConfigError(
                f"the rule {self.off[0]!r} can only be switched off in a federation whose file says trial = true: for "
                "demonstrations with made-up data"
            )
        for one in (field for field in fields(self) if field.name not in FREE):
            least, given = one.default, getattr(self, one.name)
            stricter = given <= least if one.name in STRICTER_BELOW else given >= least
            if not stricter:
                raise ConfigError(f"the rule {one.name!r} may only be made stricter than {least}, got {given}")

    def strictest(self, other: Rules) -> Rules:
        """The stricter number of each rule; the days of this."""
        numbers = {
            one.name: (min if one.name in STRICTER_BELOW else max)(getattr(self, one.name), getattr(other, one.name))
            for one in fields(self)
            if one.name not in FREE
        }
        return replace(self, **numbers, off=tuple(dict.fromkeys((*self.off, *other.off))))

    def needed_rows(self, p: int) -> int:
        """Complete rows that a block of p columns needs to be summed at all."""
        return max(self.rows, self.rows_per_variable * p)

    def needed_tensor_rows(self, p: int) -> int:
        """Rows that a block needs before the full tensor of p columns leaves."""
        return int(np.ceil(self.rows_per_tensor * (comb(p + 4, 4) - 1) / p))

    def needed_batch(self, p: int, depth: int) -> int:
        """Persons by which editions of p columns must differ, where sums that combine so many variables leave.

        Whoever sees both knows the sums of the rows between, and sums of few rows are those rows: pair sums of order 4
        determine up to 3 p + 1 of them, a full tensor (C(p + 4, 4) - 1) / p.
        """
        least = self.rows_per_variable * p
        return max(self.batch, least, self.needed_tensor_rows(p) if depth >= TENSOR_DEPTH else 0)

    def for_units_of(self, rows: int) -> Rules:
        """The same for units of protection with up to so many rows each: rows count as one as many at a time.

        Sums that would tell one row tell no subject if as many subjects are behind them as rows would have to be.
        """
        if rows <= 1:
            return self
        numbers: dict[str, Any] = {
            name: getattr(self, name) * rows
            for name in ("rows", "rows_per_variable", "rows_per_tensor", "cell", "batch")
        }
        return replace(self, **numbers, share=self.share / rows)

    @property
    def longest_wait(self) -> timedelta:
        """How long an erasure waits at most."""
        return timedelta(days=self.days)

    def budget(self, rows: int, p: int) -> int:
        """Numbers that may ever be released about a block."""
        return int(self.share * rows * p)
