"""Cells: the units of work of an experiment."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

from fedrcd.evaluation.variants import Variant

Value: TypeAlias = str | int | float | bool | None
Row: TypeAlias = dict[str, Value]
Task: TypeAlias = Callable[..., Sequence[Row]]
"""A function at the top of a module that measures one cell: settings by keyword, one or more rows back.

Rows depend on settings only. What a rerun does not repeat, times, goes into columns whose names end in `seconds`.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One measurement: what is measured, with which settings, and the package it needs beyond our own, if any.

    `uses` names methods that the task runs parts of, besides the one in its settings.
    """

    task: Task
    settings: Mapping[str, Value]
    needs: str = ""
    uses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the task."""
        return self.task.__name__

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits that identify task and settings."""
        return digest([self.name, dict(self.settings)])

    @property
    def is_possible(self) -> bool:
        """Whether the package it needs is installed."""
        return not self.needs or find_spec(self.needs) is not None

    def depends_on(self, method: str) -> bool:
        """Whether what is measured may change when a method does."""
        named = self.settings.get("method")
        return method in self.uses or (isinstance(named, str) and Variant.parse(named).method == method)

    def measure(self) -> list[Row]:
        """Do the work."""
        return list(self.task(**self.settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much of an experiment to run: the paper's whole grid or a small one, and how many seeds."""

    full: bool = False
    seeds: int = 2

    @classmethod
    def parse(cls, words: str) -> Scale:
        """A scale from its words."""
        found = re.fullmatch(r"(the paper's grid|the small grid), (\d+) seeds?", words)
        if found is None:
            raise ValueError(f"a scale reads like '{cls().words}', got {words!r}")
        return cls(full=found[1] == cls(full=True).grid, seeds=int(found[2]))

    @property
    def grid(self) -> str:
        """In words, which grid it is."""
        return "the paper's grid" if self.full else "the small grid"

    @property
    def words(self) -> str:
        """The grid and the number of seeds, as results record them."""
        return f"{self.grid}, {self.seeds} seed{'s' * (self.seeds != 1)}"

    @property
    def fewer(self) -> int:
        """Seeds where data sets are costly: a fifth, unless everything is wanted."""
        return self.seeds if self.full else max(1, self.seeds // 5)

    @property
    def fewest(self) -> int:
        """Seeds where data sets are costlier still."""
        return self.seeds if self.full else max(1, self.seeds // 10)

    @property
    def slow(self) -> int:
        """Seeds for baselines that are slow: one, or three if everything is wanted."""
        return min(3, self.seeds) if self.full else 1


QUICK, FULL = Scale(), Scale(full=True, seeds=10)


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of a value that JSON can write."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def fingerprint(cells: Sequence[Cell]) -> str:
    """Digits that identify a list of cells, whatever their order."""
    return digest(sorted(cell.key for cell in cells))
