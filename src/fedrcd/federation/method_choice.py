"""Which method a run over machines takes where that is left open: what the sites will release decides.

A site does not release the full tensor of few rows, and a method of many rounds may ask for more numbers than a site
ever releases about its rows. Both follow from the federation file and the rules of disclosure. A site whose rules are
stricter, or whose budget is partly spent, refuses; then the run chooses again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import comb, sqrt

from fedrcd.data.federation import Federation
from fedrcd.errors import ConfigError
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import cohort_layout
from fedrcd.federation.rules import Rules
from fedrcd.methods.auto import AUTO, Choice, Circumstances, choose
from fedrcd.methods.registry import card_of
from fedrcd.statistics.coverage import Holding

SECONDS_PER_ROUND = 5.0
"""About what a round takes between machines; `auto` avoids rounds by it."""

LESS_MAY_DO = frozenset(
    {Refusal.TENSOR_ROWS, Refusal.CELLS, Refusal.GROUPS, Refusal.BUDGET, Refusal.TRUST, Refusal.CHAIN}
)
"""Refusals that a method which asks for less may not meet."""


def choose_method(
    federation: Federation,
    method: str,
    *,
    groups: int = 1,
    refused: Collection[Refusal] = (),
    trust_coordinator: bool = False,
    masked: bool = False,
) -> Choice:
    """The method of a run; chosen by the federation file, and by what sites have refused, if that was left open.

    Parameters
    ----------
    federation : Federation
        Says how many rows and columns every site has.
    method : str
        The name of a method, or "auto".
    groups : int
        Groups of rows that sums are asked for.
    refused : collection of Refusal
        What sites answered to the choices before.
    trust_coordinator : bool
        Whether the sites answer several rounds of questions, each of which depends on answers that only the
        coordinator has seen.
    masked : bool
        Whether sums are added under masks, so that sites work out by themselves what some methods ask round by round.
    """
    if method != AUTO:
        card = card_of(method)
        if card.one_table:
            raise ConfigError(f"{card.name} works on one table; over sites {card.counterpart} gives the same order")
        return Choice(method, "")
    everything = set(federation.variables)
    holdings = federation.layout().holdings
    counts = cohort_layout(federation, [site.name for site in federation.sites]) is not None
    known = Circumstances(
        p=len(everything),
        rows=sum(block.rows for block in federation.blocks),
        seconds_per_round=SECONDS_PER_ROUND,
        past=bool(federation.lags),
        all_columns_somewhere=any(set(site.columns) == everything for site in federation.sites),
        tensor_refused=any(one in LESS_MAY_DO for one in refused)
        or not all(_releases_tensor(holding, groups, counts=counts) for holding in holdings),
    )
    complete = [holding for holding in holdings if set(holding.columns) == everything]
    why_once = ""
    if groups > 1:
        why_once = "groups of rows are summed in one round"
    elif Refusal.BUDGET in refused or not all(map(_affords_rounds, complete)):
        why_once = "more rounds ask for more numbers than a site may release; the order is less accurate"
    elif masked and Refusal.CHAIN in refused:
        why_once = "a site has answered about the same rows along another order"
    elif masked:
        why_once = "" if card_of(choose(known).method).maskable else "sites cannot work out what else would be asked"
    elif Refusal.TRUST in refused or not trust_coordinator:
        why_once = "several rounds are for sites that trust the coordinator; the order is less accurate"
    many, chosen = choose(known), choose(replace(known, one_round=bool(why_once)))
    return chosen if chosen == many else Choice(chosen.method, f"{chosen.reason}, and {why_once}")


def _releases_tensor(holding: Holding, groups: int, *, counts: bool) -> bool:
    """Whether a site that made no rule stricter releases the tensor of each of its groups of rows.

    `counts` says whether every entry comes with its number of rows.
    """
    rules, p = Rules(), len(holding.columns)
    least: float = rules.needed_tensor_rows(p)
    if groups > 1:
        least = groups * (least + 4 * sqrt(least))  # sizes of groups vary by chance
    numbers = groups * comb(p + 4, 4) * (2 if counts else 1)
    return holding.rows >= least and numbers <= rules.budget(holding.rows, p)


def _affords_rounds(holding: Holding) -> bool:
    """Whether the pair sums of all rounds are within the budget of rows that nothing was released about."""
    p = len(holding.columns)
    numbers = sum(1 + 4 * u + 6 * comb(u, 2) for u in range(2, p + 1))
    return numbers <= Rules().budget(holding.rows, p)
