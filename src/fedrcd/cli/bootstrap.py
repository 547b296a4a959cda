"""`fedrcd bootstrap`: how often edges and orders come back when rows are resampled."""

from __future__ import annotations

import json as json_module
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fedrcd.cli import options
from fedrcd.cli.discover import show_notes
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FedrcdWarning
from fedrcd.methods.settings import Settings

if TYPE_CHECKING:
    from fedrcd.api.bootstrap_result import Bootstrap
    from fedrcd.confidence.replicates import BootstrapPlan


@options.settings_options(help=options.WEIGHTS_ONCE)
def bootstrap(
    files: options.Files,
    settings: Settings,
    replicates: Annotated[int, typer.Option(help="Number of replicates.")] = 200,
    groups: Annotated[int | None, typer.Option(help="Groups of rows per site, at least 10.")] = None,
    resample: Annotated[str, typer.Option(help="groups (sums leave the sites) or rows (one machine).")] = "groups",
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same replicates.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; one per processor by default.")] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    plan_only: Annotated[bool, typer.Option("--plan", help="Say what each site would send, and stop.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the discovery with its edge probabilities here, as JSON.")
    ] = None,
    federation: options.FederationFile = None,
    query: options.Query = "",
    json: options.Json = False,
) -> None:
    """Resample groups of rows, or rows: probabilities of edges, stability of the order, intervals of effects."""
    from fedrcd.api.bootstrap import bootstrap as resampled
    from fedrcd.api.discovery import require_level

    require_level(level)
    if replicates < 2:
        raise ConfigError(f"--replicates must be at least 2, got {replicates}")
    if seed is not None and seed < 0:
        raise ConfigError(f"--seed must be at least 0, got {seed}")
    if groups is not None and resample == "rows":
        raise ConfigError("--groups are of --resample groups; with --resample rows there are none")
    if plan_only and resample == "rows":
        raise ConfigError("--plan is about what sites send; with --resample rows nothing is sent")
    if out is not None and out.suffix != ".json":
        raise ConfigError(f"--out {out}: the ending must be .json")

    def announce(plan: BootstrapPlan) -> None:
        print(f"to be sent: {plan}", file=sys.stderr if json else sys.stdout)
        if plan_only:
            raise typer.Exit

    with progress_bar("reading tables") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)  # shown below, as notes of the result
        tables, declared = options.tables_of(files, federation, query)
        found = resampled(
            tables,
            **replace(settings, **declared).arguments(),
            n_sampling=replicates,
            groups=groups,
            resample=resample,  # type: ignore[arg-type]
            random_state=seed,
            n_jobs=jobs,
            announce=announce,
            replicated=lambda done: bar.say(f"{done} of {replicates} replicates"),
        )
    if out is not None:
        found.discovery.to_json(out)
    if json:
        print(json_module.dumps(as_dict(found, level), indent=1))
        return
    show(found, level)
    if out is not None:
        print(f"written: {out}")


def as_dict(found: Bootstrap, level: float) -> dict[str, Any]:
    """What programs read."""
    return {
        "format": "fedrcd-bootstrap/1",
        "method": found.discovery.method,
        "replicates": len(found),
        "failed": found.failed,
        "units": found.units,
        "smallest_group": found.smallest_group,
        "names": list(found.names),
        "order": list(found.discovery.order),
        "order_stability": found.order_stability(),
        "edge_probabilities": found.get_probabilities().tolist(),
        "path_probabilities": found.path_probabilities().to_numpy().tolist(),
        "direct_effects": _effects(found, "direct", level),
        "total_effects": _effects(found, "total", level),
        "leave_one_site_out": found.leave_one_site_out().to_dict("records"),
        "cannot_be_spared": found.cannot_be_spared(),
    }


def _effects(found: Bootstrap, kind: Literal["direct", "total"], level: float) -> list[dict[Any, Any]]:
    """Effects, with intervals where there are any."""
    table = found.effects(kind) if found.no_intervals else found.intervals(kind, level)
    return table.to_dict("records")


def show(found: Bootstrap, level: float) -> None:
    """Print a bootstrap for people."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    units = f"{found.units} groups of at least {found.smallest_group} rows" if found.units else "rows"
    console.print(f"[bold]{found.discovery.method}[/bold]: {len(found)} replicates of {units}")
    if found.failed:
        show_notes(console, [f"{found.failed} further replicates had no answer"])
    console.print("[bold]order[/bold]  " + escape(", ".join(found.discovery.order)))
    console.print(f"[bold]order stability[/bold]  {found.order_stability():.3f}")
    title = "effects" if found.no_intervals else f"effects with {level:.0%} intervals"
    table = Table(title=f"{title}, largest first", title_justify="left")
    for column in ("cause", "effect"):
        table.add_column(column, overflow="fold")
    for column in ("weight", "interval", "probability"):
        table.add_column(column, justify="right")
    for row in _effects(found, "direct", level):
        interval = f"{row['low']:+.3g} to {row['high']:+.3g}" if "low" in row else "-"
        weight, probability = f"{row['estimate']:+.4g}", f"{row['probability']:.2f}"
        table.add_row(escape(row["cause"]), escape(row["effect"]), weight, interval, probability)
    console.print(table)
    for row in found.leave_one_site_out().to_dict("records"):
        changes = ", ".join(f"{value} {what}" for what, value in row.items() if what != "without")
        console.print(escape(f"without {row['without']}: {changes}"))
    for site, why in found.cannot_be_spared().items():
        console.print(escape(f"without {site} there is no answer: {why}"))
    show_notes(console, [note for note in (*found.discovery.notes, found.no_intervals) if note])
