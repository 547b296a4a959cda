"""`fedrcd methods`: what there is to choose from."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer


def methods(json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """List the methods: rounds, payload, what the sites must cover, whether the scale matters, erasure."""
    from fedrcd.methods.registry import METHODS

    if json:
        print(json_text.dumps([card.as_dict() for card in METHODS.values()], indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("method", "rounds", "payload", "needs", "scale-free", "erasable", box=None, pad_edge=False)
    for card in METHODS.values():
        marks = ["yes" if mark else "no" for mark in (card.scale_free, card.erasable)]
        table.add_row(card.name, card.rounds_text, card.payload_text, card.needs, *marks)
    Console().print(table)
    print(
        "\npayload: numbers per site and round, order of magnitude\n"
        "needs: pairs, quadruples = every two, every four columns together at some site; all columns = at one site\n"
        "scores, deflations and options: fedrcd methods --json"
    )
