"""`fedrcd compare`: what changed from one result to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli.discover import require_page


def compare(
    before: Annotated[Path, typer.Argument(help="A result, as `fedrcd discover --out` wrote it.", show_default=False)],
    after: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    tolerance: Annotated[float, typer.Option(help="Share by which weights may differ and count as the same.")] = 1e-6,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write an interactive page here, .html.")] = None,
) -> None:
    """Show which edges and which parts of the order differ: two dates, two methods, before and after an erasure."""
    from fedrcd.api.comparison import compare as compare_discoveries
    from fedrcd.api.discovery import Discovery

    require_page(report)
    named = (before.stem, after.stem) if before.stem != after.stem else (str(before), str(after))
    found = compare_discoveries(
        Discovery.from_json(before), Discovery.from_json(after), tolerance=tolerance, titles=named
    )
    if report:
        found.report(report)
    if json:
        print(found.to_json())
        return
    print(found)
    if report:
        print(f"written: {report}")
