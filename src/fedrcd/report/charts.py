"""The charts of a page, as SVG that takes its colours from the page: total effects, variances, orders."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np

from fedrcd.report.drawing import label
from fedrcd.report.result import number, relative
from fedrcd.typing import Matrix

NAMED = 60
"""Variables up to which charts carry all names."""
CELL = 26
SMALL_CELL = 9
SHADES = 12
ROW = 19
SMALL_ROW = 13
LINES = 110
"""Width between two columns of names."""


TOTALS = "Heat map of total effects: columns are causes, rows are effects, both in causal order"


def heat_map(totals: Matrix, shown: Matrix, names: Sequence[str], title: str = TOTALS) -> str:
    """Total or other effects along the order: a cell per cause (column) and effect (row), the stronger the more colour.

    Parameters
    ----------
    totals : (p, p) array
        Effects in units of the data, rows and columns in causal order.
    shown : (p, p) array
        What the colours show.
    names : (p,) sequence of str
        In causal order.
    title : str
        What it shows.
    """
    named = len(names) <= NAMED
    cell = max(CELL, min(44, 420 // len(names))) if named else SMALL_CELL
    labels = [label(name) for name in names]
    margin = 8 * max(map(len, labels)) + 14 if named else 8
    side = margin + cell * len(names) + 2
    shares = relative(shown)
    parts = [_open(side, side, title)]
    if named:
        for i, text in enumerate(map(escape, labels)):
            middle = margin + cell * i + cell / 2 + 4
            parts.append(f'<text x="{margin - 6}" y="{middle:.0f}" text-anchor="end">{text}</text>')
            parts.append(f'<text transform="translate({middle:.0f},{margin - 6}) rotate(-90)">{text}</text>')
    extent = cell * len(names)
    parts.append(f'<rect class="frame" x="{margin}" y="{margin}" width="{extent}" height="{extent}"/>')
    parts += _named_cells(totals, shares, names, margin, cell) if named else _cells(totals, shares, margin)
    return "".join([*parts, "</svg>"])


def _named_cells(totals: Matrix, shares: Matrix, names: Sequence[str], margin: int, cell: int) -> list[str]:
    """A square per total effect, which tells it when pointed at."""
    return [
        f'<rect class="{_sign(totals[i, j])}" x="{margin + cell * j}" y="{margin + cell * i}" '
        f'width="{cell - 1}" height="{cell - 1}" fill-opacity="{0.12 + 0.88 * shares[i, j]:.2f}">'
        f"<title>{escape(f'{names[j]} → {names[i]}: {number(totals[i, j])}')}</title></rect>"
        for i, j in np.argwhere(totals).tolist()
    ]


def _cells(totals: Matrix, shares: Matrix, margin: int) -> list[str]:
    """All squares of one sign and shade as one path: thousands of elements would make a page slow."""
    paths: dict[tuple[str, int], list[str]] = {}
    for i, j in np.argwhere(totals).tolist():
        shade = _sign(totals[i, j]), int(np.ceil(shares[i, j] * SHADES))
        corner = f"M{margin + SMALL_CELL * j} {margin + SMALL_CELL * i}"
        paths.setdefault(shade, []).append(f"{corner}h{SMALL_CELL - 1}v{SMALL_CELL - 1}h-{SMALL_CELL - 1}z")
    return [
        f'<path class="{sign}" fill-opacity="{0.12 + 0.88 * shade / SHADES:.2f}" d="{"".join(squares)}"/>'
        for (sign, shade), squares in paths.items()
    ]


def _sign(value: float) -> str:
    return "positive" if value > 0 else "negative"


def variance_ladder(variances: Sequence[float], names: Sequence[str]) -> str:
    """Variances along the order, on a logarithmic axis: rungs that only rise are a ladder.

    Parameters
    ----------
    variances : (p,) sequence of float
        In causal order.
    names : (p,) sequence of str
        In causal order.
    """
    logs = np.log10(np.asarray(variances, dtype=np.float64))
    low, high = float(np.floor(logs.min())), float(np.ceil(logs.max()))
    high = high if high > low else low + 1
    step = max(10.0, min(64.0, 760 / len(names)))
    labels = [label(name) for name in names]
    named = len(names) <= NAMED
    left, top, height = 52, 14, 200
    bottom = top + height + (7.2 * max(map(len, labels)) * 0.71 + 22 if named else 18)
    width = left + step * len(names) + 40
    parts = [_open(width, bottom, "Variance of each variable along the causal order, logarithmic axis")]
    for power in _ticks(low, high):
        y = top + height * (1 - (power - low) / (high - low))
        parts.append(f'<line class="grid" x1="{left}" x2="{width - 20}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">1e{power:+d}</text>')
    points = [
        (left + step * (k + 0.5), top + height * (1 - (value - low) / (high - low))) for k, value in enumerate(logs)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<polyline class="rungs" points="{path}"/>')
    for (x, y), name, text, variance in zip(points, names, labels, variances, strict=True):
        words = escape(f"{name}: variance {number(variance)}")
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{words}</title></circle>')
        if named:
            place = f"translate({x - 3:.1f},{top + height + 14}) rotate(45)"
            parts.append(f'<text transform="{place}">{escape(text)}</text>')
    return "".join([*parts, "</svg>"])


def order_chart(columns: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Several orders of the same variables side by side, with a line for every variable; level lines agree."""
    p = len(columns[0][1])
    row, size = (ROW, 12) if p <= NAMED else (SMALL_ROW, 9)
    names = max(len(label(name)) for name in columns[0][1])
    titles = max(len(title) for title, _ in columns)
    column = max(0.62 * size * names, 7.6 * titles) + 16
    step = column + LINES
    parts = [
        _open(
            step * len(columns) - LINES,
            34 + row * p,
            "Orders side by side: " + ", ".join(title for title, _ in columns),
        )
    ]
    for k, (title, order) in enumerate(columns):
        middle = k * step + column / 2
        parts.append(f'<text class="heading" x="{middle:.0f}" y="14" text-anchor="middle">{escape(title)}</text>')
        for i, name in enumerate(order):
            place = f'x="{middle:.0f}" y="{38 + row * i}" text-anchor="middle" style="font-size:{size}px"'
            parts.append(f"<text {place}>{escape(label(name))}</text>")
    for k, ((_, before), (_, after)) in enumerate(pairwise(columns), 1):
        was = {name: i for i, name in enumerate(before)}
        for i, name in enumerate(after):
            moved = "still" if was[name] == i else "moved"
            parts.append(
                f'<line class="{moved}" x1="{k * step - LINES:.0f}" x2="{k * step:.0f}" '
                f'y1="{34 + row * was[name]}" y2="{34 + row * i}"/>'
            )
    return "".join([*parts, "</svg>"])


def _open(width: float, height: float, title: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="{escape(title)}">'
    )


def _ticks(low: float, high: float) -> range:
    """At most eight powers of ten from `low` to `high`."""
    return range(int(low), int(high) + 1, max(1, int(np.ceil((high - low) / 8))))
