"""What stands under other methods, for a result in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedrcd.api.discovery import Rival
from fedrcd.api.grouping import require_seed, with_secrets
from fedrcd.errors import ConfigError, FedrcdError
from fedrcd.methods.auto import scale_free_default
from fedrcd.methods.registry import METHODS, build, find
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run as drive
from fedrcd.protocol.transport import InProcess, Traffic
from fedrcd.runs.finding import Finding, Resampling
from fedrcd.runs.run import Run
from fedrcd.typing import BoolMatrix, IntVector

REPLICATES, GROUPS, SEED = 50, 20, 0
RESAMPLED = "half of the resamples"
"""Edges that at least half of the replicates have, along the order on all rows."""


def in_doubt(finding: Finding) -> bool:
    """Whether the data speak against the model of a finding."""
    return finding.estimate.doubt is not None and finding.estimate.doubt.doubtful


def rivals_of(finding: Finding) -> tuple[Rival, ...]:
    """Those that follow from the sums that were asked for anyway."""
    return tuple(_rival(name, one, finding.variables) for name, one in finding.rivals.items())


def asked_rivals(run: Run) -> tuple[Rival, ...]:
    """Those that take more passes over the rows: all other methods of several rounds that ignore scale, and resamples.

    Raises
    ------
    ConfigError
        Where rows are not in this process.
    """
    transport = run.transport
    if not isinstance(transport, InProcess) or run.card.private:
        raise ConfigError("rivals asks other methods, too, so it needs the tables in this process")
    again = replace(transport, traffic=Traffic(), progress=None)
    names, found = transport.setting.variables, list[Rival]()
    for card in METHODS.values():
        if card.name == run.card.name or card.one_table or card.rounds.once or not card.scale_free:
            continue
        try:
            found.append(_rival(card.name, drive(build(card.name).rounds(run.setting), again), names))
        except (FedrcdError, np.linalg.LinAlgError):  # it has nothing to say here
            continue
    return (*found, *_resampled(run, again))


def _resampled(run: Run, transport: InProcess) -> Sequence[Rival]:
    card = find(scale_free_default())
    settings = replace(run.settings, method=card.name, options={})
    whole = Run(with_secrets(transport, require_seed(SEED)), settings, card)
    try:
        drawn = whole.find(resampling=Resampling(replicates=REPLICATES, groups=GROUPS, seed=SEED))
    except (FedrcdError, np.linalg.LinAlgError):
        return []
    if drawn.resampled is None:
        return []
    place = np.argsort(drawn.estimate.order)
    often = (drawn.resampled.replicates.edge_shares() >= 0.5) & (place[:, None] > place[None, :])
    return [_of(RESAMPLED, drawn.estimate.order, often, transport.setting.variables)]


def _rival(name: str, estimate: Estimate, names: Sequence[str]) -> Rival:
    return _of(name, estimate.order, estimate.B != 0, names)


def _of(name: str, order: IntVector, edges: BoolMatrix, names: Sequence[str]) -> Rival:
    pairs = tuple((names[j], names[i]) for j, i in np.argwhere(edges.T).tolist())
    return Rival(name, tuple(names[k] for k in order), pairs)
