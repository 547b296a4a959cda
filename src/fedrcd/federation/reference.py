"""A federation of machines, in one process: the result that machines must give, to the bit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.messages import cohort_layout
from fedrcd.federation.secret import group_key
from fedrcd.federation.site_service import open_blocks
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.transport import InProcess, Setting
from fedrcd.statistics.grid import ARITHMETIC


def in_process(
    federation: Federation,
    data: Mapping[str, str | os.PathLike[str]],
    arithmetic: str = "exact",
    cohort: Sequence[str] | None = None,
    secrets: Mapping[str, bytes] | None = None,
) -> InProcess:
    """A transport over the tables of the sites, in the declared frame; blocks stand in the order of the file.

    `secrets` are those by which the sites split their rows into groups.
    """
    frame = federation.declared_frame()
    if frame is None:
        raise ConfigError("the federation file declares no frame; see `fedrcd frame propose`")
    names = [site.name for site in federation.sites if cohort is None or site.name in cohort]
    blocks = [block for name in names for block in open_blocks(federation, name, data[name])]
    keys = {name: Grouping(group_key(secret), least=0) for name, secret in (secrets or {}).items()}
    sites = [
        TableSite(block.site, block.rows, block.columns, block.block, ids=block.ids, grouping=keys.get(block.site))
        for block in blocks
    ]
    layout = cohort_layout(federation, names)
    return InProcess(sites, Setting(federation.variables, frame, layout, grid=ARITHMETIC[arithmetic]))
