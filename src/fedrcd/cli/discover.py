"""`fedrcd discover`: from tables to a causal order."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedrcd.cli.patience import patience
from fedrcd.errors import ConfigError, FedrcdWarning, FileError

if TYPE_CHECKING:
    from fedrcd.api.discovery import Discovery

FLAGS = {"drop", "method", "missing", "penalty", "stack", "trim", "weights", "within"}
"""Options of the method that have a flag of their own."""

WRITERS = {
    ".json": lambda found: found.to_json() + "\n",
    ".dot": lambda found: found.to_dot(),
    ".gml": lambda found: found.to_gml(),
    ".svg": lambda found: found.to_svg(),
    ".csv": lambda found: found.adjacency.to_csv(index_label="effect of column on row"),
}


def discover(
    files: Annotated[list[Path], typer.Argument(help="One CSV or Parquet table per site.", show_default=False)],
    federation: Annotated[
        Path | None,
        typer.Option(help="Federation file: who holds which columns of which rows; name files by site."),
    ] = None,
    method: Annotated[str, typer.Option(help="Name of a method, or auto; see `fedrcd methods`.")] = "auto",
    out: Annotated[
        list[Path] | None, typer.Option(help="Write the result here: .json, .dot, .gml, .csv or .svg; may be repeated.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page to look at here, .html; it needs no network.")
    ] = None,
    weights: Annotated[str, typer.Option(help="Edge selection: adaptive-lasso, bic or none.")] = "adaptive-lasso",
    penalty: Annotated[float, typer.Option(help="Of the adaptive lasso, times the mean standard deviation.")] = 0.01,
    option: Annotated[
        list[str] | None, typer.Option(help="Further option of the method, NAME=VALUE; may be repeated.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    trim: Annotated[
        float | None, typer.Option(help="Leave out rows with a value this many robust scales out; 8 for gross errors.")
    ] = None,
    within: Annotated[str, typer.Option(help="Where sites differ: none, centre, standardise or auto.")] = "none",
    missing: Annotated[
        str, typer.Option(help="Missing values: complete (rows left out), expected or available.")
    ] = "complete",
    missing_code: Annotated[
        list[float] | None, typer.Option(help="A value that stands for a missing one; may be repeated.")
    ] = None,
    stack: Annotated[bool, typer.Option(help="Let a method for one table stack several.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Find the causal order and the effects behind tables, one per site, from sums over their rows."""
    from fedrcd.api.discover import discover as find_order

    targets = out or []
    for target in targets:
        if target.suffix not in WRITERS:
            raise ConfigError(f"--out {target}: the ending must be one of {', '.join(WRITERS)}")
    require_page(report)
    with patience("reading tables") as sign, warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)  # shown below, as notes of the result
        tables, variables = _tables(files, federation)
        found = find_order(
            tables,
            method,
            variables=variables,
            drop=drop or (),
            within=within,  # type: ignore[arg-type]
            missing=missing,  # type: ignore[arg-type]
            missing_codes=missing_code or (),
            trim=trim,
            stack=stack,
            check_scale=report is not None,
            progress=lambda traffic: sign.say(f"{method}: {traffic.words}", traffic.share),
            weights=weights,
            penalty=penalty,
            **_parse_options(option or []),
        )
    for target in targets:
        try:
            target.write_text(WRITERS[target.suffix](found), encoding="utf-8")
        except OSError as problem:
            raise FileError(f"cannot write {target}: {problem.strerror}") from None
    if report:
        found.report(report)
        targets = [*targets, report]
    if json:
        print(found.to_json())
    else:
        show(found)
        for target in targets:
            print(f"written: {target}")


def require_page(report: Path | None) -> None:
    """Raise if a page would get another ending, before anything is computed."""
    if report and report.suffix not in {".html", ".htm"}:
        raise ConfigError(f"--report {report}: the ending must be .html")


def _tables(files: list[Path], federation: Path | None) -> tuple[list[Any], tuple[str, ...] | None]:
    """What the files hold, in the order of the federation if there is one."""
    if federation is None:
        return list(files), None
    from fedrcd.api.federation import federation_tables
    from fedrcd.data.federation import read_federation

    described = read_federation(federation)
    return list(federation_tables(described, files)), described.variables


def _parse_options(texts: list[str]) -> dict[str, Any]:
    """Options of the method; those with a flag of their own are refused."""
    options = dict(_parse(text) for text in texts)
    for name in options:
        if name in FLAGS:
            raise ConfigError(f"--option {name}: use --{name.replace('_', '-')} instead")
    return options


def _parse(text: str) -> tuple[str, Any]:
    """A NAME=VALUE pair; numbers become numbers."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--option {text}: must be NAME=VALUE")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def show(found: Discovery) -> None:
    """Print a discovery for people: order, edges, costs, notes."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    sites = f"{found.sites} site{'s' * (found.sites != 1)}"
    rounds = f"{found.rounds} round{'s' * (found.rounds != 1)}"
    console.print(
        f"[bold]{found.method}[/bold]: {found.rows:,} rows at {sites}, {rounds}, "
        f"{found.bytes_sent / found.sites:,.0f} bytes per site"
    )
    if found.chosen:
        console.print(f"[bold]chosen[/bold] because {found.chosen}")
    console.print("[bold]order[/bold]  " + escape(" > ".join(found.order)))
    table = Table(title="effects, largest first", title_justify="left")
    table.add_column("cause", overflow="fold")
    table.add_column("effect", overflow="fold")
    table.add_column("weight", justify="right")
    for edge in found.edges():
        table.add_row(escape(edge.cause), escape(edge.effect), f"{edge.weight:+.4g}")
    console.print(table)
    for note in found.notes:
        console.print("[yellow]note[/yellow]   " + escape(note))
