"""`fedrcd site budget`: numbers that were released about a site's rows, that may be, and what each method costs."""

from __future__ import annotations

import json as json_form
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli import options
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.cli.site import Data, FederationFile, Json, Name, State, Trim, Trust, opened_site, site_settings
from fedrcd.cli.site_editions import app
from fedrcd.errors import ConfigError

__all__ = ["app"]


@app.command()
def budget(
    name: Name,
    federation: FederationFile,
    data: Data,
    query: options.Query = "",
    renew: Annotated[
        int | None,
        typer.Option(help="Allow this many more numbers about rows that sums have left about; it is logged."),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why more is allowed; kept in the log.")] = "",
    block: Annotated[str | None, typer.Option(help="The block of rows, if there are several.")] = None,
    trim: Trim = None,
    trust_coordinator: Trust = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Show how many numbers about its rows this site has released and may release, and what each method would cost."""
    from fedrcd.federation.site.budget import budgets, costs, spent_under_noise
    from fedrcd.federation.site.budget import renew as renew_budget
    from fedrcd.federation.site.settings import SiteSettings

    settings = site_settings(name, federation, data, state, query=query, trim=trim, trust_coordinator=trust_coordinator)
    with opened_site(settings) as (door, tables):
        if renew is not None:
            renew_budget(door, tables, renew, reason, block)
        elif reason:
            raise ConfigError("--reason belongs to --renew")
        found, noise = budgets(door, tables), spent_under_noise(door, SiteSettings.served_from(Path(settings.state)))
        with progress_bar("running every method dry"):
            asked = costs(door, tables)
    if json:
        blocks = [{**asdict(one), "allowance": one.allowance._asdict(), "left": one.allowance.left} for one in found]
        content = {"blocks": blocks, "methods": [one._asdict() for one in asked], "noise": noise and noise._asdict()}
        print(json_form.dumps(content, indent=1))
        return
    for one in found:
        print(
            f"block {one.block!r}: {one.allowance.spent:,} numbers released of {one.allowance.allowed:,} that may ever "
            f"be about {one.rows:,} rows; {one.allowance.left:,} left"
        )
    if noise is not None:
        print(
            f"with noise: epsilon {noise.spent:.3g} spent of {noise.budget:g} at delta {noise.delta:g}, by "
            f"{noise.answers} answers; nothing leaves without noise"
        )
    for cost in asked:
        listed = f"{cost.numbers:,} numbers" + ("" if cost.whole else ", and more that depends on other sites")
        print(f"{cost.method:14} {listed}" + (f"; refused: {cost.refusal}" if cost.refusal else ""))
