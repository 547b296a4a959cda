"""A question put to one block of rows: the case that the rules of disclosure are applied to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedrcd.data.rows import Rows, count_rows
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.protocol.questions import Question
from fedrcd.statistics.frame import Frame

RAW = "raw"
"""How rows are expressed for moments of sites: they go with any other way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleContext:
    """Everything that the rules look at.

    `rows` are those of an edition of `block`, or of one to be, whose label is `version`; `rules` count
    them by the units that are protected. `frame` is the declared one,
    if it is declared, `pinned` the one in which sums left before, by variable. `history` is what the site logged;
    `related` are the labels of all editions that share persons with these rows, `vectors` those of the editions that
    persons here were in together. `share` tells what of the rows this site answers for; `split` gives the rows of each
    of some number of groups, and `split_tag` tells one way to split from another. `few_levels` are
    the columns of `rows` that may have few levels, where somebody read them before. `trim` is empty, or tells how rows
    far out were left out. `within` says how the rows were expressed. `trusted` says whether the site trusts its
    coordinator with what it asks, `replayed` that it worked out by itself what is asked, and needs to trust nobody.
    `most_loss` is what all answers with noise may lose of privacy, 0 where there are none; `noise_parts` is how many
    sites add noise of which nobody else knows. `past` are the variables of steps before, which are taken
    out all at once. `single_rows` says whether the federation file protects rows that are part of no other.
    """

    question: Question[Any]
    run: str
    variables: tuple[str, ...]
    frame: Frame | None
    rows: Rows
    history: Sequence[LogEntry]
    rules: Rules
    pinned: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    related: frozenset[str] = frozenset()
    vectors: Sequence[frozenset[str]] = ()
    block: str = ""
    version: str = ""
    share: str = ""
    split: Callable[[int], Sequence[Rows]] | None = None
    split_tag: str = ""
    few_levels: Rows | None = None
    trim: str = ""
    within: str = "none"
    trusted: bool = False
    replayed: bool = False
    past: tuple[int, ...] = ()
    single_rows: bool = True
    most_loss: float = 0.0
    noise_parts: int = 1

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
    def within_tag(self) -> str:
        """How the rows are expressed; something else for moments in no frame, from which that is found out."""
        return self.within if "frame" in (self.question.each.rules or ()) else RAW

    @property
    def answered(self) -> list[LogEntry]:
        """What left before."""
        return [entry for entry in self.history if entry.outcome == ANSWERED]

    @property
    def answered_about_rows(self) -> list[LogEntry]:
        """What left before about any of these persons, whatever their block was called."""
        return [entry for entry in self.answered if entry.version in self.related]
