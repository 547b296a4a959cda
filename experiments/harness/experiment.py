"""What an experiment is: cells to measure, a text made of the results, figures drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from experiments.harness.cells import QUICK, Cell, Scale


@dataclass(frozen=True, slots=True)
class Plotted:
    """Points with error bars, one method's as a rule."""

    label: str
    x: list[str] | list[float]
    y: list[float]
    error: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One set of axes."""

    title: str
    x: str
    y: str
    series: list[Plotted]
    kind: Literal["bars", "lines"] = "lines"
    log_x: bool = False
    log_y: bool = False
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels side by side, under the name of the file they go to."""

    name: str
    panels: list[Panel]


def no_figures(frame: pd.DataFrame) -> Iterator[Figure]:  # noqa: ARG001
    """For experiments whose results are tables."""
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A question, how it is measured and how the answer is told.

    `text` yields lines of Markdown. `paper` says which table or figure of the paper it repeats, if any.
    """

    name: str
    title: str
    paper: str = ""
    cells: Callable[[Scale], Iterable[Cell]]
    text: Callable[[pd.DataFrame], Iterator[str]]
    figures: Callable[[pd.DataFrame], Iterator[Figure]] = field(default=no_figures)

    def tasks_with(self, method: str) -> set[str]:
        """Names of the tasks that measure a method or run parts of it."""
        return {cell.name for cell in self.cells(QUICK) if cell.depends_on(method)}
