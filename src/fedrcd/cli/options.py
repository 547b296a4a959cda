"""Arguments and options that commands on tables share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fedrcd.errors import ConfigError

Files = Annotated[list[Path], typer.Argument(help="One CSV or Parquet table per site.", show_default=False)]
FederationFile = Annotated[
    Path | None, typer.Option(help="Federation file: who holds which columns of which rows; name files by site.")
]
Method = Annotated[str, typer.Option(help="Name of a method, or auto; see `fedrcd methods`.")]
EdgeSelection = Annotated[str, typer.Option(help="Edge selection: adaptive-lasso, bic, bootstrap or none.")]
EdgeSelectionOnce = Annotated[str, typer.Option("--weights", help="Edge selection: adaptive-lasso, bic or none.")]
Penalty = Annotated[float, typer.Option(help="Of the adaptive lasso, times the mean standard deviation.")]
Options = Annotated[list[str] | None, typer.Option(help="Further option of the method, NAME=VALUE; may be repeated.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Trim = Annotated[
    float | None, typer.Option(help="Leave out rows with a value this many robust scales out; 8 for gross errors.")
]
WithinSites = Annotated[str, typer.Option(help="Where sites differ: none, centre, standardise or auto.")]
MissingValues = Annotated[str, typer.Option(help="Missing values: complete (rows left out), expected or available.")]
MissingCodes = Annotated[
    list[float] | None, typer.Option(help="A value that stands for a missing one; may be repeated.")
]
Arithmetic = Annotated[str, typer.Option(help="How sums are taken: float, exact or compact.")]
Stack = Annotated[bool, typer.Option(help="Let a method for one table stack several.")]
KnowledgeFile = Annotated[Path | None, typer.Option(help="TOML file of what is known of the graph; it is kept to.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

FLAGS = {"arithmetic", "drop", "knowledge", "method", "missing", "penalty", "stack", "trim", "weights", "within"}
"""Options of the method that have a flag of their own."""


def tables_of(files: list[Path], federation: Path | None) -> tuple[list[Any], tuple[str, ...] | None]:
    """What the files hold, in the order of the federation if there is one."""
    if federation is None:
        return list(files), None
    from fedrcd.api.federation import federation_tables
    from fedrcd.data.federation import read_federation

    described = read_federation(federation)
    return list(federation_tables(described, files)), described.variables


def parse_options(texts: list[str]) -> dict[str, Any]:
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
