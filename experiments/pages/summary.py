"""Means with both their standard deviation and standard error, paired differences, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.harness.experiment import Plotted
from experiments.tasks.recovery import DATA
from fedrcd.data.simulate.noise import REGIMES

LEGEND = "mean ± standard error [standard deviation] over data sets"

REGIME_NAMES = ("symmetric", "skewed", "mixed")


class SeedSpread(NamedTuple):
    """A mean, how much single values vary, how much the mean does, and of how many values."""

    mean: float
    sd: float
    se: float
    n: int

    def words(self, digits: int = 3) -> str:
        """All but the number, for a table."""
        return self.short(digits) if self.n < 2 else f"{self.short(digits)} [{self.sd:.{digits}f}]"

    def short(self, digits: int = 3) -> str:
        """Mean and standard error."""
        if self.n < 2:
            return f"{self.mean:.{digits}f}" if self.n else "-"
        return f"{self.mean:.{digits}f} ± {self.se:.{digits}f}"


def spread(values: npt.ArrayLike) -> SeedSpread:
    """Summary of values, those that are missing left out."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if len(known) == 0:
        return SeedSpread(np.nan, np.nan, np.nan, 0)
    sd = float(known.std(ddof=1)) if len(known) > 1 else np.nan
    return SeedSpread(float(known.mean()), sd, sd / float(np.sqrt(len(known))), len(known))


class Difference(NamedTuple):
    """A mean of paired differences, its standard error, and of how many pairs."""

    mean: float
    se: float
    n: int

    @property
    def is_tie(self) -> bool:
        """Whether the mean is within two standard errors of zero."""
        return bool(abs(self.mean) <= 2 * self.se) or self.mean == 0

    def words(self, digits: int = 3) -> str:
        """The difference, and whether it is one."""
        if self.n < 2:
            return f"{self.mean:+.{digits}f}, one pair" if self.n else "-"
        tie = ", a tie" if self.is_tie else ""
        return f"{self.mean:+.{digits}f} ± {self.se:.{digits}f}{tie}"


def paired(
    frame: pd.DataFrame, one: Mapping[str, Any], other: Mapping[str, Any], value: str = "accuracy"
) -> Difference:
    """How much higher a value is in rows of one kind than in rows of another, over the data sets that both have.

    Parameters
    ----------
    frame : DataFrame
        Results.
    one, other : mapping
        Column by column what rows of each kind hold, e.g. ``{"method": "fedrcd-x", "scaling": 0.0}``.
    value : str
        The column to compare.
    """
    on = [name for name in DATA if name not in one]
    first, second = (_values(frame, kind, on, value) for kind in (one, other))
    both = first.index.intersection(second.index)
    summary = spread((first.loc[both] - second.loc[both]).to_numpy())
    return Difference(summary.mean, summary.se, summary.n)


def _values(frame: pd.DataFrame, kind: Mapping[str, Any], on: Sequence[str], value: str) -> pd.Series[float]:
    chosen = select(frame, **kind)
    keys = [" ".join(map(str, row)) for row in chosen[list(on)].itertuples(index=False)]
    return pd.Series(chosen[value].to_numpy(), index=pd.Index(keys))


def select(frame: pd.DataFrame, **kind: Any) -> pd.DataFrame:
    """The rows that hold these values."""
    keep = np.ones(len(frame), dtype=bool)
    for name, value in kind.items():
        column = frame[name]
        keep &= (column.isna() if value is None else column == value).to_numpy()
    return frame[keep]


def in_regime(frame: pd.DataFrame, regime: str) -> pd.DataFrame:
    """The rows whose noise belongs to a regime; to any, for `all`."""
    return frame if regime == "all" else frame[frame["noise"].isin(REGIMES[regime])]


def data_sets(frame: pd.DataFrame) -> int:
    """How many data sets the most tried method has seen."""
    return int(frame["method"].value_counts().max()) if len(frame) else 0


def methods_of(frame: pd.DataFrame) -> list[str]:
    """Methods in the order of the results."""
    return list(dict.fromkeys(frame["method"]))


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A table, and an empty line after it."""
    yield "| " + " | ".join(header) + " |"
    yield "|---" * len(header) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def chain(frame: pd.DataFrame, order: Sequence[str], value: str = "accuracy") -> Iterator[Sequence[str]]:
    """Rows for a table: each method against the next, by regime of raw data."""
    for better, worse in pairwise(order):
        cells = [
            paired(in_regime(frame, regime), {"method": better}, {"method": worse}, value).words()
            for regime in (*REGIME_NAMES, "all")
        ]
        yield [f"{better} - {worse}", *cells]


def regime_table(frame: pd.DataFrame, value: str = "accuracy", digits: int = 3) -> Iterator[str]:
    """A line per method, a column per noise regime."""
    rows = []
    for method in methods_of(frame):
        own = select(frame, method=method)
        cells = [spread(in_regime(own, regime)[value]) for regime in (*REGIME_NAMES, "all")]
        rows.append([method, *(cell.words(digits) for cell in cells), cells[-1].n])
    yield from markdown(["method", *REGIME_NAMES, "all families", "data sets"], rows)


def curves(frame: pd.DataFrame, methods: Sequence[str], x: str, value: str = "accuracy") -> list[Plotted]:
    """A line per method against a numeric column, with standard errors."""
    lines = []
    for method in methods:
        own = select(frame, method=method)
        places = sorted({float(at) for at in own[x]})
        points = [spread(own[own[x] == at][value]) for at in places]
        lines.append(Plotted(method, places, [point.mean for point in points], [point.se for point in points]))
    return lines
