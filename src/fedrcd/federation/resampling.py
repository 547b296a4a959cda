"""Before a bootstrap over machines: how many groups the rows of every site allow, and what each site will send."""

from __future__ import annotations

from typing import Any

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.conduct import choose_method, run_setting
from fedrcd.federation.guards import Rules
from fedrcd.federation.plan import RunPlan
from fedrcd.methods.bootstrap import BootstrapPlan, bytes_of_groups, groups_for, one_round
from fedrcd.methods.registry import find
from fedrcd.protocol.groups import LEAST_GROUPS
from fedrcd.protocol.questions import TensorQuestion


def plan_groups(federation: Federation, plan: RunPlan, groups: int | None = None) -> BootstrapPlan:
    """Groups for a run over all sites: as many as asked for, or as many as are worth it; `ConfigError` if none can be.

    Parameters
    ----------
    federation : Federation
        Says how many rows there are.
    plan : RunPlan
        The method, its options and its arithmetic.
    groups : int, optional
        Groups per block.
    """
    if groups is not None and groups < LEAST_GROUPS:
        raise ConfigError(f"groups must be a whole number of at least {LEAST_GROUPS}, got {groups}")
    method = choose_method(federation, plan.method).method
    parts = one_round(find(method), dict(plan.options))
    setting = run_setting(federation, plan, [site.name for site in federation.sites])
    question: Any = next(parts.rounds(setting))
    tensor = isinstance(question, TensorQuestion)
    holdings = federation.layout().holdings
    answering = [
        (number, one)
        for number, one in enumerate(holdings)
        if question.share(setting.layout, number if setting.layout else 0) is not None
    ]
    sizes = [one.rows for _, one in answering]
    rows = [_rows_of_group(len(one.columns), tensor=tensor) for _, one in answering]
    for_tensor = [_rows_of_group(len(one.columns), tensor=True) for _, one in answering]
    most = groups_for(sizes, for_tensor)  # as many for every method, if there are rows: a site splits its rows once
    number = groups or (most if most >= LEAST_GROUPS else groups_for(sizes, rows))
    for (_, one), least in zip(answering, rows, strict=True):
        if number < LEAST_GROUPS or one.rows < number * least:
            instead = "; take a method of pair sums, such as fedrcd-ni, whose groups may be smaller" if tensor else ""
            raise ConfigError(
                f"site {one.site!r} has {one.rows:,} rows of block {one.block!r}: too few for "
                f"{max(number, LEAST_GROUPS)} groups of at least {least:,}{instead}"
            )
    places = [(one.site, place if setting.layout else 0) for place, one in answering]
    return BootstrapPlan(method, number, bytes_of_groups(parts, setting, places, number))


def _rows_of_group(p: int, *, tensor: bool) -> int:
    """Rows that sites will ask of every group of p columns, if they made no rule stricter."""
    rules = Rules()
    return max(rules.needed_rows(p), rules.needed_tensor_rows(p) if tensor else 0)
