r"""Whether a variable can be the same quantity here as elsewhere, by its level and its spread.

Rows of one site are described by median m and two spreads, the robust one r and the standard deviation s; what is
expected by a centre c and a scale t: a declared frame, or the rows of other sites. They cannot be the same quantity if

.. math:: |m - c| > 5 \max(t, r), \quad\text{or}\quad \min(r, s) > 5 t, \quad\text{or}\quad \max(r, s) < t / 5.

Two spreads, because heavy tails draw them apart: the scale of a frame is a standard deviation, often a wide one. A
factor such as 0.45 is less than that and still turns edges round. So known conversions are tried too: values that lie
two scales off, and fit once they are converted, are taken for another unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

import numpy as np

from fedrcd.statistics.frame import Frame, exact_moments, robust_frame, width_of
from fedrcd.statistics.order_statistics import Counted, Stream, count_values
from fedrcd.typing import Vector

FAR = 5.0
"""Scales by which levels may differ, and the factor by which spreads may."""

NEAR = 2.0
"""Scales off from which another unit is thought of; within half of that, values must fit once they are converted."""


class Mismatch(StrEnum):
    """In what a variable cannot be the same quantity: one word, no figure."""

    UNIT = "unit"
    LEVEL = "level"
    SPREAD = "spread"


class Described(NamedTuple):
    """Median, robust scale and standard deviation of every variable."""

    median: Vector
    robust: Vector
    deviation: Vector


class Conversion(NamedTuple):
    """Values are `factor` times the expected quantity plus `offset`; `name` says what that is, for people."""

    name: str
    factor: float
    offset: float = 0.0

    def undone(self, value: float) -> float:
        """A value in the unit that was expected."""
        return (value - self.offset) / self.factor


class Unlike(NamedTuple):
    """A variable that cannot be the same quantity: its place, in what it differs, and what people there should know."""

    variable: int
    mismatch: Mismatch
    explanation: str


UNITS: tuple[tuple[str, str, float, float], ...] = (
    ("pounds", "kilograms", 2.20462, 0.0),
    ("inches", "centimetres", 1 / 2.54, 0.0),
    ("feet", "metres", 3.28084, 0.0),
    ("degrees Fahrenheit", "degrees Celsius", 1.8, 32.0),
    ("kelvin", "degrees Celsius", 1.0, 273.15),
    ("mmHg", "kPa", 7.50062, 0.0),
    ("kilojoules", "kilocalories", 4.184, 0.0),
    ("mg/dl of glucose", "mmol/l", 18.016, 0.0),
    ("mg/dl of cholesterol", "mmol/l", 38.67, 0.0),
    ("mg/dl of creatinine", "µmol/l", 1 / 88.42, 0.0),
    ("HbA1c in mmol/mol", "percent", 10.929, -23.5),
    ("months", "years", 12.0, 0.0),
    ("days", "years", 365.25, 0.0),
    ("days", "months", 30.44, 0.0),
    ("days", "weeks", 7.0, 0.0),
    ("hours", "days", 24.0, 0.0),
    ("minutes", "hours", 60.0, 0.0),
)
"""Units that tables are mixed up in: values in the first are so many times those in the second, plus an offset."""

CONVERSIONS = tuple(
    chain(
        (Conversion(f"{one} in place of {other}", factor, offset) for one, other, factor, offset in UNITS),
        (
            Conversion(f"{other} in place of {one}", 1 / factor, -offset / factor)
            for one, other, factor, offset in UNITS
        ),
        (Conversion(f"{10**k:,} times the expected unit", float(10**k)) for k in (1, 2, 3, 6, 9)),
        (Conversion(f"1/{10**k:,} of the expected unit", 1 / 10**k) for k in (1, 2, 3, 6, 9)),
    )
)


def described(stream: Stream, counted: Counted | None = None) -> Described:
    """Median and spreads of some rows, whatever their order; missing values, NaN, are passed over.

    What is `counted` already saves a pass.
    """
    counted = counted or count_values(stream, width_of(stream))
    robust = robust_frame([stream], counted=[counted])
    farthest = np.maximum(0.0, np.maximum(counted.high - robust.centre, robust.centre - counted.low))
    return Described(robust.centre, robust.scale, exact_moments(stream, robust, farthest).scale)


def unlike(own: Described, expected: Frame) -> Iterator[Unlike]:
    """The variables that cannot be the same quantity as was expected, each once."""
    for j, (median, robust, deviation) in enumerate(zip(*own, strict=True)):
        centre, scale = float(expected.centre[j]), float(expected.scale[j])
        found = _mismatch(float(median), sorted((float(robust), float(deviation))), centre, scale)
        if found is not None:
            yield Unlike(j, *found)


def odd_ones(sites: Sequence[Described]) -> Iterator[tuple[int, Unlike]]:
    """Sites, by their place, with variables that cannot be the same quantity as at the median site; NaN is no value.

    With two sites nobody knows which of them is odd, so each is compared with the other.
    """
    levels, spreads = np.stack([one.median for one in sites]), np.stack([one.deviation for one in sites])
    holders = np.isfinite(levels).sum(axis=0)
    for place, own in enumerate(sites):
        others = np.delete(np.arange(len(sites)), place)
        of_all, of_others = (
            [np.array([_median(table[chosen, j]) for j in range(len(holders))]) for table in (levels, spreads)]
            for chosen in (np.arange(len(sites)), others)
        )
        centre, scale = (np.where(holders > 2, one, two) for one, two in zip(of_all, of_others, strict=True))
        usable = np.isfinite(centre) & (scale > 0)
        expected = Frame(np.where(usable, centre, 0.0), np.where(usable, scale, 1.0))
        yield from ((place, found) for found in unlike(own, expected) if usable[found.variable])


def _median(values: Vector) -> float:
    """The median of the values that are there; NaN where there is none."""
    there = values[np.isfinite(values)]
    return float(np.median(there)) if len(there) else float("nan")


def _mismatch(median: float, spreads: Sequence[float], centre: float, scale: float) -> tuple[Mismatch, str] | None:
    """In what a variable differs, and the likely reason in words; None if it fits."""
    low, high = spreads
    shift = abs(median - centre)
    far_spread = low > FAR * scale or high < scale / FAR
    far_level = shift > FAR * max(scale, low)
    conversion = _fitting(median, spreads, centre, scale) if far_spread or shift > NEAR * scale else None
    if conversion is not None:
        factor, offset = conversion.factor, f" and {conversion.offset:+.4g}" if conversion.offset else ""
        return Mismatch.UNIT, f"values look like {conversion.name} (times {factor:.4g}{offset})"
    if far_spread:
        return Mismatch.SPREAD, f"its spread is about {high / scale:.2g} times the expected one"
    if far_level:
        return Mismatch.LEVEL, f"its level is about {shift / scale:.2g} scales from the expected one"
    return None


def _fitting(median: float, spreads: Sequence[float], centre: float, scale: float) -> Conversion | None:
    """The known conversion after which values fit best, if after any they do."""
    best, least = None, 1.0
    for one in CONVERSIONS:
        level = abs(one.undone(median) - centre) / scale
        low, high = (spread / one.factor / scale for spread in spreads)
        nearest = min(max(1.0, low), high)  # where the expected spread lies between the two, it fits
        misfit = level / NEAR + abs(np.log2(nearest)) / NEAR
        if misfit < least:
            best, least = one, float(misfit)
    return best
