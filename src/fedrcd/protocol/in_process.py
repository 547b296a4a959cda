"""A federation inside one process: every table is a block of rows at a site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from fedrcd.data.rows import Rows, count_rows, is_complete, streamed
from fedrcd.data.survey import sampled, survey
from fedrcd.data.table import Table
from fedrcd.errors import DataError
from fedrcd.protocol.outliers import rows_within
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import InProcess, Setting, Traffic
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.frame import Frame, Proposed, own_moments, propose_exact, propose_from, robust_frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.order_statistics import Counted, Stream
from fedrcd.typing import Matrix, Vector

Missing = Literal["complete", "expected", "available"]
Within = Literal["none", "centre", "standardise"]
WITHIN: tuple[Within, ...] = get_args(Within)


def embed(
    tables: Sequence[Matrix],
    columns: tuple[str, ...],
    *,
    labels: Sequence[str] = (),
    stack: bool = False,
) -> InProcess:
    """A transport over complete arrays with the same columns, each with rows of its own.

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
    return in_process([Table(one, name, name, columns=columns) for name, one in zip(names, rows, strict=True)], columns)


def in_process(
    tables: Sequence[Table],
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
    """A transport over tables with a site and a block each, whose columns may differ.

    Parameters
    ----------
    tables : sequence of Table
        In the order of the federation.
    variables : (p,) tuple of str
        All variables; their order breaks ties.
    trim : float, optional
        Leave out rows with a value more than this many scales of the declared frame from its centre. Without a frame,
        more than this many robust scales from its variable's median; of the site's own median or scale, where sites
        express their rows by their own.
    trim_within : {"none", "centre", "standardise"}, optional
        The units in which rows are measured for `trim` where no frame is declared; those of `within` by default.
    within : {"none", "centre", "standardise"}
        Whether every site expresses its rows by its own means, or means and standard deviations, before summing.
    missing : {"complete", "expected", "available"}
        Leave out rows with a missing value; or fill gaps by pooled moments; or leave out only the values.
    frame : Frame, optional
        The declared frame; without, one is proposed from the rows.
    grid : Grid, optional
        The grid on which sums are exact.
    progress : callable, optional
        Called with the traffic so far after each site's answer.
    """
    if missing == "complete":
        tables = [complete_rows(table) for table in tables]
    held = [[variables.index(name) for name in table.columns] for table in tables]
    if trim is not None:
        tables = _trimmed(tables, held, trim, trim_within or within, frame)
    own = [own_frame(table, within, exact=grid is not None) for table in tables]
    sites = [
        LocalSite(table.site, table, table.block, mine, gaps=missing != "complete")
        for table, mine in zip(tables, own, strict=True)
    ]
    if frame is None:
        found = _proposed(tables, own, held, exact=grid is not None)
        frame, robust = found.frame, found.robust.expressed_in(found.frame)
    else:
        frame, robust = after_own(frame, within), None
    setting = Setting(
        variables,
        frame,
        _layout(tables, variables),
        fills_gaps=missing == "expected",
        grid=grid,
        robust=robust,
    )
    return InProcess(sites, setting, progress)


def _proposed(tables: Sequence[Table], own: Sequence[Frame | None], held: list[list[int]], *, exact: bool) -> Proposed:
    """A frame from the rows as they are summed; for exact sums it must not depend on how they are split."""
    if not exact:
        samples = [sampled(table) for table in tables]
        return propose_from([_in_own(one, mine) for one, mine in zip(samples, own, strict=True)], held)
    streams = [_expressed(table, mine) for table, mine in zip(tables, own, strict=True)]
    counts = [survey(table).counted for table in tables]
    own_counts = [
        Counted(count, _in_own(low, mine), _in_own(high, mine))
        for (count, low, high), mine in zip(counts, own, strict=True)
    ]
    return propose_exact(streams, held, own_counts)


def after_own(frame: Frame, within: Within) -> Frame:
    """A frame for raw rows, for rows that sites have expressed by their own moments."""
    if within == "none":
        return frame
    centred = Frame(np.zeros_like(frame.centre), frame.scale)
    return centred if within == "centre" else Frame.identity(len(frame.centre))


def _in_own(values: Matrix, own: Frame | None) -> Matrix:
    """Values in a frame of their own, if they have one."""
    return values if own is None else own.express(values)


def _expressed(rows: Rows, own: Frame | None) -> Stream:
    """The values of rows, in a frame of their own if they have one."""
    stream = streamed(rows)
    return stream if own is None else lambda: map(own.express, stream())


def _trimmed(
    tables: Sequence[Table], held: Sequence[Sequence[int]], limit: float, within: Within, declared: Frame | None
) -> list[Table]:
    """Tables without the rows that have a value more than `limit` scales out.

    Of the declared frame, if there is one. Else medians and scales are over all rows of all tables, so the same rows
    are left out however they are split; where sites express their rows by their own moments, their own medians or
    scales are taken out first: not means and standard deviations, which gross errors themselves make large.
    """
    if declared is not None:
        frames = [declared.keep(chosen) for chosen in held]
    else:
        own = [_own_robust_frame(table, within) for table in tables]
        robust = robust_frame([_expressed(table, mine) for table, mine in zip(tables, own, strict=True)], held)
        frames = [
            robust.keep(chosen) if mine is None else robust.keep(chosen).within(mine)
            for chosen, mine in zip(held, own, strict=True)
        ]
    kept = [
        table.select(rows_within(frame, limit), by_values=True) for table, frame in zip(tables, frames, strict=True)
    ]
    _require_left(tables, kept, limit, within)
    return kept


def _own_robust_frame(table: Table, within: Within) -> Frame | None:
    """What a table is centred and divided by before it is compared with others, if by anything of its own."""
    if within == "none":
        return None
    robust = robust_frame([streamed(table)])
    return robust if within == "standardise" else Frame(robust.centre, np.ones(len(table.columns)))


def _require_left(before: Sequence[Table], after: Sequence[Table], limit: float, within: Within) -> None:
    """Raise if trimming left too few rows to say anything, over all or of a table that needs moments of its own."""
    rows, left = (sum(count_rows(table) for table in tables) for tables in (before, after))
    p = max(len(table.columns) for table in before)
    if left < min(rows, max(p + 2, 8)):
        raise DataError(f"trim={limit:g} left {left} of {rows} rows; take a larger one")
    for old, new in zip(before, after, strict=True):
        had, has = count_rows(old), count_rows(new)
        if within != "none" and has < min(had, 2):
            raise DataError(f"trim={limit:g} left {has} of {had} rows of {old.site}; take a larger one")


def own_frame(rows: Rows, within: Within, *, exact: bool = False) -> Frame | None:
    """The centre and scale a site expresses its rows by, if any; missing values are passed over.

    For `exact` sums they have the same bits in any order of the rows.
    """
    if within == "none":
        return None
    p = len(rows.columns)
    moments = own_moments(streamed(rows), p) if exact else _float_moments(rows)
    return moments if within == "standardise" else Frame(moments.centre, np.ones(p))


def _float_moments(rows: Rows) -> Frame:
    """Means and standard deviations in float64, chunk after chunk."""
    total, count = np.zeros((1, len(rows.columns))), np.zeros(len(rows.columns))
    for values, *_ in rows.chunks():
        total = _added(total, np.where(np.isnan(values), 0.0, values))
        count += len(values) - np.isnan(values).sum(axis=0)
    mean: Vector = total[0] / count
    squares = np.zeros((1, len(mean)))
    for values, *_ in rows.chunks():
        squares = _added(squares, np.where(np.isnan(values), 0.0, values - mean) ** 2)
    return Frame(mean, np.sqrt(squares[0] / count))


def _added(total: Matrix, values: Matrix) -> Matrix:
    """The sum of all rows so far, row after row, so that chunks change no bit."""
    return np.add.reduce(np.concatenate([total, values]), axis=0, keepdims=True)


def complete_rows(table: Table) -> Table:
    """The rows of a table without missing values."""
    kept = table.select(is_complete, by_values=True)
    if not count_rows(kept):
        raise DataError(f"{table.site} has no row without missing values; try missing='expected'")
    return kept


def _layout(tables: Sequence[Table], variables: tuple[str, ...]) -> Layout | None:
    """Who holds what, unless every table has rows of its own and all variables."""
    alone = len({table.block for table in tables}) == len(tables)
    if alone and all(set(table.columns) == set(variables) for table in tables):
        return None
    rows: dict[str, int] = {}
    for table in tables:  # a block shared by several sites has as many rows as the site with most of them complete
        rows[table.block] = max(rows.get(table.block, 0), count_rows(table))
    return Layout(variables, tuple(Holding(one.site, one.block, one.columns, rows[one.block]) for one in tables))
