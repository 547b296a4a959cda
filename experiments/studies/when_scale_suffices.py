"""When variance stratification is enough: the paper's first open question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import pandas as pd

from experiments.harness.cells import Cell, Scale
from experiments.harness.experiment import Experiment, Figure, Panel, Plotted
from experiments.pages.summary import SeedSpread, data_sets, markdown, select, spread
from experiments.tasks.recovery import paper_settings, recovery_cells
from experiments.tasks.stretching import TOP, stretch

AMOUNTS = {"units": (0.0, 0.05, 0.1, 0.2, 0.5, 5.0), "generation": (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)}
SCALINGS = (0.0, 0.5, 0.75, 0.85, 0.95, 1.0)
METHODS = ("fedrcd-x", "fedrcd-ni", "fedhc", "fedrcd-def", "fedishc", "fedrcd-s")
SORT = "variance sort"
LEVEL = 0.95


def cells(scale: Scale) -> Iterator[Cell]:
    """Varsortability lowered by a choice of units and by data generation; and the same order of variances, flatter."""
    settings = paper_settings(scale.fewer)
    for way, amounts in AMOUNTS.items():
        for setting in settings:
            for amount in amounts:
                for method in METHODS:
                    yield Cell(stretch, {**asdict(setting), "way": way, "amount": amount, "method": method})
    yield from recovery_cells(settings, METHODS, scalings=SCALINGS)


def text(frame: pd.DataFrame) -> Iterator[str]:
    """Accuracy against varsortability, and against the height of the ladder."""
    stretched, flattened = select(frame, task="stretch"), select(frame, task="recover")
    yield (
        "AncAcc over all noise families, mean ± standard error; p = 20, 10 sites of 2000 rows. `variance sort` orders "
        "by variance alone.\n"
    )
    yield (
        f"By rescaling: standardised variables in units that make their sds climb from 1 to {TOP:g} along a true "
        "order, disturbed more and more:\n"
    )
    yield from _table(stretched, "units", "disturbance")
    yield (
        "By data generation: each variable is divided by a power of its sd before its effects get it; the last line is "
        "an internally standardised model:\n"
    )
    yield from _table(stretched, "generation", "power of sd")
    yield from _answers(stretched)
    yield (
        "Varsortability alone does not decide. Here every variable is divided by a power of its sd, which keeps the "
        "order of the variances, and so varsortability, up to the last line, and only makes the ladder flatter:\n"
    )
    rows = []
    for scaling in SCALINGS:
        own = select(flattened, scaling=scaling)
        v = spread(select(own, method=METHODS[0])["varsortability"])
        rows.append([f"{scaling:g}", v.short(2), *(_accuracy(own, method).short() for method in METHODS)])
    yield from markdown(["power of sd", "varsortability", *METHODS], rows)
    yield f"Data sets by line: {data_sets(select(flattened, scaling=0.0))}.\n"


def _table(frame: pd.DataFrame, way: str, column: str) -> Iterator[str]:
    rows = []
    for amount in AMOUNTS[way]:
        own = select(frame, way=way, amount=amount)
        v = spread(select(own, method=METHODS[0])["varsortability"])
        means = [_accuracy(own, method).short() for method in (*METHODS, SORT)]
        rows.append([f"{amount:g}", v.short(2), *means])
    yield from markdown([column, "varsortability", *METHODS, SORT], rows)
    yield f"Data sets by line: {data_sets(select(frame, way=way, amount=AMOUNTS[way][0]))}.\n"


def _accuracy(frame: pd.DataFrame, method: str) -> SeedSpread:
    if method == SORT:
        return spread(select(frame, method=METHODS[0])["sorted_accuracy"])
    return spread(select(frame, method=method)["accuracy"])


def _points(frame: pd.DataFrame, way: str, method: str) -> list[tuple[float, SeedSpread]]:
    """Varsortability and accuracy of a method, by ascending varsortability."""
    points = []
    for amount in AMOUNTS[way]:
        own = select(frame, way=way, amount=amount)
        points.append((float(own["varsortability"].mean()), _accuracy(own, method)))
    return sorted(points, key=lambda point: point[0])


def _answers(frame: pd.DataFrame) -> Iterator[str]:
    """The least varsortability at which a method still reaches the level."""
    rows = []
    for method in (*METHODS, SORT):
        answers = []
        for way in AMOUNTS:
            enough = np.inf
            for v, accuracy in reversed(_points(frame, way, method)):
                if accuracy.mean < LEVEL:
                    break
                enough = v
            answers.append("at no point tried" if np.isinf(enough) else f"{enough:.2f}")
        rows.append([method, *answers])
    yield f"Least mean varsortability tried down to which the mean AncAcc stays at {LEVEL} or above:\n"
    yield from markdown(["method", "by rescaling", "by data generation"], rows)


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Accuracy against varsortability."""
    stretched = select(frame, task="stretch")
    panels = []
    for way, title in (("units", "by rescaling"), ("generation", "by data generation")):
        series = []
        for method in (*METHODS, SORT):
            points = _points(stretched, way, method)
            x, y = [v for v, _ in points], [one.mean for _, one in points]
            series.append(Plotted(method, x, y, [one.se for _, one in points]))
        panels.append(Panel(title=title, x="varsortability", y="AncAcc", series=series, limits=(0.2, 1.02)))
    yield Figure("when-scale-suffices", panels)


WHEN_SCALE_SUFFICES = Experiment(
    name="when-scale-suffices",
    title="AncAcc against varsortability, lowered by rescaling and by data generation",
    cells=cells,
    text=text,
    figures=figures,
)
