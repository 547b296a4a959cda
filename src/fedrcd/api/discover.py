"""Causal discovery over tables that lie in this process, one per site."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fedrcd.api.discovery import Discovery, name_steps
from fedrcd.api.notes import identifiability, outliers, scale, variance_agreement
from fedrcd.data.align import align_tables
from fedrcd.data.table import Table, as_table
from fedrcd.errors import ConfigError
from fedrcd.methods.auto import AUTO, Choice, Circumstances, choose
from fedrcd.methods.registry import COMMON_OPTIONS, Card, build, find
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import embed
from fedrcd.protocol.transport import Traffic

Progress = Callable[[Traffic], None]


def discover(
    tables: Any,
    method: str = AUTO,
    *,
    trim: float | None = None,
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
        Name of a method (`fedrcd methods` lists them), or "auto" to have one chosen.
    trim : float, optional
        Leave out rows with a value more than this many robust scales from its column's median; 8 removes gross errors.
        Not free: rows of clean but heavy-tailed data are lost too.
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
    >>> discover(example_paths()).rounds
    1
    """
    if trim is not None and not (isinstance(trim, int | float) and trim > 0):
        raise ConfigError(f"trim must be above 0, got {trim!r}")
    _require_settings(method, options)
    checked = read_tables(tables)
    sizes = [len(table.values) for table in checked]
    known = Circumstances(p=len(checked[0].names), rows=sum(sizes))
    choice = choose(known) if method == AUTO else Choice(method, "")
    card = find(choice.method)
    _require_tables(card, checked, stack=stack)
    transport = embed(
        [table.values for table in checked],
        checked[0].names,
        labels=[table.source for table in checked],
        stack=card.one_table,
        trim=trim,
        progress=progress,
    )
    estimate = run(build(card.name, **options).rounds(transport.setting), transport)
    notes = [
        *identifiability(estimate, card),
        *scale(estimate, card),
        *outliers(transport, trim, [sum(sizes)] if card.one_table else sizes),
    ]
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Discovery(
        names=checked[0].names,
        order=tuple(checked[0].names[i] for i in estimate.order),
        B=estimate.B,
        method=card.name,
        chosen=choice.reason,
        options=card.resolve(options),
        rows=estimate.marginals.rows,
        sites=len(transport.sites),
        rounds=0 if card.one_table else transport.traffic.rounds,
        bytes_sent=0 if card.one_table else transport.traffic.bytes_sent,
        variance_agreement=variance_agreement(estimate),
        trace=name_steps(estimate.steps, checked[0].names),
        notes=tuple(map(str, notes)),
    )


def read_tables(tables: Any) -> list[Table]:
    """Checked tables with equal columns, from whatever `discover` accepts."""
    several = list(tables) if isinstance(tables, Sequence) and not isinstance(tables, str | bytes) else [tables]
    if not several:
        raise ConfigError("no tables were given; give one table per site")
    labels = [f"table {k}" for k in range(1, len(several) + 1)] if len(several) > 1 else ["the table"]
    checked = [as_table(table, label) for table, label in zip(several, labels, strict=True)]
    if len({table.source for table in checked}) < len(checked):  # files of one name in several folders
        checked = [
            replace(table, source=str(given)) if isinstance(given, str | os.PathLike) else table
            for table, given in zip(checked, several, strict=True)
        ]
    return align_tables(checked)


def _require_settings(method: str, options: dict[str, Any]) -> None:
    """Raise for a wrong name or option, before anything is read."""
    if method != AUTO:
        build(method, **options)
        return
    for option in options:
        if option not in COMMON_OPTIONS:
            known = ", ".join(COMMON_OPTIONS)
            raise ConfigError(f"auto has no option {option!r}; its options: {known}; name a method to set others")
    build("fedrcd-s", **options)


def _require_tables(card: Card, tables: list[Table], *, stack: bool) -> None:
    if card.one_table and len(tables) > 1 and not stack:
        raise ConfigError(
            f"{card.name} works on one table and {len(tables)} were given; use {card.counterpart}, which gives the "
            "same order from sums, or stack=True (--stack) where the rows may be pooled"
        )
