"""Sums of groups of rows, kept apart by site and block, and their weighted totals: what a bootstrap draws from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.exact_sums import Clipped, ExactSums
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import Matrix, Vector

Origin = tuple[str, str]
"""A site and the block of rows it answered for."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupedSums:
    """One statistic per group of rows, of one or several sites; `+` puts sites together, `-` takes sites out."""

    groups: Mapping[Origin, tuple[PairSums | TensorSums | ExactSums, ...]]

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        return sum(int(part.numbers) for parts in self.groups.values() for part in parts)

    @property
    def smallest(self) -> int:
        """Rows of the smallest group: what a rule of minimum rows is about."""
        return min(rows_of(part) for parts in self.groups.values() for part in parts)

    @property
    def clipped(self) -> Clipped | None:
        """Values that exact sums had to clip; None where sums are float64."""
        parts = [part.clipped for parts in self.groups.values() for part in parts if isinstance(part, ExactSums)]
        return sum(parts, Clipped()) if parts else None

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
        total = in_floats(grouped.total())
        keys = sorted(grouped.groups)
        origins = tuple(key for key in keys for _ in grouped.groups[key])
        number = tuple(k for key in keys for k in range(len(grouped.groups[key])))
        values = np.stack([_flat(in_floats(part), total) for key in keys for part in grouped.groups[key]])
        return cls(origins, number, values, total)

    def combine(self, weights: Vector) -> Any:
        """The sums with each unit counted `weights` times, shape (units,).

        Counts are brought to whole numbers, and the sums with them, so that every mean is the weighted one exactly.
        """
        return _restored(weights @ self.values, self.template)

    def without(self, site: str) -> Vector:
        """Weights that leave one site out."""
        return np.array([float(origin[0] != site) for origin in self.origins])


def rows_of(part: Any) -> int:
    """Rows behind a statistic, of its entries that have any."""
    counts = in_floats(part).counted() if isinstance(in_floats(part), TensorSums) else in_floats(part).count
    held = np.asarray(counts)[np.asarray(counts) > 0]
    return round(float(held.min())) if held.size else 0


def in_floats(part: Any) -> Any:
    """Sums that can be weighted: exact ones are read as float64."""
    return part.floats() if isinstance(part, ExactSums) else part


def _flat(part: Any, total: Any) -> Vector:
    """Counts and sums as one vector, in the shapes of the total."""
    if isinstance(part, PairSums):
        arrays = [np.broadcast_to(part.count, total.count.shape)]
        arrays += [np.broadcast_to(part.sums[power], total.sums[power].shape) for power in sorted(total.sums)]
        return np.concatenate([np.asarray(array, dtype=float).ravel() for array in arrays])
    if isinstance(part, TensorSums):
        return np.concatenate([part.packed, part.counted()])
    raise StatisticError(f"{type(part).__name__} cannot be weighted by groups")


def _restored(values: Vector, template: Any) -> Any:
    """A statistic of the template's kind and shapes from what `_flat` gives, with whole counts."""
    if isinstance(template, TensorSums):
        packed, counts = np.split(values, 2)
        whole = np.rint(counts)
        packed = packed * _ratio(whole, counts)
        return TensorSums(template.p, packed, None if template.counts is None else whole)
    counts, rest = np.split(values, [template.count.size])
    whole = np.rint(counts).reshape(template.count.shape)
    ratio = _ratio(whole, counts.reshape(template.count.shape))
    sums = {}
    for power in sorted(template.sums):
        shape = template.sums[power].shape
        values, rest = np.split(rest, [int(np.prod(shape))])
        sums[power] = values.reshape(shape) * ratio
    return PairSums(template.order, whole.astype(np.int64), sums)


def _ratio(whole: Matrix, counts: Matrix) -> Matrix:
    ratio: Matrix = np.divide(whole, counts, out=np.zeros_like(counts), where=counts > 0)
    return ratio
