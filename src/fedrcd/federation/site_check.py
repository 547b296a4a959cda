"""What would happen at a site, before anything is connected: whether its table fits, and what would be refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.federation.guards import few_levels, small_cells, spent_numbers
from fedrcd.federation.rules import Rules
from fedrcd.federation.site_log import ANSWERED, Entry
from fedrcd.federation.site_service import SiteSettings, open_blocks, site_entry
from fedrcd.federation.trimming import gross_errors, tagged_limit, trim_block, trim_tag
from fedrcd.protocol.embedded import LocalBlock

FAR = 5.0
"""Scales of the declared frame from which a mean looks like another unit; standard deviations by this factor."""

SHOWN = 5
"""Columns that are listed."""

SOME_LEVELS = 10
"""Levels up to which a column is worth a warning."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: "fine", a "warning", or a "refusal" that some question would meet."""

    kind: Literal["fine", "warning", "refusal"]
    text: str


def check_site(settings: SiteSettings, federation: Federation, history: Sequence[Entry] = ()) -> list[Finding]:
    """All findings on a site's table; raises as reading it does if it is not what the federation says."""
    entry = site_entry(federation, settings.name)
    complete = open_blocks(federation, settings.name, settings.data)
    columns = f"{len(entry.columns)} columns and {len(entry.blocks)} block{'s' * (len(entry.blocks) != 1)}"
    findings = [Finding("fine", f"{columns} as the federation says")]
    for before in complete:
        block = before if settings.trim is None else trim_block(before, federation, settings.trim)
        findings += _on_trim(block, len(before.rows), settings.trim)
        tag = trim_tag(block.columns, federation, settings.trim)
        findings += _on_earlier_trims(block, tag, history)
        findings += _on_rows(block, settings.rules)
        findings += _on_levels(block, settings.rules)
        findings += _on_units(block, federation)
        findings += _on_gross_errors(block)
        findings += _on_budget(block, settings.rules, history)
    return findings


def _on_trim(block: LocalBlock, rows: int, trim: float | None) -> Iterator[Finding]:
    if trim is not None:
        lost = rows - len(block.rows)
        text = f"block {block.block!r}: --trim {trim:g} leaves out {lost:,} of {rows:,} complete rows"
        yield Finding("warning" if lost else "fine", text)


def _on_earlier_trims(block: LocalBlock, tag: str, history: Sequence[Entry]) -> Iterator[Finding]:
    used = {entry.trim for entry in history if entry.outcome == ANSWERED and entry.block == block.block}
    for other in sorted(used - {tag}):
        limit = tagged_limit(other)
        how = f"{limit} in another frame" if limit == tagged_limit(tag) else limit
        yield Finding(
            "refusal",
            f"block {block.block!r}: its rows were summed with {how} before; keep to that: only rows of a new block "
            "may be trimmed otherwise",
        )


def _on_rows(block: LocalBlock, rules: Rules) -> Iterator[Finding]:
    rows, p = len(block.rows), len(block.columns)
    needed, tensor = rules.needed_rows(p), rules.needed_tensor_rows(p)
    if rows < needed:
        yield Finding("refusal", f"block {block.block!r}: {rows:,} complete rows; any question needs {needed:,}")
    elif rows < tensor:
        yield Finding(
            "refusal",
            f"block {block.block!r}: {rows:,} complete rows; the full tensor (fedrcd-s, fedrcd-t) needs {tensor:,}; "
            "other methods can run",
        )
    else:
        yield Finding("fine", f"block {block.block!r}: {rows:,} complete rows, {tensor:,} needed for any method")


def _on_levels(block: LocalBlock, rules: Rules) -> Iterator[Finding]:
    levels = few_levels(block.rows, block.columns, SOME_LEVELS)
    for name, codes in levels.items():
        count = int(codes.max()) + 1
        what = "is binary" if count == 2 else f"has {count} levels only"
        yield Finding(
            "warning", f"block {block.block!r}: column {name!r} {what}: sums give away how many rows have each"
        )
    small = next(small_cells(block.rows, block.columns, 4, rules), None)
    if small is not None:
        together = "a level" if len(small) == 1 else "a combination of levels"
        names = ", ".join(map(repr, small))
        yield Finding(
            "refusal",
            f"block {block.block!r}: fewer than {rules.cell} rows share {together} of {names}; merge levels or leave "
            "the column out",
        )


def _on_units(block: LocalBlock, federation: Federation) -> Iterator[Finding]:
    for name, values in zip(block.columns, block.rows.T, strict=True):
        frame = federation.frame.get(name)
        if frame is None:
            continue
        shift, spread = abs(values.mean() - frame.centre) / frame.scale, values.std() / frame.scale
        if shift > FAR or not 1 / FAR < spread < FAR:
            unit = f", in {frame.unit}" if frame.unit else ""
            yield Finding(
                "warning",
                f"block {block.block!r}: column {name!r} lies far from its declared frame{unit}: is it another unit?",
            )
        elif np.abs(values - frame.centre).max() / frame.scale > 4 * FAR:
            yield Finding("warning", f"block {block.block!r}: column {name!r} has values far outside its frame")


def _on_gross_errors(block: LocalBlock) -> Iterator[Finding]:
    names = gross_errors(block)
    if names:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        yield Finding(
            "warning",
            f"block {block.block!r}: values in {', '.join(map(repr, names[:SHOWN]))}{more} stand far apart from all "
            "others; if they are errors correct them, or leave their rows out by --trim 8, before the first answer",
        )


def _on_budget(block: LocalBlock, rules: Rules, history: Sequence[Entry]) -> Iterator[Finding]:
    spent, allowed = spent_numbers(history, block.block), rules.budget(len(block.rows), len(block.columns))
    yield Finding(
        "fine" if spent < allowed else "refusal",
        f"block {block.block!r}: {spent:,} of {allowed:,} numbers released that may ever be",
    )
