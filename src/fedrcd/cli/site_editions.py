"""`fedrcd site editions`: the states of a site's rows that sums left about, and what waits for the next."""

from __future__ import annotations

import json as json_form
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli import options
from fedrcd.cli.ledger import read_text
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.cli.site import Data, FederationFile, Json, Name, State, Trim, opened_site, site_settings
from fedrcd.cli.site_store import app

__all__ = ["app"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedrcd.data.table import Table
    from fedrcd.federation.site.editions.outlook import Outlook
    from fedrcd.federation.site.release import Door

FORCED = """
**********************************************************************
*  --now: the next edition is made whoever is told by it. Whoever has *
*  sums of before and after can rebuild the rows that changed. It is  *
*  allowed for the table as it is now: if it changes, say it again.   *
**********************************************************************
"""


@app.command()
def rename(
    name: Annotated[str, typer.Option(help="The name that the site has now.")],
    former: Annotated[str, typer.Option(help="The name that it had.")],
    state: Annotated[Path, typer.Option(help="Folder of the site's store.")],
) -> None:
    """Rename a site in its store; all that is known about its rows stays."""
    from fedrcd.federation.site.store import Store

    with Store(state, former) as store:
        store.rename(name)
    print(f"{state}: the store of site {name}, formerly {former}")


@app.command()
def editions(
    name: Name,
    federation: FederationFile,
    data: Data,
    query: options.Query = "",
    fill: Annotated[
        bool,
        typer.Option("--fill", help="Make the next edition now: further rows, drawn at random, stay out for good."),
    ] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Make it without waiting or hiding anybody: changed rows can be rebuilt.")
    ] = False,
    handed_over: Annotated[
        Path | None,
        typer.Option(
            help="File of the identifiers, one per line, of rows that moved from or to another site: they hide nobody."
        ),
    ] = None,
    trim: Trim = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Show which states of its rows this site answered about, what it would answer about now, and what waits."""
    from fedrcd.federation.site.editions.outlook import edition_record, outlook

    settings = site_settings(name, federation, data, state, query=query, trim=trim)
    with progress_bar("comparing the table with its editions"), opened_site(settings) as (door, tables):
        if handed_over is not None:
            ids = [line.strip() for line in read_text(handed_over).splitlines() if line.strip()]
            with door.store.changes():
                door.store.editions.note_handed_over(door.store.marker.of_id(one) for one in ids)
        permit(door, tables, now=now, fill=fill)
        records = [edition_record(door, one) for one in door.store.editions.editions()]
        seen = outlook(door, tables)
    if json:
        print(json_form.dumps({"editions": records, "next": seen.as_dict()}, indent=1))
        return
    for one in records:
        marks = "".join(f", {word}" for word, holds in (("now", one["current"]), ("FORCED", one["forced"])) if holds)
        print(
            f"edition {one['number']}  {one['time'][:10]}  block {one['block']}: {one['rows']:,} rows of "
            f"{one['persons']:,} persons, {len(one['columns'])} columns, {one['numbers']:,} numbers left{marks}"
        )
    if not records:
        print("no sums left yet: there is no edition")
    show_outlook(seen)


def permit(door: Door, tables: Sequence[Table], *, now: bool, fill: bool) -> None:
    """Allow the next edition not to wait, if that was asked for, and say so."""
    from fedrcd.federation.site.editions.outlook import allow_next

    if not now and not fill:
        return
    if not allow_next(door, tables, now=now, fill=fill):
        print("nothing waits, so nothing is allowed", file=sys.stderr)
    elif now:
        print(FORCED, file=sys.stderr)


def show_outlook(seen: Outlook) -> None:
    """Print what would be answered about, and what waits."""
    for line in seen.blocks:
        print(f"would be answered about: {line}")
    if not seen.answers:
        print("would not be answered: rows of the newest edition are gone or were erased, and too few to be hidden")
    if seen.waiting is not None:
        print(f"held back: {seen.waiting}")
