"""Causal discovery over tables that lie in this process, one per site."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from fedrcd.api.discovery import Discovery, name_steps
from fedrcd.data.align import align_tables
from fedrcd.data.table import Table, as_table
from fedrcd.errors import ConfigError, FedrcdWarning, IdentifiabilityWarning
from fedrcd.methods.registry import Card, build, find
from fedrcd.methods.skeleton import Estimate
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import embed
from fedrcd.protocol.transport import Traffic

Progress = Callable[[Traffic], None]

GAUSSIAN_WITHIN = 4.5
"""Standard errors within which a variable passes for Gaussian."""


def discover(
    tables: Any,
    method: str = "fedrcd-x",
    *,
    stack: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Discovery:
    """Causal order and effects behind the rows of one or several tables, from sums over their rows.

    Parameters
    ----------
    tables : table or list of tables
        One per site: a DataFrame, an array with rows as observations, or a path to a CSV or Parquet file. All must
        have the same columns, which are aligned by name.
    method : str
        Name of a method; `fedrcd methods` lists them.
    stack : bool
        Allow a method for one table to stack several. Only where the rows may be pooled.
    progress : callable, optional
        Called with the traffic so far after each site's answer.
    **options
        `weights` ("adaptive-lasso", "bic" or "none"), `penalty`, and the method's own options.

    Examples
    --------
    >>> from fedrcd import discover
    >>> from fedrcd.data.examples import example_paths
    >>> discover(example_paths(), method="fedrcd-x").rounds
    7
    """
    card, parts = find(method), build(method, **options)
    checked = read_tables(tables)
    _require_tables(card, checked, stack=stack)
    names = checked[0].names
    transport = embed(
        [table.values for table in checked],
        names,
        labels=[table.source for table in checked],
        stack=card.one_table,
        progress=progress,
    )
    estimate = run(parts.rounds(transport.setting), transport)
    return collect(estimate, card, names, card.resolve(options), transport.traffic, sites=len(transport.sites))


def read_tables(tables: Any) -> list[Table]:
    """Checked tables with equal columns, from whatever `discover` accepts."""
    several = list(tables) if isinstance(tables, Sequence) and not isinstance(tables, str | bytes) else [tables]
    if not several:
        raise ConfigError("no tables were given; give one table per site")
    labels = [f"table {k}" for k in range(1, len(several) + 1)] if len(several) > 1 else ["the table"]
    return align_tables([as_table(table, label) for table, label in zip(several, labels, strict=True)])


def collect(
    estimate: Estimate, card: Card, names: tuple[str, ...], options: dict[str, Any], traffic: Traffic, *, sites: int
) -> Discovery:
    """An estimate with names, costs and the notes it calls for; each note is also issued as a warning."""
    warned = _notes(estimate, card, names)
    for warning in warned:
        warnings.warn(warning, stacklevel=3)
    return Discovery(
        names=names,
        order=tuple(names[i] for i in estimate.order),
        B=estimate.B,
        method=card.name,
        options=options,
        rows=estimate.marginals.rows,
        sites=sites,
        rounds=traffic.rounds,
        bytes_sent=traffic.bytes_sent,
        trace=name_steps(estimate.steps, names),
        notes=tuple(str(warning) for warning in warned),
    )


def _require_tables(card: Card, tables: list[Table], *, stack: bool) -> None:
    if card.one_table and len(tables) > 1 and not stack:
        raise ConfigError(
            f"{card.name} works on one table and {len(tables)} were given; use {card.counterpart}, which gives the "
            "same order from sums, or stack=True (--stack) where the rows may be pooled"
        )


def _notes(estimate: Estimate, card: Card, names: tuple[str, ...]) -> list[FedrcdWarning]:
    """What the user should know before trusting the result."""
    if (estimate.marginals.distance >= GAUSSIAN_WITHIN).any():
        return []
    what = "skewness" if card.score == "tau3" else "departure from a Gaussian distribution"
    return [
        IdentifiabilityWarning(
            f"none of the {len(names)} variables shows a {what} beyond sampling error, so {card.name} cannot identify "
            "the order: treat it as arbitrary" + ("; try a fourth-order method" if card.score == "tau3" else "")
        )
    ]
