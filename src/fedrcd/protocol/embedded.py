"""A federation inside one process: every table is a block of rows at a site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fedrcd.errors import DataError
from fedrcd.protocol.outliers import rows_within
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.transport import InProcess, Setting, Traffic
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.frame import Frame, propose_frame, robust_frame
from fedrcd.statistics.grid import Grid
from fedrcd.typing import BoolMatrix, IntVector, Matrix

Missing = Literal["complete", "expected", "available"]
Within = Literal["none", "centre", "standardise"]


@dataclass(frozen=True, slots=True, eq=False)
class LocalBlock:
    """Rows of one block at one site, with the columns the site has for them."""

    site: str
    block: str
    columns: tuple[str, ...]
    rows: Matrix
    ids: tuple[str, ...] | None = None
    """Identifiers of the rows; their places where there are none."""
    identified: bool = False
    """Whether the identifiers came with the table."""

    def keep(self, kept: IntVector | BoolMatrix) -> LocalBlock:
        """Some of the rows, which stay who they are."""
        ids = np.array(self.ids if self.ids is not None else np.arange(len(self.rows)), dtype=str)
        return replace(self, rows=self.rows[kept], ids=tuple(ids[kept].tolist()))


def embed(
    tables: Sequence[Matrix],
    columns: tuple[str, ...],
    *,
    labels: Sequence[str] = (),
    stack: bool = False,
) -> InProcess:
    """A transport over complete tables with the same columns, each with rows of its own.

    Parameters
    ----------
    tables : sequence of (n, p) arrays
        One per site.
    columns : (p,) tuple of str
        Their names.
    labels : sequence of str
        What messages call the sites.
    stack : bool
        Make one site of all tables.
    """
    rows = [np.concatenate(tables)] if stack and len(tables) > 1 else list(tables)
    names = labels if len(labels) == len(rows) else [f"site {k}" for k in range(1, len(rows) + 1)]
    return embed_blocks([LocalBlock(name, name, columns, one) for name, one in zip(names, rows, strict=True)], columns)


def embed_blocks(
    blocks: Sequence[LocalBlock],
    variables: tuple[str, ...],
    *,
    trim: float | None = None,
    trim_within: Within | None = None,
    within: Within = "none",
    missing: Missing = "complete",
    frame: Frame | None = None,
    grid: Grid | None = None,
    progress: Callable[[Traffic], None] | None = None,
) -> InProcess:
    """A transport over blocks whose columns may differ, in a frame proposed from their rows.

    Parameters
    ----------
    blocks : sequence of LocalBlock
        In the order of the federation.
    variables : (p,) tuple of str
        All variables; their order breaks ties.
    trim : float, optional
        Leave out rows with a value more than this many robust scales from its variable's median; of the site's own
        median or scale, where sites express their rows by their own.
    trim_within : {"none", "centre", "standardise"}, optional
        The units in which rows are measured for `trim`; those of `within` by default.
    within : {"none", "centre", "standardise"}
        Whether every site expresses its rows by its own means, or means and standard deviations, before summing.
    missing : {"complete", "expected", "available"}
        Leave out rows with a missing value; or fill gaps by pooled moments; or leave out only the values.
    frame : Frame, optional
        The public frame; without, one is proposed from the rows.
    grid : Grid, optional
        The grid on which sums are exact.
    progress : callable, optional
        Called with the traffic so far after each site's answer.
    """
    if missing == "complete":
        blocks = [complete_rows(block) for block in blocks]
    held = [[variables.index(name) for name in block.columns] for block in blocks]
    if trim is not None:
        blocks = _trimmed(blocks, held, trim, trim_within or within)
    own = [own_frame(block.rows, within) for block in blocks]
    sites = [
        TableSite(block.site, block.rows, block.columns, block.block, frame, gaps=missing != "complete", ids=block.ids)
        for block, frame in zip(blocks, own, strict=True)
    ]
    setting = Setting(
        variables,
        propose_frame(_expressed(blocks, own), held, tails=grid is not None) if frame is None else frame,
        _layout(blocks, variables),
        fills_gaps=missing == "expected",
        grid=grid,
    )
    return InProcess(sites, setting, progress)


def _expressed(blocks: Sequence[LocalBlock], own: Sequence[Frame | None]) -> list[Matrix]:
    """The rows of blocks, each in a frame of its own if it has one."""
    return [
        block.rows if frame is None else frame.express(block.rows) for block, frame in zip(blocks, own, strict=True)
    ]


def _trimmed(
    blocks: Sequence[LocalBlock], held: Sequence[Sequence[int]], limit: float, within: Within
) -> list[LocalBlock]:
    """Blocks without the rows that have a value more than `limit` robust scales from its variable's median.

    Medians and scales are over all rows of all blocks, so the same rows are left out however they are split. Where
    blocks express their rows by their own moments, their own medians or scales are taken out first: not means and
    standard deviations, which gross errors themselves make large.
    """
    own = [_own_robust_frame(block.rows, within) for block in blocks]
    robust = robust_frame(_expressed(blocks, own), held)
    kept = []
    for block, chosen, frame in zip(blocks, held, own, strict=True):
        pooled = robust.keep(chosen)
        kept.append(block.keep(rows_within(block.rows, pooled if frame is None else pooled.within(frame), limit)))
    _require_left(blocks, kept, limit, within)
    return kept


def _own_robust_frame(rows: Matrix, within: Within) -> Frame | None:
    """What a block is centred and divided by before it is compared with others, if by anything of its own."""
    if within == "none":
        return None
    robust = robust_frame([rows])
    return robust if within == "standardise" else Frame(robust.centre, np.ones(rows.shape[1]))


def _require_left(before: Sequence[LocalBlock], after: Sequence[LocalBlock], limit: float, within: Within) -> None:
    """Raise if trimming left too few rows to say anything, over all or of a block that needs moments of its own."""
    rows, left = (sum(len(block.rows) for block in blocks) for blocks in (before, after))
    p = max(len(block.columns) for block in before)
    if left < min(rows, max(p + 2, 8)):
        raise DataError(f"trim={limit:g} left {left} of {rows} rows; take a larger one")
    for old, new in zip(before, after, strict=True):
        if within != "none" and len(new.rows) < min(len(old.rows), 2):
            raise DataError(
                f"trim={limit:g} left {len(new.rows)} of {len(old.rows)} rows of {old.site}; take a larger one"
            )


def own_frame(rows: Matrix, within: Within) -> Frame | None:
    """The centre and scale a block expresses its rows by, if any; missing values are passed over."""
    if within == "none":
        return None
    mean = np.nanmean(rows, axis=0)
    if within == "centre":
        return Frame(mean, np.ones(len(mean)))
    return Frame(mean, np.nanstd(rows, axis=0))


def complete_rows(block: LocalBlock) -> LocalBlock:
    """The rows of a block without missing values."""
    kept: BoolMatrix = np.logical_not(np.isnan(block.rows).any(axis=1))
    if kept.all():
        return block
    if not kept.any():
        raise DataError(f"{block.site} has no row without missing values; try missing='expected'")
    return block.keep(kept)


def _layout(blocks: Sequence[LocalBlock], variables: tuple[str, ...]) -> Layout | None:
    """Who holds what, unless every block has rows of its own and all variables."""
    alone = len({block.block for block in blocks}) == len(blocks)
    if alone and all(set(block.columns) == set(variables) for block in blocks):
        return None
    rows: dict[str, int] = {}
    for block in blocks:  # a block shared by several sites has as many rows as the site with most of them complete
        rows[block.block] = max(rows.get(block.block, 0), len(block.rows))
    return Layout(variables, tuple(Holding(b.site, b.block, b.columns, rows[b.block]) for b in blocks))
