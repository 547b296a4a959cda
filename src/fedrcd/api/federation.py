"""Tables of the sites of a federation file, for a federation that runs in one process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fedrcd.data.federation import Federation
from fedrcd.data.site_file import read_site, require_same_rows
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.suggest import did_you_mean


def federation_tables(federation: Federation, files: Sequence[str | os.PathLike[str]]) -> list[Table]:
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
    tables = [table for site in federation.sites for table in read_site(by_site[site.name], federation, site)]
    require_same_rows(tables)
    return tables
