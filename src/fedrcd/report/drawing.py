"""A graph as SVG, without any library: boxes in layers, causes above effects."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

import numpy as np

from fedrcd.graphs.layout import Placement, layered
from fedrcd.report.result import Graph, effects_of, number, relative, strengths, unit_of_weight, with_unit
from fedrcd.typing import Matrix

CHARACTER = 7.6
"""Width of a character of a label, in pixels."""
PADDING = 22
HEIGHT = 30
MARGIN = 16
WEIGHT = 54
"""Width of the longest weight beside an edge, in pixels."""
BEND = 0.22
"""Of its length, by which a line between variables with a hidden cause is bent."""
LONGEST = 28
"""Characters of a name that are drawn."""
LABELLED = 40
"""Edges up to which each has its weight beside it."""

COLOURS = {
    "text": "#1c2733",
    "box": "#ffffff",
    "border": "#5b7083",
    "positive": "#b3541e",
    "negative": "#1f6fb2",
    "hidden": "#6b7280",
}
"""Blue and orange, which the colour-blind tell apart; negative edges are dashed too. Hidden causes are grey dots."""


class Line(NamedTuple):
    """One edge as it is drawn: its curve from box to box, its width, and whether it is negative."""

    cause: int
    effect: int
    start: tuple[float, float]
    control: tuple[float, float]
    end: tuple[float, float]
    width: float
    negative: bool

    def points(self, count: int = 9) -> Matrix:
        """Points along the curve, shape (count, 2)."""
        t = np.linspace(0.0, 1.0, count)[:, np.newaxis]
        shares = np.hstack([(1 - t) ** 2, 2 * t * (1 - t), t**2])
        points: Matrix = shares @ np.array([self.start, self.control, self.end])
        return points

    @property
    def middle(self) -> tuple[float, float]:
        """Where a label stands: half way along the curve."""
        x, y = self.points(3)[1]
        return float(x), float(y)


class Drawing(NamedTuple):
    """Everything that a picture of a graph shows, in pixels from the top left corner."""

    labels: tuple[str, ...]
    widths: tuple[float, ...]
    placement: Placement
    lines: tuple[Line, ...]
    shared: tuple[Line, ...]
    """Between variables that share a hidden cause."""
    size: tuple[float, float]


def label(name: str) -> str:
    """A name short enough for its box, without characters that move a cursor."""
    clean = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in name)
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 1] + "…"


def draw(graph: Graph) -> Drawing:
    """Boxes and lines of a graph."""
    labels = tuple(label(with_unit(graph, name)) for name in graph.names)
    widths = tuple(CHARACTER * max(3, len(one)) + PADDING for one in labels)
    placed = layered(effects_of(graph), widths)
    half = np.array(widths) / 2
    corners = [np.column_stack([placed.x - half, placed.y]), np.column_stack([placed.x + half, placed.y])]
    lines = _lines(graph, placed, widths)
    aside = np.array([[-WEIGHT / 2, 0], [WEIGHT / 2, 0]])
    beside = [np.array(line.middle) + aside for line in lines]
    hidden = _shared(graph, placed, widths)
    points = np.concatenate([*corners, *(line.points() for line in (*lines, *hidden)), *beside])
    space = np.array([MARGIN, MARGIN + HEIGHT / 2])
    left, top = points.min(axis=0) - space
    width, height = points.max(axis=0) + space - (left, top)
    placement = Placement(placed.x - left, placed.y - top, placed.bow)
    lines, hidden = _lines(graph, placement, widths), _shared(graph, placement, widths)
    return Drawing(labels, widths, placement, lines, hidden, (float(width), float(height)))


def _lines(graph: Graph, placement: Placement, widths: tuple[float, ...]) -> tuple[Line, ...]:
    """All edges, the stronger the wider."""
    B = effects_of(graph)
    shares = relative(strengths(graph, B))
    return tuple(
        _line(placement, j, i, widths, 1.2 + 3.3 * float(shares[i, j]), negative=bool(B[i, j] < 0))
        for i, j in np.argwhere(B).tolist()
    )


def _shared(graph: Graph, placement: Placement, widths: tuple[float, ...]) -> tuple[Line, ...]:
    """Lines between variables that share a hidden cause, bent away from boxes and arrows that lie between them."""
    place = {name: i for i, name in enumerate(graph.names)}
    return tuple(_bent(placement, place[pair.one], place[pair.other], widths) for pair in graph.confounded)


def _bent(placement: Placement, one: int, other: int, widths: tuple[float, ...]) -> Line:
    """A line to the right of the straight one, with room for a head at both ends."""
    ends = [(float(placement.x[i]), float(placement.y[i])) for i in (one, other)]
    (x, y), (u, v) = ends
    length = max(float(np.hypot(u - x, v - y)), 1.0)
    aside = BEND * length
    control = ((x + u) / 2 - aside * (v - y) / length, (y + v) / 2 + aside * (u - x) / length)
    start, end = (_at_border(at, control, widths[i], 6) for i, at in zip((one, other), ends, strict=True))
    return Line(one, other, start, control, end, 1.6, negative=False)


def draw_svg(
    graph: Graph,
    drawing: Drawing | None = None,
    *,
    colours: Mapping[str, str] = COLOURS,
    background: str = "#ffffff",
    styles: str = "",
) -> str:
    """The picture of a graph.

    Parameters
    ----------
    graph : Graph
        Names, order, effects, variances and units.
    drawing : Drawing, optional
        What `draw` made of it, if that is there already.
    colours : mapping
        Replaces `COLOURS`; values may be CSS variables where the picture lies within a page.
    background : str
        Behind everything; "none" for nothing.
    styles : str
        Further attributes of the outermost element.
    """
    drawing = drawing or draw(graph)
    width, height = drawing.size
    title = f"Causal graph of {len(graph.names)} variables with {len(drawing.lines)} edges"
    styles = f" {styles}" if styles else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" '
        f'role="img"{styles}>',
        f"<title>{title}</title>",
        "<defs>",
        *(_arrow_head(sign, colours[sign]) for sign in ("positive", "negative")),
        *([_arrow_head("hidden", colours["hidden"])] if drawing.shared else []),
        "</defs>",
        f'<rect width="100%" height="100%" fill="{background}"/>' if background != "none" else "",
        *(_svg_shared(line, graph, colours) for line in drawing.shared),
        *(_svg_line(line, graph, colours) for line in drawing.lines),
    ]
    if len(drawing.lines) <= LABELLED:
        parts += [_svg_weight(line, graph, colours, background) for line in drawing.lines]
    parts += [_svg_box(drawing, i, colours) for i in range(len(graph.names))]
    return "\n".join([*filter(None, parts), "</svg>", ""])


def _line(
    placement: Placement, cause: int, effect: int, widths: tuple[float, ...], width: float, *, negative: bool
) -> Line:
    """The curve of one edge, cut off at the boxes it joins."""
    control = placement.control(cause, effect)
    start = _at_border((placement.x[cause], placement.y[cause]), control, widths[cause], 1)
    end = _at_border((placement.x[effect], placement.y[effect]), control, widths[effect], 5 + width)
    return Line(cause, effect, start, control, end, width, negative)


def _at_border(
    centre: tuple[float, float], towards: tuple[float, float], width: float, space: float
) -> tuple[float, float]:
    """Where the line from the centre of a box to another point leaves the box, and some space more."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    share = min(
        (width / 2 + space) / abs(dx) if dx else float("inf"), (HEIGHT / 2 + space) / abs(dy) if dy else float("inf")
    )
    return (
        (float(centre[0] + dx * share), float(centre[1] + dy * share))
        if share < 1
        else (float(centre[0]), float(centre[1]))
    )


