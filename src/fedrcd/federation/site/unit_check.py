"""Whether a site's columns can be the quantities that the federation file declares: its own verdict on its own rows.

The coordinator is told a code per column, without figures. What the likely reason is, a factor for one, stays at the
site: `fedrcd site check` and `fedrcd site log` tell it there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fedrcd.data.federation import Federation
from fedrcd.data.rows import streamed
from fedrcd.data.survey import survey
from fedrcd.data.table import Table
from fedrcd.federation.site.trimming import frame_of
from fedrcd.statistics.order_statistics import Counted
from fedrcd.statistics.units import Mismatch, described, unlike


class UnlikeColumn(NamedTuple):
    """A column that does not fit its declared frame: in what, and why, for people at the site."""

    name: str
    mismatch: Mismatch
    explanation: str


def unlike_columns(block: Table, federation: Federation) -> Iterator[UnlikeColumn]:
    """Columns of a block that cannot be the quantities that were declared; those without a frame are left alone."""
    declared = [j for j, name in enumerate(block.columns) if name in federation.frame]
    if not declared:
        return
    stream = streamed(block)
    names = [block.columns[j] for j in declared]
    counted = Counted(*(one[declared] for one in survey(block).counted))
    own = described(lambda: (chunk[:, declared] for chunk in stream()), counted)
    for found in unlike(own, frame_of(names, federation)):
        name = names[found.variable]
        unit = f" in {federation.frame[name].unit}" if federation.frame[name].unit else ""
        yield UnlikeColumn(name, found.mismatch, f"column {name!r}, declared{unit}: {found.explanation}")
