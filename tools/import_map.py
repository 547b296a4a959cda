"""Draws which folder imports which, from the import graph: docs/figures/rooms.svg, by `make docs`.

An arrow that follows from others is left out: where a -> b -> c, there is no a -> c. What remains is an import that is
really there. The modules below everything stand in one box, without arrows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

import networkx as nx
import numpy as np

from fedrcd.typing import BoolMatrix

HOLDS = {
    "experiments": "beside the package",
    "cli": "commands",
    "console": "pages for people",
    "lingam": "names of lingam",
    "api": "what users call",
    "report": "what people see",
    "evaluation": "simulated accuracy",
    "federation/flower": "processes of Flower",
    "federation/one_process.py": "sites without machines",
    "federation/site": "store, rules, the one door",
    "federation/coordinator": "gather, accept, combine",
    "federation/masking": "masks, signed statements",
    "federation/ledger": "contributions, receipts",
    "federation/*.py": "shared by both sides",
    "federation/messages": "requests, refusals, keys",
    "runs": "Run gives a Finding",
    "confidence": "bootstrap, checks",
    "methods": "scores, deflations, one loop",
    "protocol": "questions, transports",
    "data": "rows, tables, files",
    "statistics": "sums, frames, cumulants",
    "graphs": "orders, metrics, knowledge",
}
"""What is in each folder, in two to four words."""
LEAVES = ("passes", "suggest", "errors", "typing")
FOLDERS = ("flower", "site", "coordinator", "masking", "ledger", "messages")
"""Folders of the federation; its other modules stand together, but for the one that is above them."""

HEIGHT, LAYER, MARGIN, LETTER, PASSING = 44.0, 84.0, 24.0, 6.9, 10.0
INK, LINE, PLAIN, TINTED = "#1c2733", "#7a8794", "#f3f5f7", "#e3eef7"


def folder_of(module: str) -> str | None:
    """The box that a module is in; None for those that are in none."""
    top, *parts = module.split(".")
    if top != "fedrcd":
        return top
    if not parts or parts[0] in ("__main__", *LEAVES) or parts == ["federation"]:
        return None
    if parts[0] != "federation":
        return parts[0]
    if parts[1] in FOLDERS:
        return f"federation/{parts[1]}"
    return "federation/one_process.py" if parts[1] == "one_process" else "federation/*.py"


def imports() -> list[tuple[str, str]]:
    """Folders and those they import, without what follows from others; sorted."""
    import grimp

    graph = grimp.build_graph("fedrcd", "experiments", cache_dir=None)
    pairs = (
        (folder_of(one), folder_of(other))
        for one in graph.modules
        for other in graph.find_modules_directly_imported_by(one)
    )
    direct = nx.DiGraph((one, other) for one, other in pairs if one and other and one != other)
    return sorted(nx.transitive_reduction(direct).edges)


def drawing(edges: Iterable[tuple[str, str]]) -> str:
    """The picture: folders as boxes in layers, an arrow from each to those it imports."""
    edges = list(edges)
    names = sorted({name for edge in edges for name in edge}, key=list(HOLDS).index)
    widths = [LETTER * max(len(name) + 1, len(HOLDS[name])) + 20 for name in names]
    xs, ys, ways = _placed([(names.index(one), names.index(other)) for one, other in edges], widths)
    left = min(x - width / 2 for x, width in zip(xs, widths, strict=False)) - MARGIN
    right = max(x + width / 2 for x, width in zip(xs, widths, strict=False)) + MARGIN
    top, bottom = min(ys) - HEIGHT / 2 - MARGIN, LAYER
    size = f"{right - left:.0f}", f"{bottom + HEIGHT - top:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} {top:.0f} {size[0]} {size[1]}" width="{size[0]}" '
        f'height="{size[1]}" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" role="img">',
        f"<title>Which folder imports which: {len(names)} folders, imports go down</title>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 1 L10 5 L0 9 z" fill="{LINE}"/></marker></defs>',
        f'<rect x="{left:.0f}" y="{top:.0f}" width="100%" height="100%" fill="#ffffff"/>',
    ]
    for (one, other), way in zip(edges, ways, strict=True):
        parts.append(
            f'<path d="{_curve([(xs[k], ys[k]) for k in way])}" fill="none" stroke="{LINE}" stroke-width="1.3" '
            f'marker-end="url(#tip)"><title>{escape(one)} imports {escape(other)}</title></path>'
        )
    for k, name in enumerate(names):
        tint = TINTED if name.startswith("federation") else PLAIN
        parts += _box(xs[k], ys[k], widths[k], name, HOLDS[name], tint)
    middle = (left + right) / 2
    parts += _box(middle, bottom, right - left - 2 * MARGIN, ", ".join(LEAVES), "below everything", PLAIN)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _placed(
    edges: Sequence[tuple[int, int]], widths: Sequence[float]
) -> tuple[list[float], list[float], list[list[int]]]:
    """Centres of all boxes, each as low as what it imports allows, and the places that each arrow goes through.

    Where an arrow passes a layer it has a place there, after those of the boxes, so that it passes between them.
    """
    from fedrcd.graphs.layout import depths, layered

    layers = depths(_matrix(edges, len(widths))).tolist()
    ways, places = [], list(widths)
    for one, other in edges:
        passed = list(range(len(places), len(places) + layers[one] - layers[other] - 1))
        places += [PASSING] * len(passed)
        ways.append([one, *passed, other])
    pieces = [piece for way in ways for piece in pairwise(way)]
    placement = layered(_matrix(pieces, len(places)) * 1.0, places, gap=22.0, layer_height=-LAYER)
    return placement.x.tolist(), placement.y.tolist(), ways


def _matrix(edges: Iterable[tuple[int, int]], size: int) -> BoolMatrix:
    """Entry (i, j) is set where i imports j."""
    matrix = np.zeros((size, size), dtype=np.bool_)
    for one, other in edges:
        matrix[one, other] = True
    return matrix


def _curve(places: Sequence[tuple[float, float]]) -> str:
    """A smooth line from the lower side of the first box to the upper side of the last, upright in every layer."""
    half = HEIGHT / 2
    path = f"M{places[0][0]:.0f} {places[0][1] + half:.0f}"
    for (x, y), (next_x, next_y) in pairwise(places):
        middle = (y + next_y) / 2
        path += f" C{x:.0f} {middle:.0f} {next_x:.0f} {middle:.0f} {next_x:.0f} {next_y - half:.0f}"
        if (next_x, next_y) != places[-1]:
            path += f" V{next_y + half:.0f}"
    return path


def _box(x: float, y: float, width: float, name: str, holds: str, tint: str) -> list[str]:
    return [
        f'<rect x="{x - width / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{width:.0f}" height="{HEIGHT:.0f}" rx="6" '
        f'fill="{tint}" stroke="{LINE}"/>',
        f'<text x="{x:.0f}" y="{y - 3:.0f}" text-anchor="middle" font-weight="600" fill="{INK}">{escape(name)}</text>',
        f'<text x="{x:.0f}" y="{y + 13:.0f}" text-anchor="middle" font-size="11" fill="{INK}">{escape(holds)}</text>',
    ]


def picture() -> str:
    """The picture of this repository."""
    return drawing(imports())


if __name__ == "__main__":
    print(picture(), end="")
