"""The numbers in the rules of disclosure, and the case that the rules are applied to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from fedrcd.federation.site_log import ANSWERED, Entry
from fedrcd.protocol.questions import Question
from fedrcd.statistics.frame import Frame
from fedrcd.typing import IntVector, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The numbers in the rules; a site may only make them stricter."""

    rows: int = 100
    rows_per_variable: int = 10
    rows_per_tensor: float = 2.0
    """Rows, in multiples of what the full tensor determines."""
    levels: int = 5
    cell: int = 11
    share: float = 0.5
    """Of the rows, that all released numbers may determine."""
    checks: int = 3
    """Different questions for powers of residuals that may be answered about the same rows."""

    def needed_rows(self, p: int) -> int:
        """Complete rows that a block of p columns needs to be summed at all."""
        return max(self.rows, self.rows_per_variable * p)

    def needed_tensor_rows(self, p: int) -> int:
        """Rows that a block needs before the full tensor of p columns leaves."""
        return int(np.ceil(self.rows_per_tensor * (comb(p + 4, 4) - 1) / p))

    def budget(self, rows: int, p: int) -> int:
        """Numbers that may ever be released about a block."""
        return int(self.share * rows * p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question put to one block: everything that the rules look at.

    `rows` are the complete rows of `block`, `columns` its columns; `frame` is the declared one, if it is declared;
    `history` is what the site logged about this federation. `version` tags the rows as they are; `split` gives the rows
    of each of some number of groups, and `split_tag` tells one way to split from another. `trim` is empty, or
    tells how rows far out were left out.
    """

    question: Question[Any]
    run: str
    variables: tuple[str, ...]
    frame: Frame | None
    columns: tuple[str, ...]
    rows: Matrix
    history: Sequence[Entry]
    rules: Rules
    block: str = ""
    version: str = ""
    split: Callable[[int], Sequence[IntVector]] | None = None
    split_tag: str = ""
    trim: str = ""

    @property
    def p(self) -> int:
        """Columns of the block."""
        return len(self.columns)

    @property
    def answered(self) -> list[Entry]:
        """What left before."""
        return [entry for entry in self.history if entry.outcome == ANSWERED]

    @property
    def answered_for_block(self) -> list[Entry]:
        """What left before about this block."""
        return [entry for entry in self.answered if entry.block == self.block]
