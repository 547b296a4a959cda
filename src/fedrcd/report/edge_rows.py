"""The edges of a page: the rows of its table, the lines of its graph, and what its script needs to know of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedrcd.graphs.comparison import Changes, EdgeChange
from fedrcd.graphs.dag import total_effects
from fedrcd.graphs.layout import depths
from fedrcd.report.charts import NAMED
from fedrcd.report.drawing import Drawing
from fedrcd.report.result import Result, effects_of, order_indices, strengths, unit_of_weight
from fedrcd.report.support import Support

LISTED = 500
"""Rows of the table that stand on the page at once; the search goes through all."""
MAPPED = 300
"""Variables up to which there is one picture of the whole graph and one heat map."""
DRAWN = 1500
"""Edges up to which there is one picture of the whole graph."""

ON_SCREEN = ("id", "weight", "unit", "strength", "width", "confidence", "low", "high", "bow", "before", "change")


def is_large(result: Result) -> bool:
    """Whether the page shows the graph by the neighbourhoods of its variables."""
    return len(result.names) > MAPPED or int(np.count_nonzero(effects_of(result))) > DRAWN


def columns_of(result: Result, support: Support, *, compared: bool) -> list[tuple[str, str, str]]:
    """Columns of the table of edges: key, heading, class."""
    columns = [("cause", "Cause", ""), ("effect", "Effect", ""), ("weight", "Weight", "n")]
    if result.units:
        columns.append(("unit", "Unit", ""))
    if result.variances:
        columns.append(("strength", "In sd", "n"))
    if support.bounds:
        columns += [("low", "From", "n"), ("high", "To", "n")]
    if result.confidence is not None:
        columns.append(("confidence", "Confidence", "n"))
    if compared:
        columns += [("before", "Before", "n"), ("change", "Change", "")]
    return columns


def edge_rows(
    result: Result, drawing: Drawing, support: Support, changes: Changes | None = None
) -> list[dict[str, Any]]:
    """Edges by falling strength, with everything that is said of them; those that are gone have no weight."""
    B = effects_of(result)
    standard = strengths(result, B)
    strongest = float(np.abs(standard).max(initial=0.0))
    told = {(change.cause, change.effect): change for change in changes.edges} if changes else {}
    edges = []
    for line in drawing.lines:
        i, j = line.effect, line.cause
        pair = (result.names[j], result.names[i])
        low, high = support.bounds.get(pair, (None, None))
        edges.append(
            _edge(result, j, i, strength=float(standard[i, j]), width=line.width, change=told.get(pair))
            | {
                "weight": float(B[i, j]),
                "low": low,
                "high": high,
                "confidence": None if result.confidence is None else float(result.confidence[i, j]),
                "bow": -2 * float(drawing.placement.bow[i, j]),
            }
        )
    edges.sort(key=lambda edge: -abs(edge["strength"]))
    position = {name: i for i, name in enumerate(result.names)}
    for change in told.values():  # gone edges glow as long as the slider stands at nothing
        if change.change == "removed" and change.cause in position and change.effect in position:
            cause, effect = position[change.cause], position[change.effect]
            edges.append(_edge(result, cause, effect, strength=strongest, width=1.5, change=change))
    return edges


def _edge(
    result: Result, cause: int, effect: int, *, strength: float, width: float, change: EdgeChange | None
) -> dict[str, Any]:
    return {
        "id": f"{cause}-{effect}",
        "cause": result.names[cause],
        "effect": result.names[effect],
        "weight": None,
        "unit": unit_of_weight(result, result.names[cause], result.names[effect]),
        "strength": strength,
        "width": width,
        "low": None,
        "high": None,
        "confidence": None,
        "bow": 0.0,
        "before": change.before if change else None,
        "change": change.change if change else "",
        "ends": (cause, effect),
    }


def script_data(
    result: Result, drawing: Drawing, edges: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str, str]]
) -> str:
    """What the script of the page needs, as JSON; no text in it can end the script."""
    B = effects_of(result)
    position = {name: i for i, name in enumerate(result.names)}
    nodes = [
        {
            "id": f"n{i}",
            "name": name,
            "label": drawing.labels[i],
            "unit": result.units.get(name, ""),
            "x": round(float(drawing.placement.x[i]), 1),
            "y": round(float(drawing.placement.y[i]), 1),
            "w": drawing.widths[i],
            "layer": layer,
        }
        for i, (name, layer) in enumerate(zip(result.names, depths(B != 0).tolist(), strict=True))
    ]
    lines = [
        {key: edge[key] for key in ON_SCREEN} | {"cause": cause, "effect": effect}
        for edge in edges
        for cause, effect in [edge["ends"]]
    ]
    order = order_indices(result)
    totals = total_effects(B)[np.ix_(order, order)] if NAMED < len(result.names) <= MAPPED else None
    content = {
        "names": result.names,
        "order": result.order,
        "nodes": nodes,
        "edges": lines,
        "shared": [
            {"one": position[pair.one], "other": position[pair.other], "evidence": pair.evidence, "sure": pair.sure}
            for pair in result.confounded
        ],
        "columns": [key for key, _, _ in columns],
        "listed": LISTED,
        "large": is_large(result),
        "standardised": bool(result.variances),
        "strongest": max((abs(edge["strength"]) for edge in edges), default=1.0),
        "totals": None if totals is None else [[float(f"{value:.4g}") for value in row] for row in totals],
    }
    return json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
