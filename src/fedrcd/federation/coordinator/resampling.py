"""Before a bootstrap over machines: how many groups the rows of every site allow, and what each site will send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedrcd.confidence.replicates import BootstrapPlan, bytes_of_groups, groups_for, one_round
from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.coordinator.conduct import run_setting
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.method_choice import choose_method
from fedrcd.federation.rules import Rules
from fedrcd.methods.card import Coverage
from fedrcd.methods.registry import find, first
from fedrcd.protocol.groups import LEAST_GROUPS
from fedrcd.protocol.questions import TENSOR
from fedrcd.statistics.coverage import Holding


def plan_groups(federation: Federation, plan: RunPlan, groups: int | None = None) -> BootstrapPlan:
    """Groups for a run over all sites: as many as asked for, or as many as are worth it; `ConfigError` if none can be.

    Parameters
    ----------
    federation : Federation
        Says how many rows there are.
    plan : RunPlan
        Its settings: the method, its options and its arithmetic.
    groups : int, optional
        Groups per block.
    """
    if groups is not None and groups < LEAST_GROUPS:
        raise ConfigError(f"groups must be a whole number of at least {LEAST_GROUPS}, got {groups}")
    method = choose_method(federation, plan.settings.method, groups=groups or LEAST_GROUPS).method
    parts = one_round(find(method), plan.settings.method_options)
    setting = run_setting(federation, plan, [site.name for site in federation.sites])
    question: Any = next(parts.rounds(setting))
    places = range(len(federation.layout().holdings)) if setting.layout else [0] * len(federation.layout().holdings)
    answering = [
        (holding, place)
        for holding, place in zip(federation.layout().holdings, places, strict=True)
        if question.share(setting.layout, place) is not None
    ]
    holdings = [holding for holding, _ in answering]
    tensor = question.stored_in() == TENSOR
    number = groups or _worthwhile(holdings, tensor=tensor)
    _require_rows(holdings, number, tensor=tensor)
    sent = bytes_of_groups(parts, setting, [(one.site, one.block, place) for one, place in answering], number)
    return BootstrapPlan(method, number, sent)


def _worthwhile(holdings: Sequence[Holding], *, tensor: bool) -> int:
    """Groups that are worth it: as many for every method, if there are rows, for a site splits its rows once."""
    sizes = [holding.rows for holding in holdings]
    for_tensor = groups_for(sizes, [_rows_of_group(holding, tensor=True) for holding in holdings])
    if for_tensor >= LEAST_GROUPS:
        return for_tensor
    return groups_for(sizes, [_rows_of_group(holding, tensor=tensor) for holding in holdings])


def _require_rows(holdings: Sequence[Holding], groups: int, *, tensor: bool) -> None:
    """Raise if some site would refuse so many groups, or if not even the least number can be had."""
    least = [_rows_of_group(holding, tensor=tensor) for holding in holdings]
    rows, tightest = min(zip(least, holdings, strict=True), key=lambda one: one[1].rows / one[0])
    if groups < LEAST_GROUPS or tightest.rows < groups * rows:
        instead = f"; take a method of pair sums, such as {_of_pairs()}, whose groups may be smaller" if tensor else ""
        raise ConfigError(
            f"site {tightest.site!r} has {tightest.rows:,} rows of block {tightest.block!r}: too few for "
            f"{max(groups, LEAST_GROUPS)} groups of at least {rows:,}{instead}"
        )


def _rows_of_group(holding: Holding, *, tensor: bool) -> int:
    """Rows that a site will ask of every group, if it made no rule stricter."""
    rules, p = Rules(), len(holding.columns)
    return max(rules.needed_rows(p), rules.needed_tensor_rows(p) if tensor else 0)


def _of_pairs() -> str:
    """A method of pair sums that is not one of those that `auto` would have taken."""
    return first(lambda card: card.auto is None and card.rounds.once and card.coverage is Coverage.PAIRS).name
