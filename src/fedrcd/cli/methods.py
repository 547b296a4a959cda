"""`fedrcd methods`: what there is to choose from, and what it would cost."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fedrcd.methods.card import Card
    from fedrcd.methods.costs import Job


def methods(
    p: Annotated[int | None, typer.Option(min=2, help="Variables: estimate what each method would cost here.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows over all sites, for the estimate.")] = 10_000,
    sites: Annotated[int, typer.Option(min=1, help="Sites, for the estimate.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the methods: rounds, payload, what the sites must cover, whether the scale matters, erasure.

    With --p: seconds, memory and bytes of each for so many variables, rows and sites in one process on this machine.
    """
    from fedrcd.methods.registry import METHODS

    cards = list(METHODS.values())
    if p is not None:
        _costs(cards, _job(p, rows, sites), json=json)
        return
    if json:
        print(json_text.dumps([card.as_dict() for card in cards], indent=1))
        return
    columns = ("method", "rounds", "payload", "needs", "scale-free", "erasable")
    lines = [
        (card.name, card.rounds_text, card.payload_text, card.needs, _yes(card.scale_free), _yes(card.erasable))
        for card in cards
    ]
    _table(columns, lines)
    print(
        "\npayload: numbers per site and round, order of magnitude\n"
        "needs: pairs, quadruples = every two, every four columns together at some site; all columns = at one site\n"
        "scores, deflations and options: fedrcd methods --json\n"
        "what a run would cost: fedrcd methods --p 50 --rows 20000"
    )


def _job(p: int, rows: int, sites: int) -> Job:
    from fedrcd.methods.costs import Job, measured_speed
    from fedrcd.protocol.site import available_threads

    return Job(p, rows, sites, available_threads(), measured_speed())


def _costs(cards: list[Card], job: Job, *, json: bool) -> None:
    """Print what every method that says so would cost."""
    from fedrcd.methods.costs import available_memory

    there = available_memory()
    found = [(card, card.cost(job)) for card in cards if card.cost is not None]
    if json:
        content: list[dict[str, Any]] = [
            {"name": card.name, "rounds": card.rounds(job.p), **cost._asdict(), "fits": cost.memory <= there}
            for card, cost in found
        ]
        print(json_text.dumps(content, indent=1))
        return
    lines = [
        (
            card.name,
            "-" if card.one_table else str(card.rounds(job.p)),
            f"{cost.seconds:.2g} s" if cost.seconds < 100 else f"{cost.seconds:,.0f} s",
            f"{cost.memory / 1e6:,.0f} MB" + ("" if cost.memory <= there else ", too much"),
            "-" if card.one_table else f"{cost.sent / 1e6:,.2f} MB",
        )
        for card, cost in found
    ]
    _table(("method", "rounds", "time", "memory", "each site sends"), lines)
    print(
        f"\nestimates for {job.p} variables and {job.rows:,} rows at {job.sites} site{'s' * (job.sites != 1)}, "
        "all in one process on this machine; memory beside the tables"
    )


def _table(columns: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for line in lines:
        table.add_row(*line)
    Console().print(table)


def _yes(mark: bool) -> str:
    return "yes" if mark else "no"
