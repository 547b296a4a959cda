"""A federation inside one process: every table is a site."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fedrcd.protocol.outliers import rows_within
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.transport import InProcess, Setting, Traffic
from fedrcd.statistics.frame import propose_frame
from fedrcd.typing import Matrix


def embed(
    tables: Sequence[Matrix],
    columns: tuple[str, ...],
    *,
    labels: Sequence[str] = (),
    stack: bool = False,
    trim: float | None = None,
    progress: Callable[[Traffic], None] | None = None,
) -> InProcess:
    """A transport over tables with the same columns, in a frame proposed from their rows.

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
    trim : float, optional
        Leave out rows with a value more than this many scales from the centre of the frame.
    progress : callable, optional
        Called with the traffic so far after each site's answer.
    """
    rows = [np.concatenate(tables)] if stack and len(tables) > 1 else list(tables)
    names = labels if len(labels) == len(rows) else [f"site {k}" for k in range(1, len(rows) + 1)]
    frame = propose_frame(rows)
    if trim is not None:
        rows = [values[rows_within(values, frame, trim)] for values in rows]
    sites = [TableSite(name, values, columns) for name, values in zip(names, rows, strict=True)]
    return InProcess(sites, Setting(columns, frame), progress)
