"""`fedrcd discover`: from tables to a causal order."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli import options
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FedrcdWarning, FileError
from fedrcd.methods.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from fedrcd.api.discovery import Discovery

WRITERS = {
    ".json": lambda found: found.to_json() + "\n",
    ".dot": lambda found: found.to_dot(),
    ".gml": lambda found: found.to_gml(),
    ".svg": lambda found: found.to_svg(),
    ".csv": lambda found: found.adjacency.to_csv(index_label="effect of column on row"),
}


@options.settings_options()
def discover(
    files: options.Files,
    settings: Settings,
    federation: options.FederationFile = None,
    query: options.Query = "",
    out: Annotated[
        list[Path] | None, typer.Option(help="Write the result here: .json, .dot, .gml, .csv or .svg; may be repeated.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an interactive page here, .html; it needs no network.")
    ] = None,
    frame: Annotated[
        Path | None,
        typer.Option(help="File of public centres and scales, as `fedrcd frame propose` prints."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Add noise for differential privacy with this epsilon; it needs a frame.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of that epsilon; 1e-6 if not said.")] = None,
    account: Annotated[Path | None, typer.Option(help="File where what sites spend is written down.")] = None,
    epsilon_budget: Annotated[
        float | None, typer.Option(help="The most that all discoveries in the account may add up to.")
    ] = None,
    check_sites: Annotated[
        bool, typer.Option("--check-sites", help="Note what changes without each site; the method runs once for each.")
    ] = False,
    rivals: Annotated[
        bool, typer.Option("--rivals", help="In doubt, run other methods too, and report what they agree on.")
    ] = False,
    json: options.Json = False,
    device: Annotated[str, typer.Option(help="Where to sum: cpu, cuda (a graphics card), or auto.")] = "cpu",
) -> None:
    """Find the causal order and the effects behind tables, one per site, from sums over their rows."""
    from fedrcd.api.discover import discover as find_order
    from fedrcd.data.federation import read_frames

    targets = out or []
    require_endings(targets)
    require_page(report)
    units = options.units_in(federation)
    noise = {"epsilon": epsilon, "delta": delta, "account": account, "epsilon_budget": epsilon_budget}
    settings = options.under_noise(settings, noise)
    with progress_bar("reading tables") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)  # shown below, as notes of the result
        tables, declared = options.tables_of(files, federation, query)
        if frame is not None:
            declared["frame"] = {name: (one.centre, one.scale) for name, one in read_frames(frame).items()}
        found = find_order(
            tables,
            **replace(settings, **declared).arguments(),
            check_scale=report is not None,
            device=device,  # type: ignore[arg-type]  # checked by name
            check_sites=check_sites,
            rivals=rivals,
            progress=lambda traffic: bar.say(f"{settings.method}: {traffic.words}", traffic.share),
        )
    found = found.with_units(units)
    write_results(found, targets)
    if report:
        found.report(report)
        targets = [*targets, report]
    if json:
        print(found.to_json())
    else:
        show(found)
        for target in targets:
            print(f"written: {target}")


def require_page(report: Path | None, option: str = "--report") -> None:
    """Raise if a page would get another ending, before anything is computed."""
    if report and report.suffix not in {".html", ".htm"}:
        raise ConfigError(f"{option} {report}: the ending must be .html")


def require_endings(targets: list[Path]) -> None:
    """Refuse files that no result can be written to, before anything is computed."""
    for target in targets:
        if target.suffix not in WRITERS:
            raise ConfigError(f"--out {target}: the ending must be one of {', '.join(WRITERS)}")


def write_results(found: Discovery, targets: list[Path]) -> None:
    """Write a result in the forms that the endings of files say."""
    for target in targets:
        try:
            target.write_text(WRITERS[target.suffix](found), encoding="utf-8")
        except OSError as problem:
            raise FileError(f"cannot write {target}: {problem.strerror}") from None


def show(found: Discovery) -> None:
    """Print a discovery for people: order, edges, costs, notes."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from fedrcd.report.result import unit_of_weight

    console = Console(highlight=False)
    sites = f"{found.sites} site{'s' * (found.sites != 1)}"
    rounds = f"{found.rounds} round{'s' * (found.rounds != 1)}"
    console.print(
        f"[bold]{found.method}[/bold]: {found.rows:,} rows at {sites}, {rounds}, "
        f"{found.bytes_sent / found.sites:,.0f} bytes per site"
    )
    if found.chosen:
        console.print(f"[bold]chosen[/bold] because {found.chosen}")
    console.print("[bold]order[/bold]  " + escape(", ".join(found.order)))
    table = Table(title="effects, largest first", title_justify="left")
    table.add_column("cause", overflow="fold")
    table.add_column("effect", overflow="fold")
    table.add_column("weight", justify="right")
    if found.units:
        table.add_column("unit", overflow="fold")
    for edge in found.edges():
        unit = [escape(unit_of_weight(found, edge.cause, edge.effect))] if found.units else []
        table.add_row(escape(edge.cause), escape(edge.effect), f"{edge.weight:+.4g}", *unit)
    console.print(table)
    if found.lagged_effects:
        console.print(_over_time(found))
    show_notes(console, found.notes)


def _over_time(found: Discovery) -> Table:
    """Effects of earlier values, for people."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="effects of earlier values, largest first", title_justify="left")
    for name in ("cause", "steps before"):
        table.add_column(name, overflow="fold")
    table.add_column("effect", overflow="fold")
    table.add_column("weight", justify="right")
    for edge in found.lagged_edges():
        table.add_row(escape(edge.cause), str(edge.lag), escape(edge.effect), f"{edge.weight:+.4g}")
    return table


def show_notes(console: Console, notes: Sequence[str]) -> None:
    """Print what to know before trusting a result, so that nobody takes it for a part of the table above it."""
    from rich.markup import escape

    for note in notes:
        console.print("\n[bold black on yellow]NOTE[/]  " + escape(note))
