"""What a notebook shows of a result: the picture, the order, the strongest edges, notes."""

from __future__ import annotations

from html import escape

from fedrcd.graphs.exports import edge_list
from fedrcd.report.drawing import draw_svg
from fedrcd.report.result import Result, effects_of, number

DRAWN = 40
"""Variables up to which a notebook draws the graph."""
LISTED = 10

COLOURS = {
    "text": "currentColor",
    "box": "transparent",
    "border": "currentColor",
    "positive": "#c2622a",
    "negative": "#2f81c9",
    "hidden": "#808890",
}
"""Legible on light and on dark notebooks."""


def summary_html(result: Result) -> str:
    """HTML for the output of a notebook's cell."""
    edges = edge_list(effects_of(result), result.names)
    said = (
        f"{len(result.names)} variables, {_count(len(edges), 'edge')}, {result.rows:,} rows at "
        f"{_count(result.sites, 'site')}, {_count(result.rounds, 'round')}"
    )
    parts = ["<div>", f"<p><b>{escape(result.method)}</b>: {said}</p>"]
    parts.append(f"<p><b>order</b>: {escape(', '.join(result.order))}</p>")
    if (edges or result.confounded) and len(result.names) <= DRAWN:
        style = 'style="max-width:100%;height:auto"'
        parts.append(draw_svg(result, colours=COLOURS, background="none", styles=style))
    rows = [
        f"<tr><td>{escape(edge.cause)}</td><td>{escape(edge.effect)}</td><td>{number(edge.weight)}</td></tr>"
        for edge in edges[:LISTED]
    ]
    if rows:
        left_out = f" of {len(edges)}" if len(edges) > LISTED else ""
        parts.append(
            f"<details><summary>{len(rows)}{left_out} edges, largest weights first</summary><table><thead><tr>"
            f"<th>cause</th><th>effect</th><th>weight</th></tr></thead><tbody>{''.join(rows)}</tbody></table></details>"
        )
    parts += [f"<p><b>note</b>: {escape(note)}</p>" for note in result.notes]
    parts.append("<p>Everything else: <code>.report('page.html')</code></p></div>")
    return "\n".join(parts)


def _count(number_of: int, what: str) -> str:
    return f"{number_of:,} {what}{'s' * (number_of != 1)}"
