"""What all statistics that may leave a site have in common: they are sums over rows, and answer for themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.typing import Matrix, Vector

if TYPE_CHECKING:
    from fedrcd.statistics.exact_sums import Clipped
    from fedrcd.statistics.grid import Grid


class Moments(NamedTuple):
    """Mean and standard deviation of each variable."""

    mean: Vector
    deviation: Vector

    @classmethod
    def of(cls, rows: Any, total: Any, squares: Any) -> Moments:
        """From counts, sums and sums of squares."""
        n = np.where(rows > 0, rows, np.nan)
        mean = total / n
        return cls(mean, np.sqrt(np.maximum(squares / n - mean**2, 0.0)))


class Sums(Protocol):
    """A statistic that may leave a site: a sum over rows."""

    @property
    def kind(self) -> str:
        """Which statistic it is."""
        ...

    @property
    def numbers(self) -> int:
        """How many numbers it takes."""
        ...

    @property
    def entries(self) -> int:
        """How many numbers about rows it tells; an exact one is a single number, however many it takes."""
        ...

    @property
    def most_rows(self) -> int:
        """The largest number of rows behind any of the numbers; 0 where they do not tell."""
        ...

    @property
    def planes(self) -> tuple[Any, ...]:
        """What holds the numbers: ordinary sums, two of them where whole numbers are split in halves."""
        ...

    @property
    def grid(self) -> Grid | None:
        """The grid on which the sums are exact; None where they are float64."""
        ...

    @property
    def clipped(self) -> Clipped | None:
        """Values that exact sums had to clip; None where sums are float64."""
        ...

    def __add__(self, other: Self) -> Self: ...
    def __sub__(self, part: Self) -> Self: ...

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise `StatisticError` if these cannot be added; `names` label variables in the message."""
        ...

    def moments_of_variables(self) -> Moments | None:
        """Mean and standard deviation of each variable in the frame, NaN without rows; None where they do not tell."""
        ...

    def total(self) -> Any:
        """The sums over all groups of rows; themselves where there are none."""
        ...

    def floats(self) -> Any:
        """The sums as methods read them, in float64."""
        ...

    def coarse(self) -> Self:
        """These sums as they may leave a site."""
        ...

    def without_clipped(self) -> Self:
        """These sums without the coarse count of clipped values, which is no sum."""
        ...

    def arranged(self, change: Callable[[Any], Any]) -> Any:
        """The same numbers in another arrangement, that of `change` of ordinary sums."""
        ...


class FloatSums:
    """The answers of ordinary sums in float64; a statistic inherits them and changes those that are not its own."""

    __slots__ = ()

    @property
    def entries(self: Sums) -> int:
        """How many numbers about rows these tell."""
        return int(self.numbers)

    @property
    def most_rows(self) -> int:
        """Not told."""
        return 0

    @property
    def grid(self) -> Grid | None:
        """None: the sums are float64."""
        return None

    @property
    def clipped(self) -> Clipped | None:
        """None: nothing is clipped."""
        return None

    @property
    def planes(self) -> tuple[Self, ...]:
        """What holds the numbers: these sums."""
        return (self,)

    def moments_of_variables(self) -> Moments | None:
        """Not told."""
        return None

    def total(self) -> Self:
        """These sums: they have no groups."""
        return self

    def floats(self) -> Self:
        """These sums."""
        return self

    def coarse(self) -> Self:
        """These sums."""
        return self

    def without_clipped(self) -> Self:
        """These sums."""
        return self

    def arranged(self, change: Callable[[Any], Any]) -> Any:
        """The sums that `change` makes of these."""
        return change(self)

    def flat(self, total: Any) -> Vector:  # noqa: ARG002 - the signature of those that can
        """Counts and sums as one vector, in the shapes of `total`, for statistics that can be weighted by groups."""
        raise StatisticError(f"{type(self).__name__} cannot be weighted by groups")


class OneArray(FloatSums):
    """Sums that are one array, `sums`: `+` pools them, `-` undoes `+`."""

    __slots__ = ()

    sums: Matrix

    def __add__(self, other: Self) -> Self:
        """Sums of both sets of rows."""
        return replace(self, sums=self.sums + other.sums)  # type: ignore[type-var]

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        return replace(self, sums=self.sums - part.sums)  # type: ignore[type-var]
