"""Gross errors and a site that lies: who stands what, and what it costs on clean rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import NamedTuple

import pandas as pd

from experiments.harness.cells import Cell, Scale, Value
from experiments.harness.experiment import Experiment
from experiments.pages.summary import markdown, select, spread
from experiments.tasks.baselines import BASELINES
from experiments.tasks.contamination import LIARS, SEARCH, contaminate, in_hard_regime
from experiments.tasks.recovery import paper_settings, recover
from experiments.tasks.regimes import BROKEN, REGIMES
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.evaluation.variants import Variant

HARD = tuple(regime for regime in REGIMES if regime not in BROKEN)
ROBUST = "fedrcd-r"
METHODS = (ROBUST, "fedrcd-s", "fedrcd-s[trim=8]", "fed-direct")
CENTRAL = ("lingam.DirectLiNGAM", "lingam.DirectLiNGAM[trim=8]")


class Spoiled(NamedTuple):
    """What is wrong with rows, how much, and in tables of which size."""

    kind: str
    amount: float = 0.0
    p: int = 10
    rows: int = 2000


ERRORS = (
    Spoiled("clean"),
    *(Spoiled("cells", share) for share in (0.001, 0.005, 0.01, 0.02, 0.05)),
    *(Spoiled("rows", share) for share in (0.01, 0.03, 0.1, 0.2, 0.3)),
    Spoiled("cells", 0.005, 20, 5000),
)
LYING = (
    *(Spoiled(kind, sites) for kind in LIARS if kind != "searched" for sites in (3, 5, 10)),
    Spoiled("turned", 10, 20, 20_000),
)
SEARCHED = tuple(Spoiled("searched", sites) for sites in (3, 5, 10))


def cells(scale: Scale) -> Iterator[Cell]:
    """Every way to spoil rows, then clean rows of the paper's setting, of few rows and of hard regimes."""
    for spoiled in (*ERRORS, *LYING, *SEARCHED):
        few = spoiled.p > 10 or spoiled.kind == "searched"
        for seed in range(scale.fewest if few else scale.fewer):
            for noise in NOISE_FAMILIES:
                data: dict[str, Value] = {**spoiled._asdict(), "noise": noise, "seed": seed}
                for method in METHODS:
                    yield Cell(contaminate, {**data, "method": method})
                for method in CENTRAL if seed == 0 and not few else ():
                    package = BASELINES[Variant.parse(method).method].package
                    yield Cell(contaminate, {**data, "method": method}, package)
    clean = [paper_settings(scale.seeds), paper_settings(scale.seeds, sites=1, rows=500)]
    for setting in [one for settings in clean for one in settings]:
        for method in METHODS[:2]:
            for scaling in (0.0, 1.0) if setting.sites > 1 else (1.0,):
                yield Cell(recover, {**asdict(setting), "scaling": scaling, "method": method})
    for regime in HARD:
        for seed in range(max(1, scale.seeds // 2)):
            for method in (ROBUST, "fedrcd-s", "direct-lingam"):
                yield Cell(in_hard_regime, {"regime": regime.name, "seed": seed, "method": method})


def text(frame: pd.DataFrame) -> Iterator[str]:
    """A table of errors, one of lies, one of clean rows."""
    spoiled = select(frame, task="contaminate")
    yield (
        "AncAcc on standardised data, mean ± standard error over data sets of eleven noise families; 10 sites, p = 10 "
        "and N = 2,000 unless said. Cells: values made thirty times as large. Rows: drawn from the model with every "
        "edge turned, ten times as large. `trim=8` leaves out rows with a value more than eight robust scales out. "
        "`lingam` works on stacked rows of the first seed.\n"
    )
    yield from _table(spoiled, ERRORS, "accuracy")
    yield (
        "One site of K lies, and has its share of the rows. Made up: rows of another model. Turned: those of the model "
        f"with every edge turned, standardised, or ten times that. Searched: the best of {SEARCH} tables against the "
        "method in that column, by somebody who knows the rows of all others.\n"
    )
    yield from _table(spoiled, (*LYING, *SEARCHED), "accuracy")
    yield "Share of the edges that the order turns, where a site lies.\n"
    yield from _table(spoiled, (*LYING, *SEARCHED), "turned")
    yield from _clean(frame)


def _clean(frame: pd.DataFrame) -> Iterator[str]:
    """What the robust method costs where nothing is wrong."""
    yield "Clean rows: the paper's setting, 500 rows in all, and the hard regimes (`experiments/tasks/regimes.py`).\n"
    rows = []
    paper = select(frame, task="recover")
    for words, own in (
        ("p = 20, N = 20,000, raw", select(paper, sites=10, scaling=0.0)),
        ("p = 20, N = 20,000, standardised", select(paper, sites=10, scaling=1.0)),
        ("p = 20, N = 500", select(paper, rows=500)),
        (f"{len(HARD)} hard regimes", select(frame, task="in_hard_regime")),
    ):
        cells = [spread(select(own, method=method)["accuracy"]) for method in (*METHODS[:2], "direct-lingam")]
        rows.append([words, *(cell.short(4) for cell in cells), cells[0].n])
    yield from markdown(["rows", *METHODS[:2], "direct-lingam", "data sets"], rows)
    hard = select(frame, task="in_hard_regime").pivot_table("accuracy", ["regime", "seed"], "method")
    difference = spread(hard[ROBUST] - hard["direct-lingam"])
    yield f"In the hard regimes {ROBUST} less direct-lingam is {difference.short(4)}.\n"


def _table(frame: pd.DataFrame, lines: tuple[Spoiled, ...], value: str) -> Iterator[str]:
    rows = []
    for line in lines:
        own = select(frame, **line._asdict())
        cells = [spread(select(own, method=method)[value]) for method in (*METHODS, *CENTRAL)]
        rows.append([_words(line), *(cell.short() for cell in cells), cells[0].n])
    yield from markdown(["what is wrong", *METHODS, *CENTRAL, "data sets"], rows)


def _words(line: Spoiled) -> str:
    if line.kind == "clean":
        words = "nothing"
    elif line.kind in LIARS:
        words = f"{line.kind}, one site of {line.amount:.0f}"
    else:
        words = f"{line.amount:.1%} of {line.kind}"
    return words if line.p == 10 else f"{words}; p = {line.p}, N = {line.rows:,}"


CONTAMINATION = Experiment(
    name="contamination",
    title="Gross errors and a site that lies",
    cells=cells,
    text=text,
)
