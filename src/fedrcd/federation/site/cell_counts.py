"""Columns with few levels, and how many rows share each combination of them; chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from fedrcd.data.rows import Rows
from fedrcd.federation.rules import Rules
from fedrcd.typing import IntVector, Vector


def few_levels(rows: Rows, most: int) -> dict[str, Vector]:
    """The columns with at most so many different values, each with its values in order."""
    found: dict[int, Vector] = {j: np.empty(0) for j in range(len(rows.columns))}
    for values, *_ in rows.chunks():
        if not found:  # most tables have none, and a pass over many rows takes minutes
            break
        for j in list(found):
            if len(np.unique(values[:1000, j])) > most:
                del found[j]
                continue
            found[j] = np.union1d(found[j], values[:, j])
            if len(found[j]) > most:
                del found[j]
    return {rows.columns[j]: levels for j, levels in found.items()}


def small_cells(rows: Rows, most: int, rules: Rules) -> Iterator[tuple[str, ...]]:
    """Combinations of up to `most` few-level columns with a cell that too few rows share; a pass per size."""
    levels = few_levels(rows, rules.levels)
    for size in range(1, min(most, len(levels)) + 1):
        chosen = list(combinations(levels, size))
        counts = _counted(rows, levels, chosen)
        for names, count in zip(chosen, counts, strict=True):
            if count[count > 0].min() < rules.cell:
                yield names


def least_joint_cell(rows: Rows, rules: Rules) -> int:
    """Rows in the smallest cell of all few-level columns together; cells of some of them are made of these."""
    levels = few_levels(rows, rules.levels)
    counts: Counter[bytes] = Counter()
    for values, *_ in rows.chunks():
        codes = [np.searchsorted(known, values[:, rows.columns.index(name)]) for name, known in levels.items()]
        cells, found = np.unique(np.array(codes, dtype=np.int8).T, axis=0, return_counts=True)
        counts.update(dict(zip(map(bytes, cells), found.tolist(), strict=True)) if len(codes) else {b"": len(values)})
    return min(counts.values(), default=0)


def _counted(rows: Rows, levels: dict[str, Vector], chosen: list[tuple[str, ...]]) -> list[IntVector]:
    """Rows in every cell of every combination."""
    base = max(len(values) for values in levels.values())
    counts = [np.zeros(base ** len(names), dtype=np.int64) for names in chosen]
    for values, *_ in rows.chunks():
        codes = {name: np.searchsorted(known, values[:, rows.columns.index(name)]) for name, known in levels.items()}
        for names, count in zip(chosen, counts, strict=True):
            cell = np.zeros(len(values), dtype=np.int64)
            for name in names:
                cell = cell * base + codes[name]
            count += np.bincount(cell, minlength=len(count))
    return counts
