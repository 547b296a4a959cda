"""The rows of one site of a federation, block by block, as the federation file says they must be."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.labelled import LabelledTable
from fedrcd.data.read import read_arrow
from fedrcd.errors import DataError


def site_tables(federation: Federation, site: SiteEntry, path: str | os.PathLike[str]) -> list[LabelledTable]:
    """The declared columns of a site's file, a table per declared block, in the order of the federation file.

    Rows of blocks that the federation does not name are left alone.

    Raises
    ------
    DataError
        When columns or blocks are not what the federation says.
    """
    path = Path(path)
    arrow = read_arrow(path)
    lacking = [name for name in site.columns if name not in arrow.column_names]
    if lacking:
        raise DataError(f"{path.name} lacks column {lacking[0]!r}, which the federation says site {site.name!r} holds")
    has_blocks = federation.block_column in arrow.column_names
    if not has_blocks and len(site.blocks) > 1:
        raise DataError(f"{path.name} lacks the block column {federation.block_column!r}")
    declared = {block.label: block.rows for block in federation.blocks}
    column = arrow[federation.block_column].to_pylist() if has_blocks else list(site.blocks) * len(arrow)
    labels = np.array([str(label) for label in column], dtype=object)
    identifier = federation.id_column if federation.id_column in arrow.column_names else ""
    kept = arrow.select([*site.columns, *filter(None, [identifier])])
    tables = []
    for label in site.blocks:
        mine = labels == label
        if mine.sum() != declared[label]:
            raise DataError(
                f"{path.name} has {mine.sum()} rows of block {label!r}; the federation says {declared[label]}"
            )
        tables.append(LabelledTable(kept if mine.all() else kept.filter(mine), site.name, label, id=identifier))
    return tables
