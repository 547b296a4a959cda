"""What a user should know before trusting a result; each note is also issued as a warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fedrcd.api.note_on_time import rows_in_time
from fedrcd.api.notes_on_rows import of_rows
from fedrcd.data.rows import Rows, count_rows, is_complete
from fedrcd.data.survey import few_levels, sampled
from fedrcd.data.table import Table
from fedrcd.errors import (
    ConfigError,
    CoverageWarning,
    DataError,
    FedrcdWarning,
    IdentifiabilityWarning,
    ModelWarning,
    OutlierWarning,
    ScaleWarning,
    SitesWarning,
)
from fedrcd.graphs.metrics import order_agreement
from fedrcd.methods.auto import one_round_choices, pairs_only, robust_choice, scale_free_default
from fedrcd.methods.card import Card, Coverage
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.outliers import columns_with_gross_errors
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import InProcess, Setting
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.exact_sums import Clipped
from fedrcd.statistics.few_levels import FEW_LEVELS, note_on_few_levels
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.units import Described, described, odd_ones, unlike

GAUSSIAN_WITHIN = 4.5
"""Standard errors within which a variable passes for Gaussian."""

SCALE_DECIDES = 0.9
"""Agreement with a plain sort by variance from which scale is suspected of having decided the order."""


MANY_FAR = 0.05
"""Share of rows far from all others from which that is said: heavy tails have many, too, but should be known."""


MOST_OF_ONE = 0.95
"""Of the share p / (p + 1) of rows of p columns, above which equal values leave a robust scatter no way out."""


def variance_agreement(estimate: Estimate) -> float:
    """Share of pairs that the order and a plain sort by variance place alike; about 0.5 if scale plays no part."""
    return order_agreement(estimate.order, np.diagonal(estimate.marginals.cov))


def identifiability(estimate: Estimate, card: Card) -> list[FedrcdWarning]:
    """Whether any variable is far enough from Gaussian for an order to be identified."""
    if (estimate.marginals.distance >= GAUSSIAN_WITHIN).any():
        return []
    what = "skewness" if card.score == "tau3" else "departure from a Gaussian distribution"
    return [
        IdentifiabilityWarning(
            f"none of the {len(estimate.order)} variables shows a {what} beyond sampling error, so {card.name} cannot "
            "identify the order: treat it as arbitrary"
            + ("; try a fourth-order method" if card.score == "tau3" else "")
        )
    ]


def scale(estimate: Estimate, card: Card) -> list[FedrcdWarning]:
    """Whether a method that reads scale may have read nothing else."""
    agreement = variance_agreement(estimate)
    if card.scale_free or agreement < SCALE_DECIDES:
        return []
    return [
        ScaleWarning(
            f"{card.name} depends on the units of the variables, and its order agrees with a plain sort by variance in "
            f"{agreement:.0%} of pairs: scale may have decided it; compare with {scale_free_default()}, which ignores "
            "scale"
        )
    ]


def hidden_causes(estimate: Estimate) -> list[FedrcdWarning | str]:
    """What may be concluded, and what not, where hidden causes were looked for."""
    if estimate.hidden is None:
        return []
    pairs = int((np.triu(estimate.hidden.evidence) > 0).sum())
    if not pairs:
        return [
            "no pair shows a cause that was not measured beyond chance: that is no proof that there is none, weak ones "
            "and those of nearly Gaussian variables go unseen"
        ]
    return [
        f"{pairs} pair{'s share' if pairs > 1 else ' shares'} a cause that was not measured: whether one of the two "
        "acts on the other as well is not known, and no effect between them is given; the ancestors that are listed "
        "hold beside it, effects marked NaN are not identified"
    ]


def doubtful(estimate: Estimate, names: Sequence[str]) -> list[FedrcdWarning]:
    """Whether the sums of the round speak against the model."""
    doubt = estimate.doubt
    return [ModelWarning(doubt.says(names))] if doubt is not None and doubt.doubtful else []


def repaired(estimate: Estimate) -> list[FedrcdWarning]:
    """Whether the covariance of pairs from different rows had to be made positive definite."""
    if not estimate.marginals.repaired:
        return []
    return [
        CoverageWarning(
            "the covariance, put together from different rows for different pairs, was not positive definite; it was "
            "replaced by the nearest one with eigenvalues of at least 0.001 (of correlations): effects are approximate"
        )
    ]


def far_out(estimate: Estimate) -> list[FedrcdWarning]:
    """Whether so many rows were far from all others that somebody should look at them."""
    far, rows = estimate.marginals.far, estimate.marginals.rows
    if far <= MANY_FAR * rows:
        return []
    return [OutlierWarning(f"{far} of {rows} rows are far from all others and were left out; look at them")]


def scattered(card: Card, layout: Layout | None, *, fills_gaps: bool) -> list[FedrcdWarning]:
    """Whether a method that lives on cancelling entries got them from different rows."""
    if layout is None or fills_gaps or not card.asks_tensor:
        return []
    return [
        CoverageWarning(
            f"no site holds all columns of all rows, and {card.name} loses accuracy when combinations of columns come "
            "from different rows; where sites share no rows, missing='expected' mends it"
        )
    ]


def standardised_by_sites(card: Card, *, unscaled: bool) -> list[FedrcdWarning]:
    """Whether a method that reads scale was given rows without any."""
    if card.scale_free or not unscaled:
        return []
    return [
        ScaleWarning(
            f"{card.name} depends on the units of the variables, which within='standardise' takes away: take a "
            f"scale-free method, {scale_free_default()} for one"
        )
    ]


def outliers(site: LocalSite, transport: InProcess, rows: int, trim: float | None) -> list[FedrcdWarning]:
    """Rows that were left out, and columns with gross errors where none were."""
    if trim is not None:
        lost = rows - count_rows(site.rows)
        return [OutlierWarning(f"trim={trim:g} left out {lost} of {rows} rows of {site.name}")] if lost else []
    columns = far_apart(site, transport)
    if not columns:
        return []
    return [
        OutlierWarning(
            f"{site.name} holds values in {', '.join(map(repr, columns[:5]))} that stand far apart from all others; if "
            f"they are errors correct them, leave their rows out with trim=8, or take {robust_choice()}, in whose sums "
            "no row dominates"
        )
    ]


def far_apart(site: LocalSite, transport: InProcess) -> list[str]:
    """Columns of a site in which a few values stand far apart from all others."""
    held = [transport.setting.variables.index(name) for name in site.columns]
    own = transport.setting.frame.keep(held)
    frame = own if site.own is None else own.within(site.own)
    return [site.columns[j] for j in columns_with_gross_errors(site.rows, frame)]


def mostly_one_value(rows: Rows, p: int) -> bool:
    """Whether a column of few levels has one value in so many rows that no robust scatter of p columns exists."""
    counts = {name: dict.fromkeys(levels.tolist(), 0) for name, levels in few_levels(rows, FEW_LEVELS).items()}
    total = 0
    for values, *_ in rows.chunks() if counts else ():
        total += len(values)
        for name, levels in counts.items():
            column = values[:, rows.columns.index(name)]
            for level in levels:
                levels[level] += int((column == level).sum())
    return any(max(levels.values()) > MOST_OF_ONE * total * p / (p + 1) for levels in counts.values())


def sites_alike(transport: InProcess) -> list[FedrcdWarning]:
    """Whether a variable can be the same quantity at all sites, or as declared, unless it is standardised at each."""
    sites: Any = transport.sites
    setting = transport.setting
    if any(site.own is not None and (site.own.scale != 1).any() for site in sites):
        return []
    told = [_described(site, setting) for site in sites]
    if setting.robust is None:
        odd = [(place, one) for place, own in enumerate(told) for one in unlike(own, Frame.identity(len(own.median)))]
    else:
        odd = list(odd_ones(told)) if len(sites) > 1 else []
    than = "than declared" if setting.robust is None else "than at the other sites"
    by_site: dict[str, list[str]] = {}
    for place, one in odd:
        by_site.setdefault(sites[place].name, []).append(f"{setting.variables[one.variable]!r} ({one.explanation})")
    return [
        SitesWarning(
            f"{name}: other values {than} in {', '.join(columns[:5])}; correct the unit, or take the difference away "
            "by within='standardise'"
        )
        for name, columns in by_site.items()
    ]


def _described(site: LocalSite, setting: Setting) -> Described:
    """Median and spreads of every variable in the frame, from evenly spaced rows; NaN where the site lacks it."""
    held = [setting.variables.index(name) for name in site.columns]
    frame = setting.frame.keep(held)
    some = (frame if site.own is None else frame.within(site.own)).express(sampled(site.rows))
    spread = np.full((3, len(setting.variables)), np.nan)
    spread[:, held] = described(lambda: iter([some]))
    return Described(*spread)


def of_few_levels(transport: InProcess) -> list[str]:
    """Which variables take few values only, and what that does to arrows: the model has none such."""
    sites: Any = transport.sites
    levels: dict[str, set[float]] = {}
    holders: dict[str, int] = {}
    for site in sites:
        for name in site.columns:
            holders[name] = holders.get(name, 0) + 1
        for name, values in few_levels(site.rows, FEW_LEVELS).items():
            levels.setdefault(name, set()).update(values.tolist())
            holders[name] -= 1
    known = {name: len(values) for name, values in levels.items() if not holders[name] and len(values) <= FEW_LEVELS}
    shown = (f"{name!r} ({'binary' if count == 2 else f'{count} levels'})" for name, count in sorted(known.items()))
    return [note_on_few_levels(shown)] if known else []


def clipped(count: Clipped | None, grid: Grid | None) -> list[FedrcdWarning]:
    """Whether exact sums had to clip values."""
    if count is None or grid is None or not count.most:
        return []
    return [OutlierWarning(f"{count} values lie more than {grid.limit} scales of the frame out and were clipped there")]


def notes_on_sites(transport: InProcess, blocks: Sequence[Table], *, trim: float | None) -> list[FedrcdWarning | str]:
    """Notes on the rows of sites in this process; `blocks` are the tables as they came."""
    notes: list[FedrcdWarning | str] = []
    sites: Any = transport.sites
    for site, block in zip(sites, blocks, strict=True):
        rows = count_rows(block)
        complete = rows if site.gaps else count_rows(block.select(is_complete))
        if complete < rows:
            lost = rows - complete
            notes.append(CoverageWarning(f"{lost} of {rows} rows of {site.name} lack values and were left out"))
        notes += outliers(site, transport, complete, trim)
    if not transport.setting.past:
        notes += rows_in_time(blocks)
    return [*notes, *sites_alike(transport), *of_few_levels(transport), *of_rows(transport)]


def left_out(transport: InProcess, blocks: Sequence[Table]) -> dict[str, int]:
    """Rows that each site in this process left out, for gaps or as gross errors."""
    sites: Any = transport.sites
    counts: Counter[str] = Counter()
    for site, block in zip(sites, blocks, strict=True):
        counts[site.name] += count_rows(block) - count_rows(site.rows)
    return dict(counts)


def require_coverage(card: Card, transport: InProcess, *, missing: str, before: Sequence[Table]) -> None:
    """Raise if the sites do not hold together what the method needs, or too few complete rows are left."""
    if missing != "complete" and card.coverage is Coverage.ALL_COLUMNS and not card.one_table:
        others = " or ".join(one_round_choices())
        raise ConfigError(f"{card.name} needs complete rows; leave missing='complete' or take {others}")
    require_together(card, transport.setting.layout, len(transport.setting.variables), missing)
    if missing != "complete":
        return
    p = len(transport.setting.variables)
    sites: Any = transport.sites
    rows = sum(count_rows(block) for block in before)
    complete = sum(count_rows(block.select(is_complete)) for block in before)
    left = sum(count_rows(site.rows) for site in sites)
    needed = max(100, 10 * p)
    if complete < rows and left < needed:
        raise DataError(
            f"only {left} of {rows} rows have no missing value, and {needed} are needed; missing='expected' fills gaps "
            "by pooled moments"
        )


def require_together(card: Card, layout: Layout | None, p: int, missing: str) -> None:
    """Raise if some combination of columns that the method needs is at no site."""
    if layout is None:
        return
    if missing == "expected" and len({holding.block for holding in layout.holdings}) < len(layout.holdings):
        raise ConfigError(
            "missing='expected' cannot fill gaps of rows that several sites share; take missing='complete'"
        )
    size = 2 if missing == "expected" else card.coverage.together(p)
    lacking = layout.first_missing(size) if size < p or layout.complete_rows() == 0 else None
    if lacking is not None:
        advice = f"; {pairs_only()} needs pairs only" if size > 2 and layout.first_missing(2) is None else ""
        shown = ", ".join(map(repr, lacking)) if len(lacking) <= 4 else f"all {p} columns"
        raise DataError(f"{card.name} cannot run: no site holds {shown} together{advice}")
