"""What a federation allows before anybody answers: which combinations of columns are together, which methods run.

Everything follows from who holds which columns of which block of rows; no data are needed.

| a method that needs | runs if |
|---|---|
| pairs | every pair of variables is together at some site |
| quadruples | every four variables are together at some site |
| all columns | some site holds all variables of some block |
| one table | some site holds all variables of all blocks |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from fedrcd.methods.card import Card, Coverage
from fedrcd.methods.registry import METHODS
from fedrcd.statistics.coverage import Layout
from fedrcd.typing import BoolMatrix, IntMatrix, IntVector

ONE_TABLE = "one table"
"""What a method needs that works on one table."""


@dataclass(frozen=True, slots=True)
class SiteShare:
    """What one site holds: how many columns, which blocks, how many rows."""

    name: str
    columns: int
    blocks: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Together:
    """In how many rows the combinations of `size` variables are together at some site.

    `fewest`, `median` and `most` are numbers of rows over all combinations, `worst` is one that has the fewest.
    """

    size: int
    total: int
    covered: int
    fewest: int
    median: float
    most: int
    worst: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MethodVerdict:
    """Whether a method runs; `missing` says why not, and is empty if it does.

    `rows` are those that count: for combinations of columns, of the one that has the fewest; else complete rows.
    """

    method: str
    needs: str
    missing: str
    rows: int

    @property
    def words(self) -> str:
        """The verdict for people."""
        return f"impossible: {self.missing}" if self.missing else "exact"


@dataclass(frozen=True, slots=True)
class Remedy:
    """The one further column at one site that helps most with an unmet need.

    It is `enough` if the need is met with it; else it only puts `goal` together. `site` and `column` are empty if no
    single column even does that.
    """

    needs: str
    goal: tuple[str, ...]
    site: str = ""
    column: str = ""
    enough: bool = False

    @property
    def words(self) -> str:
        """The remedy for people."""
        if self.enough:
            return f"{self.column} at {self.site} is enough"
        if self.site:
            return f"no single column is enough; {self.column} at {self.site} would put {_listed(self.goal)} together"
        return "no single column is enough"


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """What the holdings of a federation allow.

    `pair_counts` are the rows of each pair of variables, shape (p, p); remedies are there for unmet needs alone.
    """

    variables: tuple[str, ...]
    sites: tuple[SiteShare, ...]
    blocks: int
    rows: int
    complete_rows: int
    together: tuple[Together, ...]
    pair_counts: tuple[tuple[int, ...], ...]
    verdicts: tuple[MethodVerdict, ...]
    remedies: tuple[Remedy, ...]


def coverage_report(layout: Layout, methods: Mapping[str, Card] = METHODS) -> CoverageReport:
    """What the holdings of a federation allow, for every method."""
    sizes = {holding.block: holding.rows for holding in layout.holdings}
    needs = {card.name: card.needs for card in methods.values()}
    missing = {need: _missing(layout, need) for need in dict.fromkeys(needs.values())}
    covered = tuple(together(layout, size) for size in (2, 3, 4) if size <= len(layout.variables))
    complete, total = layout.complete_rows(), sum(sizes.values())
    rows = {
        Coverage.PAIRS: covered[0].fewest,
        Coverage.QUADRUPLES: covered[-1].fewest,
        Coverage.ALL_COLUMNS: complete,
        ONE_TABLE: total,
    }
    return CoverageReport(
        variables=layout.variables,
        sites=tuple(_shares(layout)),
        blocks=len(sizes),
        rows=total,
        complete_rows=complete,
        together=covered,
        pair_counts=tuple(tuple(row) for row in layout.pair_counts().tolist()),
        verdicts=tuple(
            MethodVerdict(name, need, missing[need], 0 if missing[need] else rows[need]) for name, need in needs.items()
        ),
        remedies=tuple(_remedy(layout, need) for need, lack in missing.items() if lack and need != ONE_TABLE),
    )


def together(layout: Layout, size: int) -> Together:
    """In how many rows the combinations of `size` variables are together.

    Variables that the same sites hold for the same blocks are alike, so that it is enough to look at one combination
    of each sort and to count how many there are of it.
    """
    held = layout.held()
    alike: dict[bytes, list[int]] = {}
    for j in range(len(layout.variables)):
        alike.setdefault(held[:, j].tobytes(), []).append(j)
    room = np.array([len(members) for members in alike.values()])
    number_by_rows: Counter[int] = Counter()
    worst, fewest = np.empty(0, dtype=np.int64), np.inf
    for sorts in _sorts(room, size):
        rows = _rows(layout, held[:, [members[0] for members in alike.values()]], sorts)
        for value, number in zip(rows.tolist(), _numbers(sorts, room).tolist(), strict=True):
            number_by_rows[value] += number
        if rows.min() < fewest:
            worst, fewest = sorts[rows.argmin()], rows.min()
    return Together(
        size=size,
        total=comb(len(layout.variables), size),
        covered=sum(number for rows, number in number_by_rows.items() if rows),
        fewest=min(number_by_rows),
        median=_median(number_by_rows),
        most=max(number_by_rows),
        worst=_example(layout, list(alike.values()), worst),
    )


def _sorts(room: IntVector, size: int) -> Iterator[IntMatrix]:
    """Sorts of combinations of `size` variables of classes with so much room, a row each; in pieces."""
    for first in range(len(room)):
        rest = list(combinations_with_replacement(range(first, len(room)), size - 1))
        sorts = np.array([(first, *others) for others in rest], dtype=np.int64)
        possible = sorts[_numbers(sorts, room) > 0]
        if len(possible):
            yield possible


def _numbers(sorts: IntMatrix, room: IntVector) -> IntVector:
    """How many combinations there are of each sort: a product of binomial coefficients."""
    numbers = np.ones(len(sorts), dtype=np.int64)
    before = np.zeros(len(sorts), dtype=np.int64)  # how often the class at this position stood before it
    for position in range(sorts.shape[1]):
        if position:
            before = np.where(sorts[:, position] == sorts[:, position - 1], before + 1, 0)
        numbers = numbers * np.maximum(room[sorts[:, position]] - before, 0) // (before + 1)
    return numbers


def _rows(layout: Layout, held: BoolMatrix, sorts: IntMatrix) -> IntVector:
    """Rows in which each sort of combination is together; `held` has a column per class."""
    owned = layout.owned([np.all(has[sorts], axis=1) for has in held])
    rows = np.zeros(len(sorts), dtype=np.int64)
    for holding, owns in zip(layout.holdings, owned, strict=True):
        rows += holding.rows * owns
    return rows


def _example(layout: Layout, classes: Sequence[Sequence[int]], sort: IntVector) -> tuple[str, ...]:
    """The first combination of a sort."""
    chosen = [j for c, times in Counter(sort.tolist()).items() for j in classes[c][:times]]
    return tuple(layout.variables[j] for j in sorted(chosen))


def _median(number_by_rows: Mapping[int, int]) -> float:
    values = sorted(number_by_rows)
    last = np.cumsum([number_by_rows[value] for value in values])
    low, high = np.searchsorted(last, [(last[-1] - 1) // 2, last[-1] // 2], side="right").tolist()
    return float((values[low] + values[high]) / 2)


def _shares(layout: Layout) -> Iterator[SiteShare]:
    for site in dict.fromkeys(holding.site for holding in layout.holdings):
        own = [holding for holding in layout.holdings if holding.site == site]
        columns = {column for holding in own for column in holding.columns}
        yield SiteShare(site, len(columns), tuple(one.block for one in own), sum(one.rows for one in own))


def _missing(layout: Layout, need: str) -> str:
    """What a federation lacks for a need, in words; nothing if it is met."""
    if need == ONE_TABLE:
        return "" if _has_one_table(layout) else "no site holds all rows and columns; tables must be stacked"
    goal = _goal(layout, need)
    if not goal:
        return ""
    if need == Coverage.ALL_COLUMNS:
        nearest = max(layout.holdings, key=lambda holding: len(holding.columns))
        lacking = [name for name in goal if name not in nearest.columns]
        return f"no site holds all {len(goal)} columns; the nearest, {nearest.site}, lacks {_listed(lacking)}"
    return f"no site holds {_listed(goal)}{' together' * (len(goal) > 1)}"


def _goal(layout: Layout, need: str) -> tuple[str, ...]:
    """A smallest combination of variables that must be together for a need and is not; empty if it is met."""
    if need == Coverage.ALL_COLUMNS:
        return () if layout.complete_rows() else layout.variables
    found = (layout.first_missing(size) for size in range(1, Coverage(need).together(len(layout.variables)) + 1))
    return next((combination for combination in found if combination), ())


def _has_one_table(layout: Layout) -> bool:
    blocks = {holding.block for holding in layout.holdings}
    complete = [one for one in layout.holdings if set(one.columns) == set(layout.variables)]
    return any({one.block for one in complete if one.site == site} == blocks for site in {one.site for one in complete})


def _remedy(layout: Layout, need: str) -> Remedy:
    """The best single column: any that meets the need must put the goal together, so no other is tried."""
    goal = _goal(layout, need)
    best, rank = Remedy(need, goal), (False, 0)
    for holding in layout.holdings:
        lacking = [name for name in goal if name not in holding.columns]
        if len(lacking) == 1:
            site, column = holding.site, lacking[0]
            enough = not _goal(_with_column(layout, site, column), need)
            rows = sum(one.rows for one in layout.holdings if one.site == site)
            if (enough, rows) > rank:
                best, rank = Remedy(need, goal, site, column, enough), (enough, rows)
    return best


def _with_column(layout: Layout, site: str, column: str) -> Layout:
    """The holdings if a site had one more column, for all its blocks."""
    holdings = [
        replace(one, columns=tuple(dict.fromkeys((*one.columns, column)))) if one.site == site else one
        for one in layout.holdings
    ]
    return replace(layout, holdings=tuple(holdings))


def _listed(names: Sequence[str], limit: int = 5) -> str:
    """Names in a sentence: a, b and c; at most `limit` of them."""
    shown = list(names) if len(names) <= limit else [*names[: limit - 1], f"{len(names) - limit + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
