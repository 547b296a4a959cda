"""What a discovery over tables in this process would be without each site, for methods of any number of rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from fedrcd.data.rows import count_rows
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.federation.coordinator.deciding_sites import WithoutSite, change_without, decides, deciding
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.transport import InProcess, Traffic
from fedrcd.runs.run import Run
from fedrcd.statistics.coverage import Layout


def notes_without_each(run: Run, found: Estimate) -> list[str]:
    """How the result changes without each site, and which one decides; the method runs once for each.

    Raises
    ------
    ConfigError
        Where rows are not in this process, or of one site alone.
    """
    transport = run.transport
    if not isinstance(transport, InProcess) or run.card.private:
        raise ConfigError("check_sites runs the method without each site, so it needs their tables in this process")
    rows: Counter[str] = Counter()
    here: Any = transport.sites
    for one_of_block in here:
        rows[one_of_block.name] += count_rows(one_of_block.rows)
    if len(rows) < 2:
        raise ConfigError("check_sites leaves one site out after the other, and there is only one")
    changes, notes = list[WithoutSite](), list[str]()
    for site, count in rows.items():
        try:
            other = _without(run, transport, site)
        except (FedrcdError, np.linalg.LinAlgError) as problem:
            notes.append(f"without site {site!r} there is no result: {problem}")
            continue
        one = change_without(site, count / rows.total(), found, other)
        changes.append(one)
        notes.append(
            f"without site {site!r} {one.turned} of {one.pairs} causal pairs turn round, {one.lost} edges are lost and "
            f"{one.gained} gained"
        )
    return [*notes, *(decides(one) for one in (deciding(changes) if len(rows) > 2 else ()))]


def _without(run: Run, transport: InProcess, site: str) -> Estimate:
    """What the other sites give, in the same frame."""
    setting, layout = run.setting, run.setting.layout
    if layout is not None:
        held = tuple(one for one in layout.holdings if one.site != site)
        setting = replace(setting, layout=Layout(layout.variables, held))
    sites = [one for one in transport.sites if one.name != site]
    return drive(run.parts.rounds(setting), InProcess(sites, setting, traffic=Traffic(), combine=transport.combine))
