"""`fedrcd check`: whether the assumptions behind an order hold, as far as sums can tell."""

from __future__ import annotations

import json as json_module
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli import options
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import FedrcdWarning
from fedrcd.methods.settings import Settings

if TYPE_CHECKING:
    from fedrcd.api.checks import Checks

COLOURS = {"fine": "green", "doubtful": "red", "cannot tell": "yellow"}


@options.settings_options(help=options.WEIGHTS_ONCE)
def check(
    files: options.Files,
    settings: Settings,
    level: Annotated[float, typer.Option(help="Share of false alarms allowed, per check.")] = 0.05,
    federation: options.FederationFile = None,
    query: options.Query = "",
    json: options.Json = False,
) -> None:
    """Test the assumptions in one extra round: non-Gaussian errors, independence, linearity, similar sites, scale."""
    from fedrcd.api.checks import check as tested

    with progress_bar("reading tables") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)  # of the discovery, not of the checks
        tables, declared = options.tables_of(files, federation, query)
        found = tested(
            tables,
            **replace(settings, **declared).arguments(),
            level=level,
            progress=lambda traffic: bar.say(
                f"{settings.method}: round {traffic.rounds}, {traffic.bytes_sent:,} bytes sent"
            ),
        )
    if json:
        print(json_module.dumps(found.to_dict(), indent=1))
    else:
        show(found)


def show(found: Checks) -> None:
    """Print the verdicts for people."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    for one in found.checks:
        colour = COLOURS[one.verdict]
        p = "" if one.p_value is None else f" (p = {one.p_value:.2g})"
        console.print(f"[bold]{one.name}[/bold]: [{colour}]{one.verdict}[/{colour}]{p}")
        console.print(escape(f"  {one.finding}"))
        if one.verdict == "doubtful":
            console.print(escape(f"  means: {one.meaning}"))
            console.print(escape(f"  do: {one.advice}"))
    console.print(f"cost: {found.rounds} round, {found.bytes_sent:,} bytes")
