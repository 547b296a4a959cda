"""`fedrcd report`: the page of a result that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli.discover import require_page


def report(
    result: Annotated[
        Path, typer.Argument(help="A result, as --out wrote it, or the folder of a run.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Where to write the page, .html.")] = Path("report.html"),
    federation: Annotated[
        Path | None, typer.Option(help="Federation file: units, and keys to verify a masked run by.")
    ] = None,
) -> None:
    """Write an interactive page about a result that was saved; the page needs no network."""
    from fedrcd.api.saved_page import saved_page

    require_page(out, "--out")
    saved_page(result, out, federation)
    print(f"written: {out}")
