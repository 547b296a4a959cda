"""Tables of the sites of a federation file, for a federation that runs in one process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.labelled import LabelledTable
from fedrcd.data.read import read_arrow
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean


def federation_tables(federation: Federation, files: Sequence[str | os.PathLike[str]]) -> list[LabelledTable]:
    """The tables of all sites in the order of the federation; a file belongs to the site its name begins with.

    Each must hold the columns and the blocks of rows that the federation says.
    """
    lacking = federation.layout().first_missing(2)
    if lacking is not None:  # before anything is read
        pair = " and ".join(map(repr, lacking))
        raise DataError(
            f"no site of the federation holds {pair} together, which every method needs; see fedrcd coverage"
        )
    by_site = {Path(file).name.split(".")[0]: Path(file) for file in files}
    names = [site.name for site in federation.sites]
    for stem in by_site:
        if stem not in names:
            raise ConfigError(f"there is no site {stem!r} in the federation{did_you_mean(stem, names)}")
    for name in names:
        if name not in by_site:
            raise ConfigError(f"no file of site {name!r} was given; it must be called {name}.csv or {name}.parquet")
    return [_site_table(federation, site, by_site[site.name]) for site in federation.sites]


def _site_table(federation: Federation, site: SiteEntry, path: Path) -> LabelledTable:
    """The declared columns of a site's file, with its labels."""
    arrow = read_arrow(path)
    lacking = [name for name in site.columns if name not in arrow.column_names]
    if lacking:
        raise DataError(f"{path.name} lacks column {lacking[0]!r}, which the federation says site {site.name!r} holds")
    has_blocks = federation.block_column in arrow.column_names
    if not has_blocks and len(site.blocks) > 1:
        raise DataError(f"{path.name} lacks the block column {federation.block_column!r}")
    declared = {block.label: block.rows for block in federation.blocks}
    column = arrow[federation.block_column].to_pylist() if has_blocks else list(site.blocks) * len(arrow)
    labels = [str(label) for label in column]
    for label in site.blocks:
        if labels.count(label) != declared[label]:
            raise DataError(
                f"{path.name} has {labels.count(label)} rows of block {label!r}; the federation says {declared[label]}"
            )
    identifier = federation.id_column if federation.id_column in arrow.column_names else ""
    kept = arrow.select(
        [*site.columns, *([federation.block_column] if has_blocks else []), *filter(None, [identifier])]
    )
    if has_blocks:
        return LabelledTable(kept, site.name, block_column=federation.block_column, id=identifier)
    return LabelledTable(kept, site.name, site.blocks[0], id=identifier)
