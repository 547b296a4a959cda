"""`fedrcd privacy simulate`: what to expect of noise before anything is spent."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedrcd.evaluation.under_noise import Expected

app = typer.Typer(help="Differential privacy: what to expect of noise, and what was spent.", no_args_is_help=True)


@app.callback()
def privacy() -> None:
    """Differential privacy: what to expect of noise, and what was spent."""


@app.command()
def simulate(
    p: Annotated[int, typer.Option(help="Number of variables.")] = 20,
    rows: Annotated[int, typer.Option(help="Rows in all.")] = 20_000,
    sites: Annotated[int, typer.Option(help="Number of sites, which share the noise under masks.")] = 1,
    epsilon: Annotated[str, typer.Option(help="Epsilons, separated by commas.")] = "0.5,1,3",
    delta: Annotated[float, typer.Option(help="Delta of all of them.")] = 1e-6,
    seeds: Annotated[int, typer.Option(help="Data sets for each of eleven families of noise.")] = 1,
    own_noise: Annotated[bool, typer.Option("--own-noise", help="Every site adds all of the noise.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw accuracy against epsilon into this file, .svg.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every single score as JSON.")] = False,
) -> None:
    """Simulate data sets of your size as the paper does, and print how well discoveries under noise recover them."""
    from fedrcd.evaluation.under_noise import expect

    epsilons = sorted({_number(one) for one in epsilon.split(",")})
    if picture is not None and picture.suffix != ".svg":
        raise ConfigError(f"--picture must be an .svg file, got {picture}")
    found: list[Expected] = []
    with progress_bar("drawing the first data set") as bar:
        settings = {"p": p, "rows": rows, "sites": sites, "delta": delta, "seeds": seeds}
        for one in expect(epsilons, own_noise=own_noise, **settings):  # type: ignore[arg-type]
            found.append(one)
            bar.say(f"{len(found)}: {one.noise}, seed {one.seed}, epsilon {one.epsilon:g}")
    if picture is not None:
        picture.write_text(
            _picture(found, epsilons, f"{p} variables, {rows:,} rows, delta {delta:g}"), encoding="utf-8"
        )
    if json:
        print(json_text.dumps([one._asdict() for one in found], indent=1))
    else:
        _show(found, epsilons, rows, delta)


@app.command()
def spent(
    account: Annotated[Path, typer.Argument(help="File of an account.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Delta at which epsilons are told.")] = 1e-6,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show what discoveries under noise have spent, site by site."""
    from rich.console import Console
    from rich.table import Table

    from fedrcd.api.privacy_account import spent as spent_in

    lines = spent_in(account, delta)
    if json:
        print(json_text.dumps([one._asdict() for one in lines], indent=1))
        return
    table = Table("site", "discoveries", f"epsilon at delta {delta:g}")
    for one in lines:
        table.add_row(one.site, str(one.discoveries), f"{one.epsilon:.3g}")
    Console(width=100).print(table)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"--epsilon must be numbers separated by commas, got {text.strip()!r}") from None


def _picture(found: Sequence[Expected], epsilons: Sequence[float], title: str) -> str:
    """Mean and lowest accuracy at every epsilon; where nothing was found, nothing is right."""
    from statistics import mean

    from fedrcd.report.curve import Point, curve_svg

    points = []
    for epsilon in epsilons:
        own = [one.ancestral_accuracy or 0.0 for one in found if one.epsilon == epsilon]
        points.append(Point(epsilon, mean(own), min(own)))
    return curve_svg(points, title, "epsilon", "AncAcc")


def _show(found: Sequence[Expected], epsilons: Sequence[float], rows: int, delta: float) -> None:
    """A line per epsilon."""
    from statistics import mean

    from rich.console import Console
    from rich.table import Table

    table = Table("epsilon", "AncAcc", "lowest", "SHD", "effects as from rows", "nothing found")
    for epsilon in epsilons:
        own = [one for one in found if one.epsilon == epsilon]
        accuracy = [one.ancestral_accuracy for one in own if one.ancestral_accuracy is not None]
        edges = [one.shd for one in own if one.shd is not None]
        worth = [one.worth for one in own if one.shd is not None]
        told = (
            [f"{mean(accuracy):.3f}", f"{min(accuracy):.3f}", f"{mean(edges):.1f}", f"{mean(worth):,.0f}"]
            if accuracy
            else ["-"] * 4
        )
        table.add_row(f"{epsilon:g}", *told, f"{len(own) - len(accuracy)} of {len(own)}")
    Console(width=100).print(table)
    print(f"delta {delta:g}; {rows:,} rows; one discovery each, means over data sets")
