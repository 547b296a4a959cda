"""Causal discovery from the sums in a ledger: nobody is asked."""

from __future__ import annotations

import warnings
from typing import Any

from fedrcd.api.describe import describe
from fedrcd.api.discovery import Discovery
from fedrcd.api.notes import clipped, identifiability, repaired, require_together, scale, scattered
from fedrcd.errors import CoverageWarning, FedrcdWarning, ProtocolError
from fedrcd.federation.ledger.configuration import TENSOR
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.transport import LedgerTransport
from fedrcd.methods.auto import AUTO, Choice
from fedrcd.methods.registry import METHODS, Card, build, find
from fedrcd.protocol.driver import run
from fedrcd.statistics.coverage import Holding


def discover_stored(ledger: Ledger, method: str = AUTO, **options: Any) -> Discovery:
    """Causal order and effects from the present state of a ledger; the ledger lists the result.

    Parameters
    ----------
    ledger : Ledger
        Open.
    method : str
        A method of one round, or "auto".
    **options
        As of `fedrcd.discover`.

    Raises
    ------
    ProtocolError
        When the state is empty, or the method asks the sites more than once.
    """
    transport = LedgerTransport.of(ledger)
    choice = _choose(transport) if method == AUTO else Choice(method, "")
    card = find(choice.method)
    require_one_round(card)
    parts = build(card.name, **options)
    require_together(card, transport.setting.layout, len(transport.setting.variables), "complete")
    estimate = run(parts.rounds(transport.setting), transport)
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
        ledger.configuration.variables,
        card.resolve(options),
        sites=len({standing.site for standing in ledger.roster.active()}),
        chosen=choice.reason,
        notes=notes,
        holdings=[Holding(one.site, one.block, one.columns, one.rows) for one in ledger.roster.active()],
        state_id=ledger.state_id,
    )
    ledger.record_result(card.name, found.options, found.to_json())
    return found


def rediscover(ledger: Ledger) -> tuple[list[Discovery], list[str]]:
    """All results the ledger lists, from the present state; and what needs a new run over the sites instead."""
    wanted: dict[str, dict[str, Any]] = {}
    for result in ledger.roster.results:
        wanted[result.method] = result.options  # the latest options of each method
    found, again = [], []
    for method, options in (wanted or {AUTO: {}}).items():
        try:
            found.append(discover_stored(ledger, method, **options))
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
