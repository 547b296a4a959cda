"""Eight graphs of the bnlearn repository [P, Figure 5]."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.harness.cells import Cell, Scale
from experiments.harness.experiment import Experiment, Figure
from experiments.pages.summary import LEGEND, REGIME_NAMES, chain, markdown, methods_of, regime_table, select, spread
from experiments.studies.noise import HIERARCHY, bars
from experiments.tasks.recovery import FAMILY, paper_settings, recovery_cells
from fedrcd.data.simulate.topologies import TOPOLOGIES, topology

METHODS = ("direct-lingam", *FAMILY, "fedrcd-s")


def cells(scale: Scale) -> Iterator[Cell]:
    """Raw data of eight graphs with random weights and eleven noise families."""
    for name in TOPOLOGIES:
        p = len(topology(name).names)
        yield from recovery_cells(paper_settings(scale.fewest, p=p, topology=name), METHODS)


def text(frame: pd.DataFrame) -> Iterator[str]:
    """Both measures by regime over all graphs, and by graph."""
    yield f"Over eight graphs; 10 sites of 2000 rows. AncAcc, {LEGEND}.\n"
    yield from regime_table(frame)
    yield f"SHD, {LEGEND}.\n"
    yield from regime_table(frame, "shd", 1)
    yield "The paper's hierarchy, mean paired difference of AncAcc ± standard error:\n"
    yield from markdown(["difference", *REGIME_NAMES, "all families"], chain(frame, HIERARCHY))
    yield "AncAcc by graph over all noise families, mean ± standard error:\n"
    rows = []
    for name in TOPOLOGIES:
        own = select(frame, topology=name)
        means = [spread(select(own, method=method)["accuracy"]).short() for method in methods_of(frame)]
        rows.append([name, int(own["p"].iloc[0]), *means])
    yield from markdown(["graph", "p", *methods_of(frame)], rows)


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Figure 5: both measures."""
    yield Figure("bnlearn", [bars(frame, "accuracy", "AncAcc"), bars(frame, "shd", "SHD")])


BNLEARN = Experiment(
    name="bnlearn",
    title="AncAcc and SHD on eight bnlearn graphs",
    paper="Figure 5",
    cells=cells,
    text=text,
    figures=figures,
)
