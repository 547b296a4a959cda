"""A federation of machines, in one process: the result that machines must give, to the bit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from fedrcd.data.federation import Federation
from fedrcd.data.site_file import read_site, require_same_rows
from fedrcd.errors import ConfigError
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.federation.site.secret import group_key
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.in_process import Within, after_own, complete_rows, own_frame
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import InProcess, Setting
from fedrcd.statistics.grid import ARITHMETIC


def in_process(
    federation: Federation,
    data: Mapping[str, str | os.PathLike[str]],
    arithmetic: str = "exact",
    cohort: Sequence[str] | None = None,
    secrets: Mapping[str, bytes] | None = None,
    within: Within = "none",
) -> InProcess:
    """A transport over the tables of the sites, in the declared frame; blocks stand in the order of the file.

    `secrets` are those by which the sites split their rows into groups; `within` says by what moments of their own they
    express them.
    """
    frame = federation.declared_frame()
    if frame is None:
        raise ConfigError("the federation file declares no frame; see `fedrcd frame propose`")
    names = [site.name for site in federation.sites if cohort is None or site.name in cohort]
    whole = [table for name in names for table in read_site(data[name], federation, federation.site(name))]
    require_same_rows(whole)
    tables = [complete_rows(table) for table in whole]
    keys = {name: Grouping(group_key(secret), least=0) for name, secret in (secrets or {}).items()}
    exact = ARITHMETIC[arithmetic] is not None
    own = [own_frame(table, within, exact=exact) for table in tables]
    sites = [
        LocalSite(table.site, table, table.block, mine, grouping=keys.get(table.site))
        for table, mine in zip(tables, own, strict=True)
    ]
    layout = cohort_layout(federation, names)
    setting = Setting(
        federation.variables,
        after_own(frame, within),
        layout,
        grid=ARITHMETIC[arithmetic],
        past=federation.lags,
    )
    return InProcess(sites, setting)
