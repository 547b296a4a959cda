"""How many rows each method needs on standardised data: the paper's second open question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pandas as pd

from experiments.harness.cells import Cell, Scale
from experiments.harness.experiment import Experiment, Figure, Panel
from experiments.pages.summary import SeedSpread, curves, data_sets, markdown, select, spread
from experiments.tasks.population import population
from experiments.tasks.recovery import FAMILY, SCALE_FREE, paper_settings, recovery_cells

ROWS = (200, 500, 1000, 2000, 5000, 20_000)
MORE_ROWS = (100_000, 500_000)
LEVELS = (0.95, 0.99)
METHODS = (*FAMILY, *SCALE_FREE)
SLOWEST = ("fed-direct", "fedrcd-sx")
"""Left out where there are very many rows."""


def cells(scale: Scale) -> Iterator[Cell]:
    """Standardised data of more and more rows, and the population."""
    half = scale.seeds if scale.full else max(1, scale.seeds // 2)
    for rows in ROWS:
        yield from recovery_cells(paper_settings(half, sites=1, rows=rows), METHODS, scalings=(1.0,))
    cheap = [method for method in METHODS if method not in SLOWEST]
    for rows in MORE_ROWS if scale.full else MORE_ROWS[:1]:
        yield from recovery_cells(paper_settings(scale.fewer, sites=1, rows=rows), cheap, scalings=(1.0,))
    for setting in paper_settings(half):
        for method in METHODS:
            yield Cell(population, {**asdict(setting), "scaling": 1.0, "method": method})


def text(frame: pd.DataFrame) -> Iterator[str]:
    """Means by number of rows, at infinity, and the rows that reach a level."""
    sampled, exact = select(frame, task="recover"), select(frame, task="population")
    sizes = sorted({int(rows) for rows in sampled["rows"]})
    yield (
        "AncAcc on standardised data, mean ± standard error over all noise families; p = 20. N = ∞ is from exact "
        "cumulants of the models. The last columns are the fewest rows tried from which on the mean stays at a level; "
        '"never" where the population itself does not reach it.\n'
    )
    rows = []
    for method in METHODS:
        points = {size: spread(select(sampled, method=method, rows=size)["accuracy"]) for size in sizes}
        limit = spread(select(exact, method=method)["accuracy"])
        reached = [_reached(points, limit, level) for level in LEVELS]
        rows.append([method, *(point.short() for point in points.values()), limit.short(), *reached])
    header = ["method", *(f"{size:,}" for size in sizes), "∞", *(f"rows for {level}" for level in LEVELS)]
    yield from markdown(header, rows)
    counts = [data_sets(select(sampled, rows=size)) for size in sizes]
    yield f"Data sets by column: {', '.join(map(str, [*counts, data_sets(exact)]))}.\n"
    lost = [row[0] for row in rows if row[-1] == "never"]
    yield (
        f"No number of rows brings these to {LEVELS[-1]}: {', '.join(lost) or 'none'}. Where that is so, the "
        "population asymmetry is not what row sums order by once variables share one scale. `fed-direct` asks for "
        "entropies, which the oracle has not; its limit is that of DirectLiNGAM, which is consistent.\n"
    )


def _reached(points: dict[int, SeedSpread], limit: SeedSpread, level: float) -> str:
    """The fewest rows from which on the mean stays at a level."""
    if limit.n and limit.mean < level:
        return "never"
    enough = ""
    for size, point in points.items():
        if point.n == 0:
            continue
        if point.mean < level:
            enough = ""
        elif not enough:
            enough = f"{size:,}"
    return enough or f"more than {max(points):,}"


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Accuracy against rows."""
    sampled = select(frame, task="recover")
    series = curves(sampled, METHODS, "rows")
    panel = Panel(title="standardised data", x="rows in all", y="AncAcc", series=series, log_x=True, limits=(0.2, 1.02))
    yield Figure("sample-size", [panel])


SAMPLE_SIZE = Experiment(
    name="sample-size",
    title="Rows needed for AncAcc 0.95 and 0.99 on standardised data, and the limit",
    cells=cells,
    text=text,
    figures=figures,
)
