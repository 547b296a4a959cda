"""The rows of one site of a federation, block by block, as the federation file says they must be."""

from __future__ import annotations

import os
from pathlib import Path

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.labelled import LabelledTable
from fedrcd.data.read import read_arrow
from fedrcd.data.site_rows import block_labels
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
    labels = block_labels(arrow, federation, site, path.name)
    declared = {block.label: block.rows for block in federation.blocks}
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
