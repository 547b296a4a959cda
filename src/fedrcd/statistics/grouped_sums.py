"""Sums of groups of rows, kept apart by site and block, and their weighted totals: what a bootstrap draws from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.exact_sums import Clipped, ExactSums
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.sums import Moments
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import Matrix, Vector

Origin = tuple[str, str]
"""A site and the block of rows it answered for."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupedSums:
    """One statistic per group of rows, of one or several sites; `+` puts sites together, `-` takes sites out."""

    groups: Mapping[Origin, tuple[PairSums | TensorSums | ExactSums, ...]]

    kind: ClassVar[str] = "groups"

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        return sum(int(part.numbers) for parts in self.groups.values() for part in parts)

    @property
    def entries(self) -> int:
        """How many numbers about rows these tell."""
        return sum(int(part.entries) for parts in self.groups.values() for part in parts)

    @property
    def most_rows(self) -> int:
        """The largest number of rows of any block, all its groups together."""
        return max((sum(part.most_rows for part in parts) for parts in self.groups.values()), default=0)

    @property
    def grid(self) -> Grid | None:
        """The grid of all groups; None where they are float64."""
        return next(part.grid for parts in self.groups.values() for part in parts)

    @property
    def planes(self) -> tuple[Self]:
        """The groups."""
        return (self,)

    def floats(self) -> Self:
        """The groups as they are: their totals are read as float64."""
        return self

    def coarse(self) -> Self:
        """The groups as they are: each was made ready to leave."""
        return self

    @property
    def smallest(self) -> int:
        """Rows of the smallest group: what a rule of minimum rows is about."""
        return min(rows_of(part) for parts in self.groups.values() for part in parts)

    @property
    def clipped(self) -> Clipped | None:
        """Values that exact sums had to clip; None where sums are float64."""
        counts = [part.clipped for parts in self.groups.values() for part in parts]
        known = [count for count in counts if count is not None]
        return sum(known, Clipped()) if known else None

    def __add__(self, other: Self) -> Self:
        """The groups of both."""
        twice = set(self.groups) & set(other.groups)
        if twice:
            site, block = sorted(twice)[0]
            raise StatisticError(f"site {site!r} has sent the groups of block {block!r} twice")
        return type(self)({**self.groups, **other.groups})

    def __sub__(self, part: Self) -> Self:
        """The groups without those of some sites."""
        absent = set(part.groups) - set(self.groups)
        if absent:
            raise StatisticError(f"site {sorted(absent)[0][0]!r} is not among those to be taken out")
        return type(self)({key: parts for key, parts in self.groups.items() if key not in part.groups})

    def without_clipped(self) -> Self:
        """The groups as they are."""
        return self

    def arranged(self, change: Callable[[Any], Any]) -> Self:
        """Every group in another arrangement."""
        return type(self)({key: tuple(part.arranged(change) for part in parts) for key, parts in self.groups.items()})

    def arranged_by(self, change: Callable[[Any], Any]) -> Self:
        """What becomes of the sums of every group."""
        return type(self)({key: tuple(map(change, parts)) for key, parts in self.groups.items()})

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise unless every group can be used."""
        for parts in self.groups.values():
            for part in parts:
                part.check(names)

    def require_alike(self) -> None:
        """Raise unless sites that hold columns of the same rows split them alike, as far as group sizes tell."""
        sizes: dict[str, tuple[str, list[int]]] = {}
        for (site, block), parts in sorted(self.groups.items()):
            mine = [rows_of(part) for part in parts]
            other, theirs = sizes.setdefault(block, (site, mine))
            if sum(mine) == sum(theirs) and mine != theirs:
                raise StatisticError(
                    f"sites {other!r} and {site!r} split the rows of block {block!r} differently: they need the same "
                    "group secret, and the same identifiers"
                )

    def moments_of_variables(self) -> Moments | None:
        """Those of all groups together."""
        moments: Moments | None = self.total().moments_of_variables()
        return moments

    def total(self) -> Any:
        """The sums over all groups, in the order of sites and blocks."""
        parts: list[Any] = [part for key in sorted(self.groups) for part in self.groups[key]]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def stack(self) -> Stack:
        """The groups as rows of one array."""
        return Stack.of(self)


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Groups as rows of one array, shape (units, numbers), in the order of sites and blocks."""

    origins: tuple[Origin, ...]
    """Where each unit comes from."""
    number: tuple[int, ...]
    """Which group of its block each unit is; sites that share a block split it alike."""
    values: Matrix
    template: Any
    """A statistic with the shapes of the total."""

    @classmethod
    def of(cls, grouped: GroupedSums) -> Stack:
        """Stack groups; sites and blocks are sorted, so the order in which they answered does not matter."""
        total = grouped.total().floats()
        keys = sorted(grouped.groups)
        origins = tuple(key for key in keys for _ in grouped.groups[key])
        number = tuple(k for key in keys for k in range(len(grouped.groups[key])))
        values = np.stack([part.floats().flat(total) for key in keys for part in grouped.groups[key]])
        return cls(origins, number, values, total)

    def combine(self, weights: Vector) -> Any:
        """The sums with each unit counted `weights` times, shape (units,).

        Counts are brought to whole numbers, and the sums with them, so that every mean is the weighted one exactly.
        """
        return self.template.restored(weights @ self.values)

    def without(self, site: str) -> Vector:
        """Weights that leave one site out."""
        return np.array([float(origin[0] != site) for origin in self.origins])


def rows_of(part: Any) -> int:
    """Rows behind a statistic, of its entry that has fewest but some."""
    counted = part.counted
    return round(float(counted.min())) if counted.size else 0
