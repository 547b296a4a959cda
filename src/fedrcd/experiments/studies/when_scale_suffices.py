"""When variance stratification is enough: the paper's first open question."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fedrcd.experiments.cells import Cell, Scale
from fedrcd.experiments.experiment import Experiment, Figure, Panel, Series
from fedrcd.experiments.recovery import paper_settings, recovery_cells
from fedrcd.experiments.summary import Spread, data_sets, markdown, select, spread

SCALINGS = (0.0, 0.5, 0.75, 0.85, 0.95, 1.0)
SPREADS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e6)
METHODS = ("fedrcd-x", "fedrcd-ni", "fedhc", "fedrcd-def", "fedishc", "fedrcd-s")
BASELINE = "variance sort"
LEVEL = 0.95


def cells(scale: Scale) -> Iterator[Cell]:
    """The paper's data, rescaled more and more; and raw data whose noise differs in size more and more."""
    yield from recovery_cells(paper_settings(scale.fewer), (*METHODS, BASELINE), scalings=SCALINGS)
    for size in SPREADS:
        yield from recovery_cells(paper_settings(scale.fewer, spread=size), (*METHODS, BASELINE))


def text(frame: pd.DataFrame) -> Iterator[str]:
    """Accuracy against varsortability, for both ways of lowering it."""
    yield (
        "AncAcc over all noise families, mean ± standard error; p = 20, 10 sites of 2000 rows. Varsortability is "
        "lowered by dividing each variable by a power of its sd (0 raw, 1 standardised), which changes nothing but "
        "units; or by drawing the noise's sds from a wider log-uniform range, which changes the model.\n"
    )
    for name, column, values in _ways(frame):
        rows = []
        for value, own in values:
            v = spread(select(own, method="fedrcd-x")["varsortability"])
            means = [spread(select(own, method=method)["accuracy"]).short() for method in (*METHODS, BASELINE)]
            rows.append([f"{value:g}", v.short(2), *means])
        yield f"{name}:\n"
        yield from markdown([column, "varsortability", *METHODS, BASELINE], rows)
        yield f"Data sets by line: {', '.join(str(data_sets(own)) for _, own in values)}.\n"
    yield from _answers(frame)


def _ways(frame: pd.DataFrame) -> Iterator[tuple[str, str, list[tuple[float, pd.DataFrame]]]]:
    """The two ways, and the rows of every value of each."""
    rescaled, generated = select(frame, spread=None), frame[frame["spread"].notna()]
    yield "By rescaling", "power of sd", [(value, select(rescaled, scaling=value)) for value in SCALINGS]
    yield (
        "By data generation",
        "largest / smallest noise sd",
        [(value, select(generated, spread=value)) for value in SPREADS],
    )


def _points(values: list[tuple[float, pd.DataFrame]], method: str) -> list[tuple[float, Spread]]:
    """Varsortability and accuracy of a method, by ascending varsortability."""
    points = []
    for _, own in values:
        mine = select(own, method=method)
        if len(mine):
            points.append((float(mine["varsortability"].mean()), spread(mine["accuracy"])))
    return sorted(points, key=lambda point: point[0])


def _answers(frame: pd.DataFrame) -> Iterator[str]:
    """The least varsortability at which a method still reaches the level."""
    rows = []
    for method in (*METHODS, BASELINE):
        cells = []
        for _, _, values in _ways(frame):
            enough = np.inf
            for v, accuracy in reversed(_points(values, method)):
                if accuracy.mean < LEVEL:
                    break
                enough = v
            cells.append("at no point tried" if np.isinf(enough) else f"{enough:.2f}")
        rows.append([method, *cells])
    yield f"Least mean varsortability tried down to which the mean AncAcc stays at {LEVEL} or above:\n"
    yield from markdown(["method", "by rescaling", "by data generation"], rows)


def figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Accuracy against varsortability."""
    panels = []
    for name, _, values in _ways(frame):
        series = []
        for method in (*METHODS, BASELINE):
            points = _points(values, method)
            if points:
                x, y = [v for v, _ in points], [one.mean for _, one in points]
                series.append(Series(method, x, y, [one.se for _, one in points]))
        panels.append(Panel(title=name.lower(), x="varsortability", y="AncAcc", series=series, limits=(0.3, 1.02)))
    yield Figure("when-scale-suffices", panels)


WHEN_SCALE_SUFFICES = Experiment(
    name="when-scale-suffices",
    title="AncAcc against varsortability, lowered by rescaling and by data generation",
    cells=cells,
    text=text,
    figures=figures,
)