def _arrow_head(sign: str, colour: str) -> str:
    return (
        f'<marker id="{sign}" viewBox="0 0 10 10" refX="4" refY="5" markerWidth="11" markerHeight="11" '
        f'markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        f'<path d="M0 0.8 L10 5 L0 9.2 z" fill="{colour}"/></marker>'
    )


def _svg_line(line: Line, graph: Graph, colours: Mapping[str, str]) -> str:
    sign = "negative" if line.negative else "positive"
    dashes = ' stroke-dasharray="7 4"' if line.negative else ""
    curve = "M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*line.start, *line.control, *line.end)
    cause, effect = graph.names[line.cause], graph.names[line.effect]
    weight = f"{number(graph.B[line.effect, line.cause])} {unit_of_weight(graph, cause, effect)}"
    words = f"{cause} → {effect}: {weight.strip()}"
    return (
        f'<path class="edge" data-edge="{line.cause}-{line.effect}" d="{curve}" fill="none" stroke="{colours[sign]}" '
        f'stroke-width="{line.width:.2f}"{dashes} marker-end="url(#{sign})"><title>{escape(words)}</title></path>'
    )


def _svg_shared(line: Line, graph: Graph, colours: Mapping[str, str]) -> str:
    curve = "M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*line.start, *line.control, *line.end)
    words = f"{graph.names[line.cause]} ↔ {graph.names[line.effect]}: a cause that was not measured"
    return (
        f'<path class="hidden" d="{curve}" fill="none" stroke="{colours["hidden"]}" stroke-width="{line.width:.2f}" '
        f'stroke-dasharray="2 4" marker-start="url(#hidden)" marker-end="url(#hidden)">'
        f"<title>{escape(words)}</title></path>"
    )


def _svg_weight(line: Line, graph: Graph, colours: Mapping[str, str], background: str) -> str:
    """The weight of an edge, legible over the lines it crosses."""
    x, y = line.middle
    halo = colours["box"] if background == "none" else background
    return (
        f'<text class="edge" data-edge="{line.cause}-{line.effect}" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" '
        f'font-size="11" fill="{colours["text"]}" stroke="{halo}" stroke-width="3.5" paint-order="stroke">'
        f"{number(graph.B[line.effect, line.cause])}</text>"
    )


def _svg_box(drawing: Drawing, i: int, colours: Mapping[str, str]) -> str:
    x, y, width = float(drawing.placement.x[i]), float(drawing.placement.y[i]), drawing.widths[i]
    return (
        f'<g><rect x="{x - width / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="8" '
        f'fill="{colours["box"]}" stroke="{colours["border"]}" stroke-width="1.3"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" fill="{colours["text"]}">'
        f"{escape(drawing.labels[i])}</text></g>"
    )
