"""`fedrcd frame propose`: a draft of the public frame in which a federation takes its sums."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError
from fedrcd.suggest import did_you_mean

frame = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@frame.callback()
def group() -> None:
    """The public frame: what every variable is centred by and divided by."""


@frame.command()
def propose(
    table: Annotated[Path, typer.Argument(help="One site's CSV or Parquet table.", show_default=False)],
    into: Annotated[
        Path | None, typer.Option(help="A federation file: its variables get the drafted frames; units are kept.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
) -> None:
    """Draft centres and scales from one site's table, to one digit; check them before all sites agree on them.

    With --into, of the variables of the file; else of all columns but identifiers, dates, text and constants.
    """
    from dataclasses import replace

    from fedrcd.api.inputs import read_tables
    from fedrcd.data.federation import VariableFrame, frame_lines, read_federation, write_federation
    from fedrcd.data.frame_draft import draft_frame
    from fedrcd.data.unusable import passed_over

    federation = None if into is None else read_federation(into)
    with progress_bar("reading the table"):
        if federation is None:
            passed = passed_over(table, drop or ())
        else:
            passed = _others(table, federation.variables, f"a variable of {into}")
        drafted = draft_frame(read_tables([table], drop=[*(drop or ()), *passed])[0])
    if federation is None or into is None:
        print("\n".join(frame_lines(drafted)).lstrip("\n"))
        _tell_passed(passed)
        return
    units = federation.units()
    named = {
        name: VariableFrame(drafted[name].centre, drafted[name].scale, units.get(name) or drafted[name].unit)
        for name in federation.variables
    }
    write_federation(into, replace(federation, frame=named))
    print(f"written: {into}; look at the frames of all {len(named)} variables before the sites agree on them")


def _others(table: Path, variables: Sequence[str], what: str) -> dict[str, str]:
    """The columns of a table that are no variables of a federation; raises if it lacks one that is."""
    from fedrcd.data.sources.address import source_at

    names = source_at(table).schema().names
    lacking = [name for name in variables if name not in names]
    if lacking:
        hint = did_you_mean(lacking[0], names)
        raise ConfigError(f"{table} lacks column {lacking[0]!r}, {what}{hint}; take a table that has all")
    return {name: "no variable" for name in names if name not in variables}


def _tell_passed(passed: Mapping[str, str]) -> None:
    """Say which columns were passed over, and how a discovery leaves them out."""
    from fedrcd.data.unusable import flags

    for name, reason in passed.items():
        print(f"passed over: {name} ({reason})", file=sys.stderr)
    if passed:
        print(f"next: fedrcd discover TABLE TABLE ... {flags(passed)}", file=sys.stderr)
