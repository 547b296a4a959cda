"""The rows of a block that an answer is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fedrcd.data.table import Table
from fedrcd.federation.site.editions.census import Census
from fedrcd.federation.site.editions.row_marks import NOBODY, MarkVector
from fedrcd.federation.site.editions.tables import Edition
from fedrcd.protocol.groups import Grouping


class BlockRows(NamedTuple):
    """The rows of a block: all that were not erased, those of them that are summed, and how groups are drawn."""

    whole: Table
    summed: Table
    grouping: Grouping | None


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The rows of a block that an answer is about: of an edition, or of one to be, then `edition` is None."""

    rows: Table
    grouping: Grouping | None
    edition: Edition | None
    census: Census | None = None
    fingerprint: str = ""
    replaces: Edition | None = None
    withheld: MarkVector = field(default_factory=lambda: NOBODY)
    """Persons who are left out for good, to hide others among them."""

    @property
    def most(self) -> int:
        """Rows of the person who has most of them."""
        if self.edition is not None:
            return self.edition.most
        assert self.census is not None
        return self.census.most

    @property
    def tag(self) -> str:
        """Tells these rows from all others: what is allowed for them is allowed for no others."""
        if self.edition is not None:
            return self.edition.label
        assert self.census is not None
        return self.census.tag()
