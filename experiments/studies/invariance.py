"""Accuracy against the number of sites [P, Figure 2c]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from experiments.harness.cells import Cell, Scale
from experiments.harness.experiment import Experiment, Figure, Panel
from experiments.pages.summary import Difference, curves, data_sets, markdown, select, spread
from experiments.tasks.recovery import paper_settings, recovery_cells

SITES = (1, 5, 10, 20, 50)
TABLE = 20_000
PER_SITE = 2000
METHODS = ("fedrcd-x", "fedrcd-ni", "fedhc", "fedrcd-def", "fedishc", "fedrcd-s")


def cells(scale: Scale) -> Iterator[Cell]:
    """One table cut into K parts; and K sites of 2000 rows each."""
    for sites in SITES:
        yield from recovery_cells(paper_settings(scale.fewer, sites=sites, rows=TABLE // sites), METHODS)
    for sites in SITES:
        if sites * PER_SITE != TABLE:  # that one is above
            yield from recovery_cells(paper_settings(scale.fewer, sites=sites, rows=PER_SITE), METHODS)


def text(frame: pd.DataFrame) -> Iterator[str]:
    """Flat by construction, or flat because there are more rows."""
    fixed, growing = _fixed(frame), _growing(frame)
    yield f"AncAcc over all noise families, mean ± standard error; p = 20. One table of {TABLE:,} rows cut into K:\n"
    yield from _table(fixed)
    moved = {method: change for method, change in changes(frame).items() if change}
    still = [method for method in METHODS if method not in moved]
    yield f"However a table is cut, these give the same accuracy on every data set: {', '.join(still)}.\n"
    for method, change in moved.items():
        yield (
            f"`{method}` changes by up to {change:.3f} on a single data set. The sums differ in their last bits, as "
            "sums in another order do; a deflation that divides by a skewness near zero and cubes the ratio at every "
            "step carries these bits into the order.\n"
        )
    yield f"{PER_SITE} rows at each site, so that N = {PER_SITE} K grows:\n"
    yield from _table(growing)
    yield "Each K has other graphs, so differences are not paired; K = 50 minus K = 1:\n"
    rows = [[method, end_to_end(frame, method).words()] for method in METHODS]
    yield from markdown(["method", "difference"], rows)
    yield (
        "The paper's curves are flat although it states 2000 rows per site. With a fixed table that is an identity; "
        "with a growing one, a tie means that rows are not what limits a method on raw data.\n"
    )


def changes(frame: pd.DataFrame) -> dict[str, float]:
    """The largest change of accuracy over K of each method on any one table."""
    found = {}
    for method in METHODS:
        own = select(_fixed(frame), method=method).pivot_table(
            index=["noise", "seed"], columns="sites", values="accuracy"
        )
        found[method] = float(own.sub(own[SITES[0]], axis=0).abs().to_numpy().max())
    return found


def end_to_end(frame: pd.DataFrame, method: str) -> Difference:
    """Accuracy with the most sites minus that with one, other data sets each."""
    own = select(_growing(frame), method=method)
    most, one = (spread(select(own, sites=sites)["accuracy"]) for sites in (SITES[-1], SITES[0]))
    return Difference(most.mean - one.mean, float(np.hypot(most.se, one.se)), most.n)


def _fixed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["sites"] * frame["rows"] == TABLE]


def _growing(frame: pd.DataFrame) -> pd.DataFrame:
    return select(frame, rows=PER_SITE)


def _table(frame: pd.DataFrame) -> Iterator[str]:
    rows = [
        [method, *(spread(select(frame, method=method, sites=sites)["accuracy"]).short() for sites in SITES)]
        for method in METHODS
    ]
    yield from markdown(["method", *(f"K = {sites}" for sites in SITES)], rows)
    yield f"Data sets by column: {', '.join(str(data_sets(select(frame, sites=sites))) for sites in SITES)}.\n"


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Figure 2c, twice."""
    halves = {f"one table of {TABLE:,} rows": _fixed(frame), f"{PER_SITE} rows per site": _growing(frame)}
    panels = [
        Panel(title=title, x="sites", y="AncAcc", series=curves(own, METHODS, "sites"), limits=(0.5, 1.02))
        for title, own in halves.items()
    ]
    yield Figure("invariance", panels)


INVARIANCE = Experiment(
    name="invariance",
    title="AncAcc against K: one table cut into K, and 2000 rows per site",
    paper="Figure 2c",
    cells=cells,
    text=text,
    figures=figures,
)
