"""Causal discovery from the sums in a ledger: nobody is asked."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fedrcd.api.describe import describe
from fedrcd.api.discovery import Discovery
from fedrcd.api.given import KnowledgeLike, as_knowledge
from fedrcd.api.left_out import Without, cannot_be_spared, changes_without
from fedrcd.api.notes import clipped, identifiability, repaired, require_together, scale, scattered
from fedrcd.api.settings import arithmetic_of, recorded
from fedrcd.errors import ConfigError, CoverageWarning, DataError, FedrcdWarning, ProtocolError, StatisticError
from fedrcd.federation.ledger.configuration import TENSOR
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.transport import LedgerTransport
from fedrcd.graphs.knowledge import Knowledge
from fedrcd.methods.auto import AUTO, Choice
from fedrcd.methods.registry import METHODS, Card, build, find, require_options
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.statistics.coverage import Holding

if TYPE_CHECKING:
    import pandas as pd


def discover_stored(
    ledger: Ledger, method: str = AUTO, *, knowledge: KnowledgeLike | None = None, **options: Any
) -> Discovery:
    """Causal order and effects from the present state of a ledger; the ledger lists the result.

    Parameters
    ----------
    ledger : Ledger
        Open.
    method : str
        A method of one round, or "auto".
    knowledge, **options
        As of `fedrcd.discover`.

    Raises
    ------
    ProtocolError
        When the state is empty, or the method asks the sites more than once.
    """
    require_options(method, options)
    transport = LedgerTransport.of(ledger)
    choice = _choose(transport) if method == AUTO else Choice(method, "")
    card = find(choice.method)
    require_one_round(card)
    names = ledger.configuration.variables
    known = None if knowledge is None else as_knowledge(knowledge, names)
    estimate = _estimate(transport, card, known, options)
    notes = [
        *identifiability(estimate, card),
        *scale(estimate, card),
        *repaired(estimate),
        *scattered(card, transport.setting.layout, fills_gaps=False),
        *clipped(transport.traffic.clipped, transport.setting.grid),
        *_suspended(ledger),
    ]
    for note in notes:
        warnings.warn(note, stacklevel=2)
    found = describe(
        estimate,
        card,
        names,
        card.resolve(options),
        sites=len({standing.site for standing in ledger.roster.active()}),
        chosen=choice.reason,
        notes=notes,
        holdings=[Holding(one.site, one.block, one.columns, one.rows) for one in ledger.roster.active()],
        state_id=ledger.state_id,
        settings=recorded(arithmetic=arithmetic_of(ledger.configuration.grid), knowledge=known),
    )
    asked = {**found.options, "knowledge": asdict(known)} if known else found.options
    ledger.record_result(card.name, asked, found.to_json())
    return found


class LeftOut(NamedTuple):
    """What a ledger gives without each site, and why it gives nothing without some."""

    found: Discovery
    without: dict[str, Without]

    @property
    def impossible(self) -> dict[str, str]:
        """Sites without which there is no answer, and why."""
        return cannot_be_spared(self.without)

    def table(self) -> pd.DataFrame:
        """How much changes without each site."""
        return changes_without(self.found, self.without)


def leave_one_site_out(
    ledger: Ledger, method: str = AUTO, *, knowledge: KnowledgeLike | None = None, **options: Any
) -> LeftOut:
    """The result of a ledger, and what it would be without each site: from the sums that are there, nobody is asked.

    The arguments are those of `discover_stored`. The ledger lists the result, as it does there, and not the others.
    """
    found = discover_stored(ledger, method, knowledge=knowledge, **options)
    card, names = find(found.method), found.names
    known = None if knowledge is None else as_knowledge(knowledge, names)
    without: dict[str, Without] = {}
    for site in sorted({standing.site for standing in ledger.roster.active()}):
        try:
            others = LedgerTransport.of(ledger, ledger.without(site))
            estimate = _estimate(others, card, known, options)
        except (ConfigError, DataError, ProtocolError, StatisticError) as problem:
            without[site] = str(problem)
        else:
            without[site] = tuple(names[i] for i in estimate.order), estimate.B
    return LeftOut(found, without)


def _estimate(transport: LedgerTransport, card: Card, known: Knowledge | None, options: dict[str, Any]) -> Estimate:
    """What a method gives from the sums of a state."""
    parts = build(card.name, **options)
    require_together(card, transport.setting.layout, len(transport.setting.variables), "complete")
    constraints = known.constraints(transport.setting.variables) if known else None
    return run(parts.rounds(replace(transport.setting, constraints=constraints)), transport)


def rediscover(ledger: Ledger) -> tuple[list[Discovery], list[str]]:
    """All results the ledger lists, from the present state; and what needs a new run over the sites instead."""
    wanted: dict[str, dict[str, Any]] = {}
    for result in ledger.roster.results:
        wanted[result.method] = result.options  # the latest options of each method
    found, again = [], []
    for method, options in (wanted or {AUTO: {}}).items():
        try:
            known = Knowledge(**options["knowledge"]) if "knowledge" in options else None
            others = {name: value for name, value in options.items() if name != "knowledge"}
            found.append(discover_stored(ledger, method, knowledge=known, **others))
        except ProtocolError as problem:
            again.append(str(problem))
    return found, again


def require_one_round(card: Card) -> None:
    """Raise for a method whose later questions depend on earlier answers."""
    if card.one_table:
        raise ProtocolError(f"{card.name} needs all rows in one table; {card.counterpart} gives its order from sums")
    if not card.erasable:
        others = ", ".join(name for name, one in METHODS.items() if one.erasable and not one.one_table)
        raise ProtocolError(
            f"{card.name} asks the sites {card.rounds} times, so it needs a new run over them: fedrcd discover "
            f"--federation federation.toml --method {card.name} TABLES; from the ledger run {others}"
        )


def _choose(transport: LedgerTransport) -> Choice:
    """What `auto` takes: the scale-free method that the stored sums allow."""
    layout = transport.setting.layout
    if TENSOR in transport.pooled and (layout is None or layout.covers_quadruples()):
        return Choice("fedrcd-s", "the ledger holds full tensors")
    return Choice("fedrcd-sp", "the ledger holds sums of pairs of columns only")


def _suspended(ledger: Ledger) -> list[FedrcdWarning]:
    """Blocks that are not in the state for now."""
    return [
        CoverageWarning(f"block {block!r} is suspended and was left out: {reason}")
        for block, reason in ledger.roster.suspended().items()
    ]
