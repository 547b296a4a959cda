"""One self-contained HTML page about a result, or about what changed from one result to another."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as installed_version
from importlib.resources import files
from typing import Any

import numpy as np

from fedrcd.graphs.comparison import Changes, EdgeChange
from fedrcd.graphs.dag import total_effects
from fedrcd.report.charts import NAMED, heat_map, order_chart, variance_ladder
from fedrcd.report.drawing import Drawing, draw, draw_svg
from fedrcd.report.result import Result, number, order_indices, strengths
from fedrcd.statistics.coverage import Layout

MOST_TOTALS = 500
"""Total effects that are listed besides being drawn."""
PAGE_COLOURS = {name: f"var(--{name})" for name in ("text", "border", "positive", "negative")} | {"box": "var(--card)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What a result is compared with: what it is called, its order, and what changed since."""

    title: str
    after_title: str
    order: tuple[str, ...]
    changes: Changes


def write_page(
    result: Result,
    *,
    before: Before | None = None,
    written: datetime.date | None = None,
) -> str:
    """The text of the page.

    Parameters
    ----------
    result : Result
        What was found; of two that are compared, the later one.
    before : Before, optional
        What the result is compared with.
    written : date, optional
        Today by default.
    """
    drawing = draw(result)
    edges = _edges(result, drawing, before.changes if before else None)
    shown = [edge for edge in edges if edge["weight"] is not None]
    page: str = _template().render(
        result=result,
        title=_title(result, before),
        lead=", ".join(result.order) if len(result.order) <= 12 else f"{len(result.order)} variables in causal order",
        facts=_facts(result, shown),
        edges=shown,
        columns=_columns(result, before),
        has_confidence=result.confidence is not None,
        empty_words=_empty_words(result),
        colour_words=_colour_words(before),
        strongest=max((abs(edge["strength"]) for edge in edges), default=1.0),
        picture=_markup(draw_svg(result, colours=PAGE_COLOURS, background="none")),
        changes=before.changes if before else None,
        before_title=before.title if before else "",
        after_title=before.after_title if before else "",
        before_after_chart=_before_after(result, before),
        large=len(result.names) > NAMED,
        **_totals(result),
        **_scale(result),
        **_sites(result),
        settings=_settings(result),
        data=_json(result, drawing, edges),
        version=installed_version("fedrcd"),
        written=(written or datetime.date.today()).isoformat(),
    )
    return page


