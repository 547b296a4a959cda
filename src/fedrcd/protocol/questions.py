r"""What a coordinator may ask: small frozen values that say which sums, of which variables, in which frame.

A question may ask for residuals: with a matrix R of shape (u, p) the site takes its sums over
:math:`r = R z` instead of z. Sites keep no state: whatever a round depends on travels in the question, so a
restarted site gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar, cast

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.entropy_sums import EntropySums, entropy_sums
from fedrcd.statistics.exact_sums import ExactSums, exact_pair_sums, exact_tensor_sums
from fedrcd.statistics.expectation import (
    ExpectedMoments,
    Gaussian,
    expected_moments,
    expected_pair_sums,
    expected_tensor_sums,
)
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.pair_sums import PairSums, pair_sums, pair_sums_with_gaps
from fedrcd.statistics.site_moments import PowerSums, SiteMoments, power_sums
from fedrcd.statistics.tensor_sums import TensorSums, tensor_sums, tensor_sums_with_gaps
from fedrcd.typing import IntMatrix, Matrix, Vector


class Sums(Protocol):
    """A statistic that may leave a site: a sum over rows."""

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        ...

    def __add__(self, other: Self) -> Self: ...
    def __sub__(self, part: Self) -> Self: ...

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise `StatisticError` if these cannot be added; `names` label variables in the message."""
        ...


S = TypeVar("S", bound=Sums)
R_co = TypeVar("R_co", covariant=True)


class Question(Protocol[S]):
    """Asks for one statistic; `answer` runs at a site."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the site must hold, in the order the question means them."""
        ...

    @property
    def frame(self) -> Frame:
        """The reference frame of those variables."""
        ...

    def share(self, layout: Layout | None, holding: int) -> Share[S] | None:
        """What a holding answers for, None if nothing; without a layout every site holds rows of its own, complete."""
        ...

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> Any:
        """Sums over rows that arrive in blocks, in the frame; with `gaps` missing values are NaN.

        Blocks may be overwritten. What leaves a site is the answer of its share, `finish`ed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Share(Generic[S]):
    """A holding's share of a question: what to ask its rows, and how the answer fits in with the others."""

    question: Question[Any]
    finish: Callable[[Any], S]
    fills: bool = False
    """Whether columns that the holding lacks count as missing values."""


Rounds: TypeAlias = Generator[Question[Any], Any, R_co]
"""A conversation: yields questions, is sent pooled answers, returns a result."""


def ask(question: Question[S]) -> Rounds[S]:
    """Yield one question and return its pooled answer, with its type; exact sums are read as float64."""
    answer: Any = yield question
    return cast("S", answer.floats() if isinstance(answer, ExactSums) else answer)


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """What a residual map was computed from: pooled moments in the frame, and the variables regressed on.

    It changes no answer. A site that guards its rows asks for it, to see that the map is what it claims to be.
    """

    moments: Gaussian
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PairQuestion:
    """Asks for pair sums up to an order, of the variables or of residuals R z.

    Residuals need all variables of a row at one site; `complete` restricts the variables themselves to such rows too.
    """

    variables: tuple[str, ...]
    frame: Frame
    order: int
    residuals: Matrix | None = None
    complete: bool = False
    given: Gaussian | None = None
    """Moments by which gaps are filled; without, rows count for the pairs they have."""
    grid: Grid | None = None
    """The grid on which sums are exact; without, they are float64."""
    basis: Basis | None = None
    """Where the residual map comes from."""

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """The pairs no earlier site of the block holds; complete rows where all columns are needed."""
        if self.given is not None:
            return Share(self, _unchanged, fills=True)
        if layout is None or self.complete or self.residuals is not None:
            return _whole_rows(self, layout, holding)
        owned = layout.owned_pairs()[holding]
        if not owned.any():
            return None
        chosen = np.flatnonzero(layout.held()[holding]).tolist()
        part = replace(self, variables=layout.holdings[holding].ordered(self.variables), frame=self.frame.keep(chosen))
        return Share(part, _arrangement(lambda sums: sums.spread(chosen, len(self.variables), owned)))

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> PairSums | ExactSums:
        """Pair sums of the rows."""
        if self.given is not None:
            return expected_pair_sums(blocks, self.given, self.order)
        if self.grid is not None:
            p = len(self.variables)
            return exact_pair_sums(blocks, p, self.order, self.grid, residuals=self.residuals, gaps=gaps)
        if self.residuals is None:
            kernel = pair_sums_with_gaps if gaps else pair_sums
            return kernel(blocks, len(self.variables), self.order)
        R = self.residuals.T
        return pair_sums((z @ R for z in blocks), R.shape[1], self.order)


