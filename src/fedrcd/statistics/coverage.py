"""Who holds what: which combinations of columns some site has for the same rows, and who answers for them.

Rows come in blocks: a block is a set of rows (the patients of one study, say), and sites that share a block hold
columns of the same rows. A combination of columns is covered by a block if one site holds all of them for it. Where
several sites do, only the first in the order of the federation answers: nobody's rows count twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fedrcd.errors import ConfigError
from fedrcd.statistics.pair_index import pair_index
from fedrcd.typing import BoolMatrix, IntMatrix


@dataclass(frozen=True, slots=True)
class Holding:
    """The columns that one site has for the rows of one block."""

    site: str
    block: str
    columns: tuple[str, ...]
    rows: int

    def ordered(self, variables: Sequence[str]) -> tuple[str, ...]:
        """The columns it has, in the order of the variables."""
        return tuple(name for name in variables if name in self.columns)


@dataclass(frozen=True, slots=True)
class Layout:
    """All holdings of a federation, in its order, over its variables."""

    variables: tuple[str, ...]
    holdings: tuple[Holding, ...]

    def __post_init__(self) -> None:
        sizes: dict[str, Holding] = {}
        for holding in self.holdings:
            known = sizes.setdefault(holding.block, holding)
            if known.rows != holding.rows:
                raise ConfigError(
                    f"block {holding.block!r} has {known.rows} rows at site {known.site!r} and {holding.rows} at site "
                    f"{holding.site!r}; a block must have the same rows everywhere"
                )
            for column in holding.columns:
                if column not in self.variables:
                    raise ConfigError(f"site {holding.site!r} holds column {column!r}, which is not a variable")
        pairs = [(holding.site, holding.block) for holding in self.holdings]
        if len(set(pairs)) < len(pairs):
            site, block = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise ConfigError(f"site {site!r} has block {block!r} twice")

    def held(self) -> BoolMatrix:
        """Which variables each holding has, shape (holdings, p)."""
        return np.array([[name in holding.columns for name in self.variables] for holding in self.holdings], dtype=bool)

    def owned(self, holds: Sequence[BoolMatrix]) -> list[BoolMatrix]:
        """What each holding answers for, of what it holds: in each block, whatever no earlier site of it holds.

        `holds` has an array per holding, of any shape, that says which combinations of columns it has.
        """
        taken: dict[str, BoolMatrix] = {}
        owned = []
        for holding, has in zip(self.holdings, holds, strict=True):
            before = taken.setdefault(holding.block, np.zeros_like(has))
            owned.append(has & ~before)
            taken[holding.block] = before | has
        return owned

    def owned_pairs(self) -> list[BoolMatrix]:
        """Pairs of variables each holding answers for, shape (p, p) each; the diagonal stands for single variables."""
        return self.owned([np.outer(has, has) for has in self.held()])

    def owned_quadruples(self) -> list[BoolMatrix]:
        """Pairs of pairs of (1, variables) each holding answers for, as `TensorSums.moments` numbers them."""
        index = pair_index(len(self.variables) + 1)
        holds = []
        for has in self.held():
            with_one = np.concatenate([[True], has])
            pairs = with_one[index.first] & with_one[index.second]
            holds.append(np.outer(pairs, pairs))
        return self.owned(holds)

    def owned_rows(self) -> list[bool]:
        """Whether each holding answers for complete rows: it has all variables, and no earlier one of its block has."""
        return [bool(owns) for owns in self.owned([has.all(keepdims=True) for has in self.held()])]

    def pair_counts(self) -> IntMatrix:
        """Rows in which each pair of variables is together at some site, shape (p, p)."""
        rows = np.array([holding.rows for holding in self.holdings], dtype=np.int64)
        return np.tensordot(rows, np.array(self.owned_pairs()), axes=1).astype(np.int64)

    def complete_rows(self) -> int:
        """Rows of which some site holds all variables."""
        return sum(holding.rows for holding, owns in zip(self.holdings, self.owned_rows(), strict=True) if owns)

    def covers_quadruples(self) -> bool:
        """Whether every combination of four variables is together at some site."""
        return self.first_missing(4) is None

    def first_missing(self, size: int) -> tuple[str, ...] | None:
        """A combination of `size` variables that no site holds together, or None.

        A combination is missing if it takes, from every site, a variable the site lacks: found by depth-first search
        over the column sets.
        """
        sets = [set(holding.columns) for holding in self.holdings]
        maximal = [one for one in sets if not any(one < other for other in sets)]
        distinct = [one for one, _ in groupby(sorted(maximal, key=sorted))]
        return self._escape(distinct, (), size)

    def _escape(self, sets: list[set[str]], chosen: tuple[str, ...], size: int) -> tuple[str, ...] | None:
        """Add variables to `chosen` until no set contains it, with at most `size` in all."""
        containing = [one for one in sets if one.issuperset(chosen)]
        if not containing:
            rest = [name for name in self.variables if name not in chosen]
            return tuple(sorted((*chosen, *rest[: size - len(chosen)]), key=self.variables.index))
        if len(chosen) == size:
            return None
        for name in self.variables:
            if name not in containing[0]:
                found = self._escape(containing, (*chosen, name), size)
                if found:
                    return found
        return None