@cache
def _template() -> Any:
    """The page without its content; text from a result is escaped, our own files are not."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True)
    environment.filters["number"] = lambda value: "" if value is None else number(value)
    environment.globals.update(
        css=Markup(_asset("page.css")),
        script=Markup(_asset("page.js")),
        cytoscape=Markup(_asset("vendor/cytoscape.min.js")),
        most_totals=MOST_TOTALS,
    )
    return environment.from_string(_asset("page.html"))


def _asset(name: str) -> str:
    return files("fedrcd.report").joinpath("assets", name).read_text(encoding="utf-8")


def _markup(text: str) -> Any:
    """Text that is HTML already; charts escape their names themselves."""
    from markupsafe import Markup

    return Markup(text)


def _title(result: Result, before: Before | None) -> str:
    what = f"{len(result.names)} variables, {result.method}"
    return f"What changed: {before.title} → {before.after_title}" if before else f"Causal graph of {what}"


def _empty_words(result: Result) -> str:
    if len(result.names) == 1:
        return "There is one variable, so there is nothing it could cause or be caused by."
    return "No effect passed the selection of edges: as far as these data tell, the variables do not act on each other."


def _colour_words(before: Before | None) -> str:
    words = "Solid lines are positive effects, dashed ones negative."
    return words + (" On screen, edges that are new or turned round glow; dotted ones are gone." if before else "")


def _facts(result: Result, edges: list[dict[str, Any]]) -> list[tuple[str, str]]:
    facts = [
        ("Variables", f"{len(result.names):,}"),
        ("Edges", f"{len(edges):,}"),
        ("Rows", f"{result.rows:,}"),
        ("Sites", f"{result.sites:,}"),
        ("Rounds", f"{result.rounds:,}" if result.rounds else "none"),
        ("Sent", _bytes(result.bytes_sent)),
        ("Method", result.method),
    ]
    return [*facts, ("State", result.state_id)] if result.state_id else facts


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes" if count else "nothing"


def _columns(result: Result, before: Before | None) -> list[tuple[str, str, str]]:
    """Columns of the table of edges: key, heading, class."""
    columns = [("cause", "Cause", ""), ("effect", "Effect", ""), ("weight", "Weight", "n")]
    if result.variances:
        columns.append(("strength", "In sd", "n"))
    if result.confidence is not None:
        columns.append(("confidence", "Confidence", "n"))
    if before:
        columns += [("before", "Before", "n"), ("change", "Change", "")]
    return columns


def _edges(result: Result, drawing: Drawing, changes: Changes | None) -> list[dict[str, Any]]:
    """Edges by falling strength, with everything that is said of them; those that are gone have no weight."""
    standard = strengths(result, result.B)
    strongest = float(np.abs(standard).max(initial=0.0))
    told = {(change.cause, change.effect): change for change in changes.edges} if changes else {}
    edges = []
    for line in drawing.lines:
        i, j = line.effect, line.cause
        change = told.get((result.names[j], result.names[i]))
        edges.append(
            _edge(result, j, i, strength=float(standard[i, j]), width=line.width, change=change)
            | {
                "weight": float(result.B[i, j]),
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
        "strength": strength,
        "width": width,
        "confidence": None,
        "bow": 0.0,
        "before": change.before if change else None,
        "change": change.change if change else "",
        "ends": (cause, effect),
    }


def _totals(result: Result) -> dict[str, Any]:
    """The heat map of total effects and the list behind it."""
    totals = total_effects(result.B)
    shown = strengths(result, totals)
    order = order_indices(result)
    along = np.ix_(order, order)
    pairs = sorted(np.argwhere(totals).tolist(), key=lambda pair: -abs(shown[tuple(pair)]))
    listed = [
        {"cause": result.names[j], "effect": result.names[i], "total": totals[i, j], "direct": result.B[i, j]}
        for i, j in pairs
    ]
    return {"totals": listed, "heat_map": _markup(heat_map(totals[along], shown[along], result.order))}


def _scale(result: Result) -> dict[str, Any]:
    """Whether the order is that of the variances, in words and charts."""
    words = (
        f"The order and a plain sort by variance place {result.variance_agreement:.0%} of the pairs alike; an order "
        "that ignores scale gives about half by accident. "
    )
    if not result.standardised_order:
        words += "Whether the order survives standardising was not checked: discover(..., check_scale=True) does."
    elif result.standardised_order == result.order:
        words += "With every variable divided by its standard deviation the order is the same."
    else:
        words += (
            "With every variable divided by its standard deviation the order is another one: units decide part of it. "
            "Compare with a scale-free method, fedrcd-s for one."
        )
    if not result.variances:
        return {"scale_words": words, "ladder": "", "orders": ""}
    variance = dict(zip(result.names, result.variances, strict=True))
    columns = [("sorted by variance", sorted(result.names, key=variance.__getitem__)), ("order found", result.order)]
    if result.standardised_order:
        columns.append(("of standardised data", result.standardised_order))
    return {
        "scale_words": words,
        "ladder": _markup(variance_ladder([variance[name] for name in result.order], result.order)),
        "orders": _markup(order_chart(columns)) if len(result.names) > 1 else "",
    }


def _sites(result: Result) -> dict[str, Any]:
    """Rows and columns of the sites, what they cover, and what the conversation cost."""
    held: dict[str, list[Any]] = {}
    for holding in result.holdings:
        held.setdefault(holding.site, []).append(holding)
    rows = {site: sum(holding.rows for holding in holdings) for site, holdings in held.items()}
    sites = []
    for site, holdings in held.items():
        columns = set().union(*(holding.columns for holding in holdings))
        lacks = [name for name in result.names if name not in columns]
        more = f" and {len(lacks) - 8} more" if len(lacks) > 8 else ""
        sites.append(
            {
                "name": site,
                "rows": rows[site],
                "share": round(100 * rows[site] / max(*rows.values(), 1)),
                "columns": len(columns),
                "lacks": ", ".join(lacks[:8]) + more,
            }
        )
    return {"sites": sites, "coverage_words": _coverage_words(result), "cost_words": _cost_words(result)}


def _coverage_words(result: Result) -> str:
    if not result.holdings:
        return ""
    everything = set(result.names)
    if all(set(holding.columns) == everything for holding in result.holdings):
        return "Every site holds all columns of its rows."
    layout = Layout(result.names, result.holdings)
    counts = layout.pair_counts()
    i, j = np.unravel_index(int(np.argmin(counts)), counts.shape)
    return (
        f"Rows with all columns at one site: {layout.complete_rows():,}. The pair with the fewest rows is "
        f"{result.names[i]} with {result.names[j]}: {counts[i, j]:,}."
    )


def _cost_words(result: Result) -> str:
    if not result.rounds:
        return "The method works on one table: nothing was sent."
    rounds = "one round" if result.rounds == 1 else f"{result.rounds} rounds"
    return (
        f"The sites answered {rounds} of questions with sums over their rows, {_bytes(result.bytes_sent)} in all, "
        f"{_bytes(round(result.bytes_sent / result.sites))} a site. No row left its site."
    )


def _settings(result: Result) -> list[tuple[str, str]]:
    settings = [("method", result.method), *((name, str(value)) for name, value in result.options.items())]
    settings += [
        (name, value if isinstance(value, str) else json.dumps(value)) for name, value in result.settings.items()
    ]
    if result.state_id:
        settings.append(("state", result.state_id))
    return settings + [(f"{name} version", version) for name, version in result.versions.items()]


def _before_after(result: Result, before: Before | None) -> Any:
    if before is None:
        return ""
    common = set(before.order) & set(result.order)
    columns = [(before.title, before.order), (before.after_title, result.order)]
    return _markup(order_chart([(title, [name for name in order if name in common]) for title, order in columns]))


def _json(result: Result, drawing: Drawing, edges: Sequence[Mapping[str, Any]]) -> Any:
    """What the script of the page needs; no text in it can end the script."""
    nodes = [
        {
            "id": f"n{i}",
            "name": name,
            "label": drawing.labels[i],
            "x": round(float(drawing.placement.x[i]), 1),
            "y": round(float(drawing.placement.y[i]), 1),
            "w": drawing.widths[i],
        }
        for i, name in enumerate(result.names)
    ]
    lines = []
    for edge in edges:
        cause, effect = edge["ends"]
        kept = {
            key: edge[key] for key in ("id", "weight", "strength", "width", "confidence", "bow", "before", "change")
        }
        lines.append(kept | {"cause": cause, "effect": effect, "from": f"n{cause}", "to": f"n{effect}"})
    order = order_indices(result)
    totals = total_effects(result.B)[np.ix_(order, order)] if len(result.names) > NAMED else None
    content = {
        "names": result.names,
        "order": result.order,
        "nodes": nodes,
        "edges": lines,
        "standardised": bool(result.variances),
        "strongest": max((abs(edge["strength"]) for edge in edges), default=1.0),
        "totals": None if totals is None else [[float(f"{value:.4g}") for value in row] for row in totals],
    }
    return _markup(json.dumps(content, allow_nan=False).replace("<", "\\u003c"))
