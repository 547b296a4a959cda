"""Accuracy against the number of variables [P, Figure 2b]."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.harness.cells import Cell, Scale
from experiments.harness.experiment import Experiment, Figure, Panel
from experiments.pages.summary import curves, markdown, methods_of, paired, select, spread
from experiments.tasks.recovery import FAMILY, paper_settings, recovery_cells

SIZES = (10, 20, 30, 50)
METHODS = ("direct-lingam", *FAMILY, "fedrcd-s")
GRAPHS: dict[str, dict[str, float]] = {"density 0.2": {}, "degree 2": {"degree": 2.0}}


def cells(scale: Scale) -> Iterator[Cell]:
    """Raw data of graphs that get denser with p, and of graphs that do not."""
    for p in SIZES:
        seeds = scale.seeds if p <= 20 else scale.fewer if p <= 30 else scale.fewest
        for graph in GRAPHS.values():
            yield from recovery_cells(paper_settings(seeds, p=p, **graph), METHODS)


def text(frame: pd.DataFrame) -> Iterator[str]:
    """Means by size for both kinds of graph."""
    yield (
        "AncAcc over all noise families, mean ± standard error; 10 sites of 2000 rows. The paper's \"ER-2 (expected "
        'density 0.2)" is both kinds of graph at p = 20 (nearly: a pair is joined with probability 0.2 or 4/19) and '
        "neither elsewhere, so both are shown.\n"
    )
    for name, graph in GRAPHS.items():
        own = _of_graph(frame, graph)
        sets = ", ".join(f"{spread(select(own, p=p, method='fedrcd-x')['accuracy']).n} at p = {p}" for p in SIZES)
        yield f"{name.capitalize()}; data sets: {sets}.\n"
        rows = [
            [method, *(spread(select(own, p=p, method=method)["accuracy"]).short() for p in SIZES)]
            for method in methods_of(frame)
        ]
        yield from markdown(["method", *(f"p = {p}" for p in SIZES)], rows)
        yield "Paired differences the paper speaks of:\n"
        pairs = (("fedishc-tau4", "fedrcd-ni"), ("fedrcd-ni", "fedhc"), ("fedrcd-x", "fedrcd-ni"))
        yield from markdown(
            ["difference", *(f"p = {p}" for p in SIZES)],
            [
                [
                    f"{one} - {other}",
                    *(paired(select(own, p=p), {"method": one}, {"method": other}).words() for p in SIZES),
                ]
                for one, other in pairs
            ],
        )
    yield (
        "The paper: FedISHC(τ4) is best of the rest at p = 10 and converges with NI and FedHC as p grows; NI is ahead "
        "of FedHC for p up to 20; X is the most stable.\n"
    )


def _of_graph(frame: pd.DataFrame, graph: dict[str, float]) -> pd.DataFrame:
    return select(frame, **{"density": None, "degree": None, **graph})


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Figure 2b for both kinds of graph."""
    panels = [
        Panel(title=name, x="p", y="AncAcc", series=curves(_of_graph(frame, graph), METHODS, "p"), limits=(0.5, 1.02))
        for name, graph in GRAPHS.items()
    ]
    yield Figure("scalability", panels)


SCALABILITY = Experiment(
    name="scalability",
    title="AncAcc against p, at density 0.2 and at degree 2",
    paper="Figure 2b",
    cells=cells,
    text=text,
    figures=figures,
)
