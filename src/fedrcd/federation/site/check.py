"""What would happen at a site, before anything is connected: whether its table fits, and what would be refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.rows import count_rows, is_complete
from fedrcd.data.site_file import past_of_site, site_rows
from fedrcd.data.sources.source import Source
from fedrcd.data.survey import few_levels, survey
from fedrcd.data.table import Table
from fedrcd.federation.messages.refusals import Refused
from fedrcd.federation.messages.roll_call import MISMATCHES, REASONS, LeftOutReason
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.cell_counts import small_cells
from fedrcd.federation.site.disclosure import Allowance, allowance
from fedrcd.federation.site.editions.choosing import Inquiry
from fedrcd.federation.site.editions.chosen_rows import Chosen
from fedrcd.federation.site.editions.exposure import exposures
from fedrcd.federation.site.log import LogEntry
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.trimming import gross_errors
from fedrcd.federation.site.unit_check import unlike_columns
from fedrcd.protocol.questions import PAIR_DEPTH

FAR = 20.0
"""Scales of the declared frame within which no value is looked at twice."""

SHOWN = 5
"""Columns that are listed."""

SOME_LEVELS = 10
"""Levels up to which a column is worth a warning."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was looked at: "fine", a "warning", or a "refusal" that some question would meet."""

    kind: Literal["fine", "warning", "refusal"]
    text: str


def check_site(door: Door, tables: Sequence[Table]) -> list[Remark]:
    """All remarks on the rows that a site's door would sum; raises as the door does where there are none."""
    federation, history = door.federation, door.store.entries()
    door = replace(door, dry_run=[])
    entry = federation.site(door.site)
    columns = f"{len(federation.measured(entry))} columns and {len(entry.blocks)} block{'s' * (len(entry.blocks) != 1)}"
    remarks = [Remark("fine", f"{columns} as the federation says")]
    for table in tables:
        before = count_rows(door.unstruck(table).select(is_complete))
        block, left_out = door.left(table)
        if door.store.sent.is_withdrawn(table.block):
            remarks.append(Remark("refusal", f"block {table.block!r} was taken out; `fedrcd contribute --rejoin`"))
        remarks += _on_left_out(table.block, left_out, before)
        remarks += _on_declared_rows(door.unstruck(table), federation)
        rules, most = door.rules_for(door.most_rows(block)), door.most_rows(block)
        remarks += _on_units_of_protection(block, federation, most, rules)
        remarks += _on_rows(block, rules)
        remarks += _on_levels(block, rules)
        remarks += _on_units(block, federation)
        remarks += _on_gross_errors(block)
    return [*remarks, *_on_editions(door, tables, history)]


def tell_columns(place: Source, federation: Federation, entry: SiteEntry) -> Iterator[Remark]:
    """What the declared columns hold: types, units, counts, gaps, levels, and no value; takes one pass."""
    if federation.lags:
        yield from (Remark("fine", str(report)) for report in past_of_site(place, federation, entry)[1])
    kinds, rows = place.schema(), site_rows(place, federation, entry)
    few, found = few_levels(rows, SOME_LEVELS), survey(rows)
    yield Remark("fine", f"{place.name}: {found.rows:,} rows, {'with' if rows.identified else 'without'} identifiers")
    for name, present in zip(rows.columns, found.present.astype(int).tolist(), strict=True):
        unit = federation.frame[name].unit if name in federation.frame else ""
        levels = few.get(name)
        known = f"{int((~np.isnan(levels)).sum())} levels" if levels is not None else f"more than {SOME_LEVELS} levels"
        what = ", ".join(filter(None, (str(kinds.field(name).type), unit, f"{present:,} values", known)))
        gaps = found.rows - present
        yield Remark("fine", f"column {name!r}: {what}" + (f", {gaps:,} missing" if gaps else ""))


def _on_declared_rows(table: Table, federation: Federation) -> Iterator[Remark]:
    rows, declared = count_rows(table), next(one.rows for one in federation.blocks if one.label == table.block)
    if rows != declared:
        yield Remark("fine", f"block {table.block!r}: {rows:,} rows; the federation file says about {declared:,}")


