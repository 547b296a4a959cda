"""A graph as a matplotlib figure, for papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedrcd.errors import ConfigError
from fedrcd.report.drawing import COLOURS, HEIGHT, LABELLED, Drawing, Line, draw
from fedrcd.report.result import Graph, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS_PER_INCH = 96.0
POINTS = 72.0 / PIXELS_PER_INCH


def draw_figure(graph: Graph, ax: Axes | None = None) -> Axes:
    """Draw a graph into `ax`, or into a figure of its own in the size of the graph; return the axes."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ConfigError("plot needs matplotlib: pip install 'fedrcd[plot]'; to_svg needs nothing") from None
    drawing = draw(graph)
    width, height = drawing.size
    if ax is None:
        size = max(width / PIXELS_PER_INCH, 1.0), max(height / PIXELS_PER_INCH, 0.8)
        figure = plt.figure(figsize=size, layout="none")
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    ax.axis("off")
    box = ax.get_window_extent()
    scale = POINTS * min(box.width / width, box.height / height) * (PIXELS_PER_INCH / ax.figure.dpi)
    for line in drawing.lines:
        _draw_line(ax, line, scale)
        if len(drawing.lines) <= LABELLED:
            x, y = line.middle
            halo = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
            weight = number(float(graph.B[line.effect, line.cause]))
            ax.text(x, y, weight, ha="center", va="center", fontsize=11 * scale, bbox=halo, color=COLOURS["text"])
    for line in drawing.shared:
        _draw_line(ax, line, scale, both=True)
    for i in range(len(graph.names)):
        _draw_box(ax, drawing, i, scale)
    return ax


def _draw_line(ax: Axes, line: Line, scale: float, *, both: bool = False) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    curve = Path([line.start, line.control, line.end], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    ax.add_patch(
        FancyArrowPatch(
            path=curve,
            arrowstyle="<|-|>" if both else "-|>",
            mutation_scale=11 * scale,
            linewidth=line.width * scale,
            linestyle=(0, (1, 2)) if both else (0, (5, 3)) if line.negative else "solid",
            color=COLOURS["hidden" if both else "negative" if line.negative else "positive"],
            capstyle="butt",
            joinstyle="miter",
        )
    )


def _draw_box(ax: Axes, drawing: Drawing, i: int, scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y, width = drawing.placement.x[i], drawing.placement.y[i], drawing.widths[i]
    corner = (x - width / 2 + 8, y - HEIGHT / 2 + 8)
    shape = FancyBboxPatch(
        corner,
        width - 16,
        HEIGHT - 16,
        boxstyle="round,pad=8",
        facecolor=COLOURS["box"],
        edgecolor=COLOURS["border"],
        linewidth=1.3 * scale,
    )
    shape.set_zorder(3)
    ax.add_patch(shape)
    text = drawing.labels[i].replace("$", r"\$")  # names are no formulas
    ax.text(x, y, text, ha="center", va="center", fontsize=13 * scale, color=COLOURS["text"], zorder=4)
