"""`fedrcd verify`: whether the sites of a masked run signed its result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a masked run, with finding.json.", show_default=False)],
    federation: Annotated[Path, typer.Option(help="Federation file, with the keys of the sites.")],
) -> None:
    """Verify that all sites of a masked run signed its result; nobody is asked."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.coordinator.saved_finding import read_finding
    from fedrcd.federation.masking.signed_result import SignedResult

    found, described = read_finding(folder), read_federation(federation)
    plan = SignedResult.read(folder).verified(found.estimate, described)
    print(f"signed by {', '.join(found.sites)}")
    if plan.goes_on:
        print(
            f"each of them ran {plan.method} itself on totals that it added up, and found this order and these effects"
        )
    else:
        print(f"they answered {plan.method} and were told this result; in one round sites do not compute it themselves")