def _on_editions(door: Door, tables: Sequence[Table], history: Sequence[LogEntry]) -> Iterator[Remark]:
    """What the present rows are, beside the editions that sums left about."""
    try:
        with door.chosen(Inquiry(depth=PAIR_DEPTH), tables) as choice:
            for one, label, exposure in zip(choice.blocks, choice.labels, exposures(choice), strict=True):
                block = one.rows
                yield Remark("fine", f"block {block.block!r}: {_edition_in_words(one)}")
                base = door.rules_for(one.most).budget(count_rows(block), len(block.columns))
                yield _on_budget(block.block, allowance(history, exposure.vectors, label, base))
            if choice.waiting is not None:
                yield Remark("warning", f"held back: {choice.waiting}")
    except Refused as refused:
        yield Remark("refusal", str(refused))


def _edition_in_words(one: Chosen) -> str:
    if one.edition is None:
        return "its rows would be a new edition"
    return f"edition {one.edition.number}, {one.edition.rows:,} rows"


def _on_left_out(block: str, lost: Mapping[LeftOutReason, int], rows: int) -> Iterator[Remark]:
    for reason, number in lost.items():
        text = f"block {block!r}: {number:,} of {rows:,} complete rows are left out {REASONS[reason]}"
        yield Remark("warning" if number else "fine", text)


def _on_units_of_protection(block: Table, federation: Federation, most: int, rules: Rules) -> Iterator[Remark]:
    """What rules count where a unit of protection has several rows, and what that costs."""
    each = max(most, federation.rows_of_unit)
    if each > 1:
        who = f"a subject has up to {each} rows" if most > 1 else f"a row is part of up to {each} rows with a past"
        p, plain = len(block.columns), rules.needed_rows(len(block.columns)) // each
        yield Remark(
            "fine",
            f"block {block.block!r}: {who}, and the unit of protection is a {federation.unit}: {each} rows count as "
            f"one, so {rules.needed_rows(p):,} rows are needed instead of {plain:,}, and one number may leave where "
            f"{each} might",
        )


def _on_rows(block: Table, rules: Rules) -> Iterator[Remark]:
    rows, p = count_rows(block), len(block.columns)
    needed, tensor = rules.needed_rows(p), rules.needed_tensor_rows(p)
    if rows < needed:
        yield Remark("refusal", f"block {block.block!r}: {rows:,} complete rows; any question needs {needed:,}")
    elif rows < tensor:
        yield Remark(
            "refusal",
            f"block {block.block!r}: {rows:,} complete rows; the full tensor (fedrcd-s, fedrcd-t) needs {tensor:,}; "
            "other methods can run",
        )
    else:
        yield Remark("fine", f"block {block.block!r}: {rows:,} complete rows, {tensor:,} needed for any method")


def _on_levels(block: Table, rules: Rules) -> Iterator[Remark]:
    for name, values in few_levels(block, SOME_LEVELS).items():
        count = len(values)
        what = "is binary" if count == 2 else f"has {count} levels only"
        yield Remark(
            "warning", f"block {block.block!r}: column {name!r} {what}: sums give away how many rows have each"
        )
    small = next(small_cells(block, 4, rules), None)
    if small is not None:
        together = "a level" if len(small) == 1 else "a combination of levels"
        names = ", ".join(map(repr, small))
        yield Remark(
            "refusal",
            f"block {block.block!r}: fewer than {rules.cell} rows share {together} of {names}; merge levels or leave "
            "the column out",
        )


def _on_units(block: Table, federation: Federation) -> Iterator[Remark]:
    names = set()
    for name, mismatch, explanation in unlike_columns(block, federation):
        names.add(name)
        yield Remark(
            "warning",
            f"block {block.block!r}: {explanation}. A run stops for it: correct the column. (Others are told only that "
            f"the column {MISMATCHES[mismatch]}.)",
        )
    for j, name in enumerate(block.columns):
        frame = federation.frame.get(name)
        if frame is not None and name not in names:
            farthest = max(float(np.abs(values[:, j] - frame.centre).max(initial=0.0)) for values, *_ in block.chunks())
            if farthest > FAR * frame.scale:
                yield Remark("warning", f"block {block.block!r}: column {name!r} has values far outside its frame")


def _on_gross_errors(block: Table) -> Iterator[Remark]:
    names = gross_errors(block)
    if names:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        yield Remark(
            "warning",
            f"block {block.block!r}: values in {', '.join(map(repr, names[:SHOWN]))}{more} stand far apart from all "
            "others; if they are errors correct them, or leave their rows out by --trim 8, before the first answer",
        )


def _on_budget(block: str, budget: Allowance) -> Remark:
    return Remark(
        "fine" if budget.left else "refusal",
        f"block {block!r}: {budget.spent:,} of {budget.allowed:,} numbers released that may ever be",
    )
