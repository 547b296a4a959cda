"""A curve with its lowest points below it, as an SVG file that stands by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT, MARGIN = 480.0, 300.0, 48.0
COLOUR, PALE = "#1f5fa8", "#9db8d6"


class Point(NamedTuple):
    """A place along the x axis, which is logarithmic, with a mean and the lowest of some shares."""

    x: float
    mean: float
    lowest: float


def curve_svg(points: Sequence[Point], title: str, x: str, y: str) -> str:
    """The curve of means, a line down to the lowest share at each point, and the axes."""
    logs = [math.log(point.x) for point in points]
    low, high = min(logs), max(logs)

    def across(log: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * ((log - low) / (high - low) if high > low else 0.5)

    def down(share: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>',
        f'<rect width="{WIDTH:.0f}" height="{HEIGHT:.0f}" fill="white"/>',
        f'<text x="{WIDTH / 2:.0f}" y="20" text-anchor="middle">{escape(title)}</text>',
        f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT - 8:.0f}" text-anchor="middle">{escape(x)}</text>',
        f'<text x="{MARGIN - 36:.0f}" y="{MARGIN - 12:.0f}">{escape(y)}</text>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        at = down(share)
        parts.append(f'<path d="M{MARGIN:.0f} {at:.1f}H{WIDTH - MARGIN:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{MARGIN - 6:.0f}" y="{at + 4:.1f}" text-anchor="end">{share:g}</text>')
    line = " ".join(f"{across(log):.1f},{down(point.mean):.1f}" for log, point in zip(logs, points, strict=True))
    parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOUR}" stroke-width="2"/>')
    for log, point in zip(logs, points, strict=True):
        at = across(log)
        parts.append(
            f'<path d="M{at:.1f} {down(point.mean):.1f}V{down(point.lowest):.1f}" stroke="{PALE}" stroke-width="4"/>'
        )
        parts.append(f'<circle cx="{at:.1f}" cy="{down(point.mean):.1f}" r="4" fill="{COLOUR}"/>')
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - MARGIN + 16:.1f}" text-anchor="middle">{point.x:g}</text>')
    return "".join([*parts, "</svg>\n"])