@dataclass(frozen=True, slots=True, eq=False)
class TensorQuestion:
    """Asks for the sums of all products of up to four variables."""

    variables: tuple[str, ...]
    frame: Frame
    given: Gaussian | None = None
    """Moments by which gaps are filled."""
    grid: Grid | None = None
    """The grid on which sums are exact; without, they are float64."""

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """The combinations of four that no earlier site of the block holds."""
        if self.given is not None:
            return Share(self, _unchanged, fills=True)
        if layout is None:
            return _whole_rows(self, layout, holding)
        owned = layout.owned_quadruples()[holding]
        if not owned.any():
            return None
        chosen = np.flatnonzero(layout.held()[holding]).tolist()
        part = replace(self, variables=layout.holdings[holding].ordered(self.variables), frame=self.frame.keep(chosen))
        return Share(part, _arrangement(lambda sums: sums.spread(chosen, len(self.variables), owned)))

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> TensorSums | ExactSums:
        """Tensor sums of the rows."""
        if self.given is not None:
            return expected_tensor_sums(blocks, self.given)
        if self.grid is not None:
            return exact_tensor_sums(blocks, len(self.variables), self.grid, gaps=gaps)
        kernel = tensor_sums_with_gaps if gaps else tensor_sums
        return kernel(blocks, len(self.variables))


@dataclass(frozen=True, slots=True, eq=False)
class EntropyQuestion:
    """Asks for entropy sums of standardised residuals u = R z - offset and of residuals among pairs of them.

    `singles` says whether the u themselves are asked for; `pairs` and `rho` are as in `entropy_sums`.
    """

    variables: tuple[str, ...]
    frame: Frame
    residuals: Matrix
    offset: Vector
    pairs: IntMatrix
    rho: Vector
    singles: bool
    basis: Basis | None = None
    """Where the residual map comes from."""

    def share(self, layout: Layout | None, holding: int) -> Share[EntropySums] | None:
        """Complete rows: residuals need all columns."""
        return _whole_rows(self, layout, holding)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> EntropySums:
        """Entropy sums of the rows."""
        if gaps:
            raise ProtocolError("entropies of residuals need complete rows")
        R = self.residuals.T
        standardised = (z @ R - self.offset for z in blocks)
        return entropy_sums(standardised, R.shape[1] if self.singles else 0, self.pairs, self.rho)


@dataclass(frozen=True, slots=True, eq=False)
class ExpectationQuestion:
    """Asks for one E-step: expected first and second moments, given those of the step before."""

    variables: tuple[str, ...]
    frame: Frame
    given: Gaussian

    def share(self, layout: Layout | None, holding: int) -> Share[ExpectedMoments] | None:  # noqa: ARG002
        """All rows, whatever columns they lack."""
        return Share(self, _unchanged, fills=True)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> ExpectedMoments:  # noqa: ARG002
        """Expected moments of the rows."""
        return expected_moments(blocks, self.given)


@dataclass(frozen=True, slots=True, eq=False)
class SiteMomentsQuestion:
    """Asks every site for its own means and variances, in powers that add over sites."""

    variables: tuple[str, ...]
    frame: Frame

    def share(self, layout: Layout | None, holding: int) -> Share[SiteMoments] | None:
        """Whatever the holding has; its power sums are turned into moments before they leave."""
        if layout is None:
            return Share(self, PowerSums.site_moments)
        chosen = np.flatnonzero(layout.held()[holding]).tolist()
        part = SiteMomentsQuestion(layout.holdings[holding].ordered(self.variables), self.frame.keep(chosen))
        return Share(part, lambda sums: sums.site_moments().spread(chosen, len(self.variables)))

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> PowerSums:  # noqa: ARG002
        """Power sums of the rows."""
        return power_sums(blocks, len(self.variables))


def _unchanged(sums: Any) -> Any:
    """Sums as they leave a site."""
    return sums.coarse() if isinstance(sums, ExactSums) else sums


def _arrangement(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The change of ordinary sums, for ordinary and exact ones."""
    return lambda sums: _unchanged(sums.arranged(change) if isinstance(sums, ExactSums) else change(sums))


def _whole_rows(question: Question[S], layout: Layout | None, holding: int) -> Share[S] | None:
    """The whole question, if the holding answers for complete rows of its block."""
    if layout is not None and not layout.owned_rows()[holding]:
        return None
    return Share(question, _unchanged)
