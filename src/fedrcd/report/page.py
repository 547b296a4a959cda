"""One self-contained HTML page about a result, or about what changed from one result to another."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as installed_version
from importlib.resources import files
from typing import Any

import numpy as np

from fedrcd.graphs.agreement import agreed_edges
from fedrcd.graphs.comparison import Changes, EdgeChange
from fedrcd.graphs.dag import identified_total_effects
from fedrcd.report.charts import NAMED, heat_map, order_chart, variance_ladder
from fedrcd.report.drawing import draw, draw_svg
from fedrcd.report.edge_rows import LISTED, MAPPED, columns_of, edge_rows, is_large, script_data
from fedrcd.report.result import Result, effects_of, number, order_indices, strengths, unit_of_weight
from fedrcd.report.support import Support, support_in
from fedrcd.statistics.coverage import Layout

MOST_TOTALS = 500
"""Total effects that are listed besides being drawn."""
UNROLLED = 24
"""Variables of steps before up to which the graph of now and before is drawn."""
SURE = 0.95
"""How sure it must be that two neighbours stand this way round, for them not to be listed."""
MOST_PAIRS = 100
"""Pairs of variables that are listed, of those that changed places or whose effect is not identified."""
PAGE_COLOURS = {name: f"var(--{name})" for name in ("text", "border", "positive", "negative", "hidden")} | {
    "box": "var(--card)"
}


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
    support: Support | None = None,
    written: datetime.date | None = None,
) -> str:
    """The text of the page.

    Parameters
    ----------
    result : Result
        What was found; of two that are compared, the later one.
    before : Before, optional
        What the result is compared with.
    support : Support, optional
        What speaks for the result; by default what the result itself holds of it.
    written : date, optional
        Today by default.
    """
    drawing, support = draw(result), support or support_in(result)
    edges = edge_rows(result, drawing, support, before.changes if before else None)
    shown = [edge for edge in edges if edge["weight"] is not None]
    columns, large = columns_of(result, support, compared=before is not None), is_large(result)
    page: str = _template().render(
        result=result,
        title=_title(result, before),
        lead=", ".join(result.order) if len(result.order) <= 12 else f"{len(result.order)} variables in causal order",
        facts=_facts(result, shown),
        edges=shown,
        columns=columns,
        first_key="strength" if result.variances else "weight",
        support=support,
        verified=_verified(result, support),
        has_confidence=result.confidence is not None,
        empty_words=_empty_words(result),
        colour_words=_colour_words(result, before),
        strongest=max((abs(edge["strength"]) for edge in edges), default=1.0),
        picture="" if large else _markup(draw_svg(result, drawing, colours=PAGE_COLOURS, background="none")),
        changes=before.changes if before else None,
        differing=_differing(before),
        before_title=before.title if before else "",
        after_title=before.after_title if before else "",
        before_after_chart=_before_after(result, before),
        fine=len(result.names) > NAMED,
        large=large,
        not_identified=_not_identified(result),
        lagged=_lagged(result),
        **_pictures_over_time(result),
        unsure=_unsure(result),
        agreement=_agreement(result),
        **_totals(result),
        **_scale(result),
        **_sites(result),
        settings=_settings(result),
        data=_markup(script_data(result, drawing, edges, columns)),
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
        most_pairs=MOST_PAIRS,
        listed=LISTED,
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


def _colour_words(result: Result, before: Before | None) -> str:
    words = "Solid lines are positive effects, dashed ones negative."
    if result.confounded:
        words += " Grey dotted ones with two heads join variables that share a cause which was not measured."
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


def _verified(result: Result, support: Support) -> list[str]:
    """What was verified, a sentence each."""
    sentences = list(support.verified)
    if result.state_id:
        sentences.append(
            f"The sums are those of the ledger's state {result.state_id}, which its chain and receipts prove."
        )
    if result.epsilon is not None:
        sentences.append(f"The sums carry noise: epsilon {result.epsilon:g} at delta {result.delta or 0:g}.")
    return sentences


def _totals(result: Result) -> dict[str, Any]:
    """The heat map of total effects and the list behind it; of many variables the list is by variable, in the page."""
    if len(result.names) > MAPPED:
        return {"totals": [], "heat_map": ""}
    B = effects_of(result)
    totals = np.nan_to_num(identified_total_effects(result.B))
    shown = strengths(result, totals)
    order = order_indices(result)
    along = np.ix_(order, order)
    pairs = sorted(np.argwhere(totals).tolist(), key=lambda pair: -abs(shown[tuple(pair)]))
    listed = [
        {"cause": result.names[j], "effect": result.names[i], "total": totals[i, j], "direct": B[i, j]}
        | {"unit": unit_of_weight(result, result.names[j], result.names[i])}
        for i, j in pairs[:MOST_TOTALS]
    ]
    heat = heat_map(totals[along], shown[along], result.order)
    return {"totals": listed, "total_count": len(pairs), "heat_map": _markup(heat)}


def _not_identified(result: Result) -> list[tuple[str, str]]:
    """Pairs (cause, effect) between which there may be an effect that these data cannot tell."""
    return [(result.names[j], result.names[i]) for j, i in np.argwhere(np.isnan(result.B.T)).tolist()]


def _unsure(result: Result) -> list[tuple[str, str, float]]:
    """Neighbours in the order of which it is not sure that they stand this way round, the least sure first."""
    pairs = zip(result.order, result.order[1:], result.order_confidence, strict=False)
    return sorted((pair for pair in pairs if pair[2] < SURE), key=lambda pair: pair[2])


def _agreement(result: Result) -> dict[str, Any]:
    """What other methods find, where a result has rivals."""
    if not result.rivals:
        return {}
    graphs = {result.method: [(result.names[j], result.names[i]) for i, j in np.argwhere(effects_of(result)).tolist()]}
    graphs |= {rival.method: list(rival.edges) for rival in result.rivals}
    return {"methods": list(graphs), "edges": agreed_edges(graphs)}


def _lagged(result: Result) -> list[dict[str, Any]]:
    """Effects of earlier values, by lag and falling size."""
    return [
        {"lag": lag, "cause": result.names[j], "effect": result.names[i], "weight": float(effects[i, j])}
        for lag, effects in sorted(result.lagged_effects.items())
        for i, j in sorted(np.argwhere(np.nan_to_num(effects)).tolist(), key=lambda at: -abs(effects[tuple(at)]))
    ]


def _pictures_over_time(result: Result) -> dict[str, Any]:
    """A heat map of the effects at each lag, and the graph of now and before, where there are few variables."""
    if not result.lagged_effects or len(result.names) > MAPPED:
        return {"lag_maps": [], "unrolled": ""}
    order = order_indices(result)
    along = np.ix_(order, order)
    maps = []
    for lag, effects in sorted(result.lagged_effects.items()):
        values = np.nan_to_num(effects)
        what = f"Heat map of effects {lag} steps later: columns are causes, rows are effects, in causal order"
        picture = heat_map(values[along], strengths(result, values)[along], result.order, what)
        maps.append({"lag": lag, "picture": _markup(picture)})
    whole = result.unrolled() if len(result.names) * len(maps) <= UNROLLED else None
    picture = "" if whole is None else _markup(draw_svg(whole, colours=PAGE_COLOURS, background="none"))
    return {"lag_maps": maps, "unrolled": picture}


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
        "orders": _markup(order_chart(columns)) if 1 < len(result.names) <= MAPPED else "",
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
                "left_out": result.left_out.get(site, 0) if result.left_out else None,
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


def _differing(before: Before | None) -> list[EdgeChange]:
    """Edges that are not the same, as far as the digits that are shown tell."""
    if before is None:
        return []
    return [
        edge
        for edge in before.changes.edges
        if edge.change != "same" and not (edge.change == "changed" and _alike(edge.before, edge.after))
    ]


def _alike(old: float | None, new: float | None) -> bool:
    return old is not None and new is not None and number(old) == number(new)


def _before_after(result: Result, before: Before | None) -> Any:
    if before is None or len(result.names) > MAPPED:
        return ""
    common = set(before.order) & set(result.order)
    columns = [(before.title, before.order), (before.after_title, result.order)]
    return _markup(order_chart([(title, [name for name in order if name in common]) for title, order in columns]))
