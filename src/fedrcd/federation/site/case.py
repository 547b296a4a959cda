"""A question put to one block of rows: the case that the rules of disclosure are applied to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedrcd.data.rows import Rows, count_rows
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.protocol.questions import Question
from fedrcd.statistics.frame import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that the rules look at.

    `rows` are the complete rows of `block`; `frame` is the declared one, if it is declared; `history` is what the site
    logged about this federation. `version` tags the rows as they are, `share` what of them this site answers for;
    `split` gives the rows of each of some number of groups, and `split_tag` tells one way to split from another. `trim`
    is empty, or tells how rows far out were left out. `trusted` says whether the site trusts its coordinator with what
    it asks.
    """

    question: Question[Any]
    run: str
    variables: tuple[str, ...]
    frame: Frame | None
    rows: Rows
    history: Sequence[LogEntry]
    rules: Rules
    block: str = ""
    version: str = ""
    share: str = ""
    split: Callable[[int], Sequence[Rows]] | None = None
    split_tag: str = ""
    trim: str = ""
    trusted: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the block."""
        return self.rows.columns

    @property
    def p(self) -> int:
        """How many they are."""
        return len(self.columns)

    @property
    def count(self) -> int:
        """Complete rows of the block."""
        return count_rows(self.rows)

    @property
    def answered(self) -> list[LogEntry]:
        """What left before."""
        return [entry for entry in self.history if entry.outcome == ANSWERED]

    @property
    def answered_for_block(self) -> list[LogEntry]:
        """What left before about this block."""
        return [entry for entry in self.answered if entry.block == self.block]
