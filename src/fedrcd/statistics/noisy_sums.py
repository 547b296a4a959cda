"""Sums over directions with noise on them, which is all that leaves under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.packed_tensor import packed_degrees
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.sums import FloatSums
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import IntVector, Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class NoisySums(FloatSums):
    """Entries of the tensors of p coordinates, by degree, with noise; of whole numbers, one half of them.

    No count is told: the trace of degree 2 is about that.
    """

    p: int
    values: Mapping[int, Vector]

    kind: ClassVar[str] = "noisy"

    @property
    def numbers(self) -> int:
        """How many there are."""
        return sum(len(own) for own in self.values.values())

    def __add__(self, other: Self) -> Self:
        """Sums of both sites, with the noise of both."""
        return replace(self, values={degree: own + other.values[degree] for degree, own in self.values.items()})

    def __sub__(self, part: Self) -> Self:
        """Sums without those of a site, and without its noise."""
        return replace(self, values={degree: own - part.values[degree] for degree, own in self.values.items()})

    def __eq__(self, other: object) -> bool:
        """Equality to the last bit."""
        if not isinstance(other, NoisySums):
            return NotImplemented
        return (self.p, list(self.values)) == (other.p, list(other.values)) and all(
            np.array_equal(own, other.values[degree]) for degree, own in self.values.items()
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def counted(self) -> IntVector:
        """Not told."""
        return np.zeros(1, dtype=np.int64)

    @property
    def own_counts(self) -> None:
        """None: there is no count."""
        return

    def with_own_counts(self, counts: IntVector) -> NoisySums:  # noqa: ARG002 - for sums that have one
        """The same."""
        return self

    def arrays(self) -> dict[str, Any]:
        """The arrays of numbers, by what messages call them."""
        return {f"noisy sums of degree {degree}": own for degree, own in self.values.items()}

    def with_arrays(self, values: Iterable[Any]) -> NoisySums:
        """The same entries with other numbers, in the order of `arrays`."""
        return replace(self, values=dict(zip(self.values, values, strict=True)))

    def degrees(self) -> list[int]:
        """Those of the arrays."""
        return list(self.values)

    def counts_by_array(self) -> list[Any]:
        """No bound: noise may make any number of few rows."""
        return [np.inf] * len(self.values)

    def powers(self) -> dict[int, Matrix]:
        """None: noise leaves no remainders."""
        return {}

    def check(self, names: Sequence[str] = ()) -> None:  # noqa: ARG002 - any number can have come of noise
        """Raise unless there is a number for every entry."""
        degrees = packed_degrees(self.p)
        if any(own.shape != (int((degrees == degree).sum()),) for degree, own in self.values.items()):
            raise StatisticError("there are not as many noisy sums as entries of their tensor")

    def check_possible(self) -> None:
        """As `check`."""
        self.check()

    def of_pairs(self) -> PairSums:
        """Sums of order 2 with the count that their trace tells, for points of length 1; first moments are not told."""
        matrix, index = np.zeros((self.p, self.p)), pair_index(self.p)
        matrix[index.first, index.second] = matrix[index.second, index.first] = self.values[2]
        count = np.array([[max(round(math.fsum(np.diagonal(matrix))), 1)]])
        none = np.zeros((self.p, 1))
        return PairSums(2, count, {(1, 0): none, (2, 0): np.diagonal(matrix)[:, None].copy(), (1, 1): matrix})

    def of_tensors(self, count: int) -> TensorSums:
        """Tensor sums of about so many rows; degrees that are not released are 0."""
        packed, degrees = np.zeros(len(packed_degrees(self.p))), packed_degrees(self.p)
        for degree, own in self.values.items():
            packed[degrees == degree] = own
        packed[0] = count
        return TensorSums(self.p, packed)
