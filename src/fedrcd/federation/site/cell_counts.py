"""Columns with few levels, and how many rows share each combination of them; chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from tempfile import SpooledTemporaryFile
from typing import IO

import numpy as np

from fedrcd.data.rows import Chunk, Rows
from fedrcd.data.survey import few_levels, look_at_levels
from fedrcd.data.table import Table
from fedrcd.federation.rules import Rules
from fedrcd.protocol.groups import together
from fedrcd.typing import BoolMatrix, IntVector, Vector

IN_MEMORY = 2**22
"""Bytes of narrow rows that are not written to the file."""


@dataclass(frozen=True, eq=False)
class NarrowRows:
    """Some columns of some rows, in a file: where each part of it begins, its rows, and the columns that it has."""

    source: str
    columns: tuple[str, ...]
    chosen: tuple[int, ...]
    parts: Sequence[tuple[int, int, tuple[int, ...]]] = field(repr=False)
    file: IO[bytes] = field(repr=False)
    identified: bool = False

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(rows for _, rows, _ in self.parts)

    def chunks(self) -> Iterator[Chunk]:
        """The chosen columns."""
        for offset, rows, held in self.parts:
            self.file.seek(offset)
            values = np.frombuffer(self.file.read(8 * rows * len(held))).reshape(rows, len(held))
            yield Chunk(values[:, [held.index(j) for j in self.chosen]])


@contextmanager
def narrowed(groups: Sequence[Rows], most: int) -> Iterator[list[Rows]]:
    """Of every group of a split, the columns with at most so many different values there; takes one pass for all."""
    columns = groups[0].columns
    few: list[dict[int, Vector]] = [{j: np.empty(0) for j in range(len(columns))} for _ in groups]
    parts: list[list[tuple[int, int, tuple[int, ...]]]] = [[] for _ in groups]
    with SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        for chunk, labels in together(groups):
            if not any(few):
                break
            order = np.argsort(labels, kind="stable")
            ends = np.cumsum(np.bincount(labels, minlength=len(groups)))
            for group, own in enumerate(np.split(chunk.values[order], ends[:-1])):
                if len(own) and few[group]:
                    look_at_levels(few[group], own, most)
                    held = tuple(few[group])
                    parts[group].append((file.seek(0, 2), len(own), held))
                    file.write(own[:, held].tobytes())
        yield [
            NarrowRows(one.source, tuple(columns[j] for j in found), tuple(found), mine, file)
            for one, found, mine in zip(groups, few, parts, strict=True)
        ]


def small_cells(rows: Rows, most: int, rules: Rules) -> Iterator[tuple[str, ...]]:
    """Combinations of up to `most` few-level columns with a cell that too few rows share; a pass per size."""
    levels = few_levels(rows, rules.levels)
    for size in range(1, min(most, len(levels)) + 1):
        chosen = list(combinations(levels, size))
        counts = _counted(rows, levels, chosen)
        for names, count in zip(chosen, counts, strict=True):
            if count[count > 0].min() < rules.cell:
                yield names


def without_rare_cells(table: Table, rules: Rules) -> Table:
    """The rows without those in cells of up to `rules.suppress` few-level columns that too few share; itself if none.

    Where the rare are left out others may become rare, so it is done until none is.
    """
    while True:
        levels = few_levels(table, rules.levels)
        size = min(rules.suppress, len(levels))  # cells of fewer columns are made of these
        shared: list[tuple[list[int], set[bytes]]] = []
        for names in combinations(levels, size):
            chosen = [table.columns.index(name) for name in names]
            counts: Counter[bytes] = Counter()
            for values, *_ in table.chunks():
                cells, found = np.unique(values[:, chosen], axis=0, return_counts=True)
                counts.update(dict(zip(map(bytes, cells), found.tolist(), strict=True)))
            if min(counts.values(), default=rules.cell) < rules.cell:
                shared.append((chosen, {cell for cell, found in counts.items() if found >= rules.cell}))
        if not size or not shared:
            return table
        table = table.select(partial(_in_cells, shared), by_values=True)


def _in_cells(shared: list[tuple[list[int], set[bytes]]], chunk: Chunk) -> BoolMatrix:
    """Which rows lie in cells that enough rows share, of all combinations of columns."""
    stays: BoolMatrix = np.ones(len(chunk.values), dtype=bool)
    for chosen, cells in shared:
        found, inverse = np.unique(chunk.values[:, chosen], axis=0, return_inverse=True)
        known = np.array([bytes(cell) in cells for cell in found], dtype=bool)
        stays &= known[inverse.ravel()] if len(found) else stays
    return stays


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
