"""Rounds, bytes and times measured, and how they grow [P, Table 1]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from experiments.harness.cells import Cell, Scale, Value
from experiments.harness.experiment import Experiment, Figure, Panel, Plotted
from experiments.pages.summary import markdown, methods_of, select, spread
from experiments.tasks.costs import cost
from experiments.tasks.recovery import recovery_cells
from fedrcd.evaluation import paper
from fedrcd.evaluation.evaluate import DataSetting

ONE_ROUND = ("fedhc", "fedishc", "fedishc-tau4", "fedrcd-ni", "fedrcd-def")
MANY_ROUNDS = ("fedrcd-x", "fedrcd-sx", "fed-direct")
TENSORS = ("fedrcd-t", "fedrcd-s")
SIZES = {**dict.fromkeys(ONE_ROUND, (20, 40, 80, 160)), **dict.fromkeys(MANY_ROUNDS + TENSORS, (10, 20, 40, 60))}
ROWS, SITES = 1000, 2
MORE_ROWS = (1000, 4000, 16_000)
KERNEL_ROWS = (100, 200, 300)
"""The kernel measure of the `lingam` package takes memory and time that grow with the square and cube of rows."""


def cells(scale: Scale) -> Iterator[Cell]:
    """Our methods over p and over rows, and DirectLiNGAM with the kernel measure at p = 10."""
    repetitions = 5 if scale.full else 3
    for method, sizes in SIZES.items():
        for p in sizes:
            yield _cell(method, p, ROWS, repetitions)
        for rows in MORE_ROWS[1:]:
            yield _cell(method, 20, rows, repetitions)
    for rows in KERNEL_ROWS:
        settings = [DataSetting(noise="laplace", seed=0, p=10, sites=1, rows=rows)]
        yield from recovery_cells(settings, ("lingam.DirectLiNGAM, kernel", "lingam.DirectLiNGAM", "fed-direct"))


def _cell(method: str, p: int, rows: int, repetitions: int) -> Cell:
    settings: dict[str, Value] = {
        "method": method,
        "p": p,
        "rows": rows,
        "sites": SITES,
        "seed": 0,
        "repetitions": repetitions,
    }
    return Cell(cost, settings)


def text(frame: pd.DataFrame) -> Iterator[str]:
    """Measured costs at one size, fitted exponents beside the paper's, and the kernel row."""
    costs = select(frame, task="cost")
    yield (
        f"{SITES} sites of {ROWS} rows; processor seconds of one site and of the coordinator up to the order, least of "
        "several runs, one thread. At p = 20:\n"
    )
    rows = []
    for method in methods_of(costs):
        own = select(costs, method=method, p=20, rows=ROWS).iloc[0]
        times = [f"{1e3 * own[name]:.2f}" for name in ("site_seconds", "coordinator_seconds")]
        rows.append(
            [method, int(own["rounds"]), f"{own['bytes_per_round']:,.0f}", f"{own['bytes_per_site']:,.0f}", *times]
        )
    yield from markdown(["method", "rounds", "bytes a round", "bytes in all", "site, ms", "coordinator, ms"], rows)
    yield "Exponents of p, fitted to the three largest p; what the paper's Table 1 prints stands before the colon:\n"
    yield from markdown(
        ["method", "p", "rounds", "bytes a round", "site time", "coordinator time", "site time, exponent of rows"],
        (_exponents(costs, method) for method in methods_of(costs)),
    )
    yield (
        "Fitted exponents lie below the printed ones where overheads that do not grow still count, and where work is "
        "bound by memory. For X the paper prints the coordinator's cost of one round and the site's of all rounds; the "
        "fit is over all rounds for both. The adaptive lasso after the order is common to all methods and left out.\n"
    )
    yield from _kernel(select(frame, task="recover"))


def _exponents(costs: pd.DataFrame, method: str) -> list[str]:
    by_p = select(costs, method=method, rows=ROWS).sort_values("p")
    by_rows = select(costs, method=method, p=20).sort_values("rows")
    printed = paper.COMPLEXITY.get(method)
    fitted = [_exponent(by_p, "p", name) for name in ("bytes_per_round", "site_seconds", "coordinator_seconds")]
    claims = (
        ["", "", ""] if printed is None else [f"{n}: " for n in (printed.payload, printed.site, printed.coordinator)]
    )
    largest = by_p.iloc[-1]
    rounds = "1" if largest["rounds"] == 1 else "p - 1" if largest["rounds"] == largest["p"] - 1 else "p"
    beside = "" if printed is None else f"{printed.rounds}: "
    sizes = f"{int(by_p['p'].iloc[-3])} to {int(largest['p'])}"
    cells = [f"{claim}{value:.1f}" for claim, value in zip(claims, fitted, strict=True)]
    return [method, sizes, f"{beside}{rounds}", *cells, f"{_exponent(by_rows, 'rows', 'site_seconds'):.1f}"]


def _exponent(frame: pd.DataFrame, x: str, y: str) -> float:
    """Slope of log y on log x over the last three points."""
    own = frame.iloc[-3:]
    return float(np.polyfit(np.log(own[x].astype(float)), np.log(own[y].astype(float)), 1)[0])


def _kernel(frame: pd.DataFrame) -> Iterator[str]:
    """DirectLiNGAM as in the paper's first row."""
    rows = []
    for method in methods_of(frame):
        own = select(frame, method=method).sort_values("rows")
        if len(own) == len(KERNEL_ROWS):
            seconds = [f"{value:.2f}" for value in own["processor_seconds"]]
            rows.append(
                [
                    method,
                    *seconds,
                    f"{_exponent(own, 'rows', 'processor_seconds'):.1f}",
                    spread(own["accuracy"]).short(2),
                ]
            )
    yield "DirectLiNGAM with the kernel measure, the paper's first row; one table, p = 10, processor seconds:\n"
    header = ["method", *(f"{rows} rows" for rows in KERNEL_ROWS), "exponent of rows", "AncAcc"]
    yield from markdown(header, rows)


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Times and bytes against p."""
    costs = select(frame, task="cost", rows=ROWS)
    panels = []
    for title, name, factor in (
        ("bytes a round", "bytes_per_round", 1.0),
        ("site, ms", "site_seconds", 1e3),
        ("coordinator, ms", "coordinator_seconds", 1e3),
    ):
        series = []
        for method in methods_of(costs):
            own = select(costs, method=method).sort_values("p")
            values = (own[name] * factor).tolist()
            series.append(Plotted(method, own["p"].astype(float).tolist(), values, [0.0] * len(own)))
        panels.append(Panel(title=title, x="p", y=title, series=series, log_x=True, log_y=True))
    yield Figure("complexity", panels)


COMPLEXITY = Experiment(
    name="complexity",
    title="Rounds, bytes, site and coordinator time, with fitted exponents",
    paper="Table 1",
    cells=cells,
    text=text,
    figures=figures,
)
