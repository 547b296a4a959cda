"""`fedrcd frame propose`: a draft of the public frame in which a federation takes its sums."""

from __future__ import annotations

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
    """Draft centres and scales from one site's table, to one digit; check them before all sites agree on them."""
    from dataclasses import replace

    from fedrcd.api.inputs import read_tables
    from fedrcd.data.federation import VariableFrame, frame_lines, read_federation, write_federation
    from fedrcd.data.frame_draft import draft_frame

    federation = None if into is None else read_federation(into)
    with progress_bar("reading the table"):
        labels = () if federation is None else _labels(table, (federation.id_column, federation.block_column))
        drafted = draft_frame(read_tables([table], drop=[*(drop or ()), *labels])[0])
    if federation is None or into is None:
        print("\n".join(frame_lines(drafted)).lstrip("\n"))
        return
    lacking = [name for name in federation.variables if name not in drafted]
    if lacking:
        hint = did_you_mean(lacking[0], list(drafted))
        raise ConfigError(f"{table} lacks column {lacking[0]!r}, a variable of {into}{hint}; take a table that has all")
    units = {name: federation.frame[name].unit for name in federation.frame}
    named = {
        name: VariableFrame(drafted[name].centre, drafted[name].scale, units.get(name, ""))
        for name in federation.variables
    }
    write_federation(into, replace(federation, frame=named))
    print(f"written: {into}; look at the frames of all {len(named)} variables before the sites agree on them")


def _labels(table: Path, columns: tuple[str, ...]) -> list[str]:
    """Which of the columns that label rows the table has."""
    from fedrcd.data.sources.address import source_at

    return [name for name in columns if name in source_at(table).schema().names]
