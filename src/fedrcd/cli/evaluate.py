"""`fedrcd evaluate`: how well methods recover simulated models."""

from __future__ import annotations

import json as json_text
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedrcd.evaluation.evaluate import ScoredRun


def evaluate(
    methods: Annotated[str, typer.Option(help="Methods, separated by commas, or all.")] = "all",
    noise: Annotated[str, typer.Option(help="Noise families, separated by commas, or all.")] = "all",
    seeds: Annotated[int, typer.Option(help="Data sets per family.")] = 5,
    p: Annotated[int, typer.Option(help="Number of variables.")] = 20,
    sites: Annotated[int, typer.Option(help="Number of sites.")] = 10,
    rows: Annotated[int, typer.Option(help="Rows per site.")] = 2000,
    density: Annotated[float | None, typer.Option(help="Probability of an edge per pair; 0.2 by default.")] = None,
    degree: Annotated[float | None, typer.Option(help="Expected edges per variable, instead of a density.")] = None,
    standardise: Annotated[bool, typer.Option(help="Give every variable unit variance first.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print every single score as JSON.")] = False,
) -> None:
    """Simulate data sets as the paper does and print AncAcc and SHD of methods, next to the paper's figures."""
    from fedrcd.data.simulate.noise import NOISE_FAMILIES
    from fedrcd.evaluation.evaluate import DataSetting
    from fedrcd.evaluation.evaluate import evaluate as score_methods
    from fedrcd.methods.registry import METHODS

    if seeds < 1:
        raise ConfigError(f"seeds must be at least 1, got {seeds}")
    chosen = list(METHODS) if methods == "all" else [name.strip() for name in methods.split(",")]
    families = list(NOISE_FAMILIES) if noise == "all" else [name.strip() for name in noise.split(",")]
    settings = [
        DataSetting(
            noise=family,
            seed=seed,
            p=p,
            sites=sites,
            rows=rows,
            density=density,
            degree=degree,
        )
        for family in families
        for seed in range(seeds)
    ]
    scores: list[ScoredRun] = []
    with progress_bar("drawing the first data set") as bar:
        for score in score_methods(chosen, settings, scaling=float(standardise)):
            scores.append(score)
            bar.say(f"{len(scores)} of {len(settings) * len(chosen)}: {score.noise}, seed {score.seed}, {score.method}")
    if json:
        print(json_text.dumps([score._asdict() for score in scores], indent=1))
    else:
        _show(scores, chosen, standardised=standardise, as_paper=(p, sites, rows) == (20, 10, 2000) and degree is None)


def _show(scores: Sequence[ScoredRun], methods: Sequence[str], *, standardised: bool, as_paper: bool) -> None:
    """A table with one row per method: accuracy by regime, edges, costs, and what the paper prints for its setting."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from fedrcd.data.simulate.noise import REGIMES
    from fedrcd.evaluation.paper import PAPER
    from fedrcd.methods.registry import METHODS

    regimes = [name for name, families in REGIMES.items() if any(score.noise in families for score in scores)]
    table = Table("method", *regimes, "all", "SHD", "rounds", "kB/site", "s", "paper sym / skew")
    for method in methods:
        own = [score for score in scores if score.method == method]
        accuracy = [np.mean([s.ancestral_accuracy for s in own if s.noise in REGIMES[regime]]) for regime in regimes]
        means = np.mean(
            [(s.ancestral_accuracy, s.shd, s.rounds, s.bytes_per_site / 1000, s.seconds) for s in own], axis=0
        )
        printed = PAPER.get(method) if as_paper else None
        paper = "" if printed is None else f"{printed[2 * standardised]:.3f} / {printed[2 * standardised + 1]:.3f}"
        table.add_row(
            method,
            *(f"{value:.3f}" for value in accuracy),
            f"{means[0]:.3f}",
            f"{means[1]:.1f}",
            "-" if METHODS[method].one_table else f"{means[2]:.0f}",
            "-" if METHODS[method].one_table else f"{means[3]:.1f}",
            f"{means[4]:.2f}",
            paper,
        )
    data = "standardised" if standardised else "raw"
    sets = len({(score.noise, score.seed) for score in scores})
    v = np.mean([score.varsortability for score in scores])
    Console(width=120).print(table)
    print(f"AncAcc by noise regime on {data} data, means of {sets} data sets; varsortability {v:.3f}")
