r"""What a coordinator may ask: small frozen values that say which sums, of which variables, in which frame.

A question may ask for residuals: with a matrix R of shape (u, p) the site takes its sums over
:math:`r = R z` instead of z. Sites keep no state: whatever a round depends on travels in the question, so a
restarted site gives the same answer.

A question answers for itself: what it asks for in words, which answers it accepts, which rules of disclosure it falls
under, whether it can be asked group by group and from which stored sums it could be answered. So a new statistic is a
sum and its question, and nothing else has to know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, cast

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
from fedrcd.statistics.grouped_sums import Origin
from fedrcd.statistics.pair_sums import POWERS, PairSums, pair_sums, pair_sums_with_gaps
from fedrcd.statistics.site_moments import PowerSums, SiteMoments, power_sums
from fedrcd.statistics.sums import Sums
from fedrcd.statistics.tensor_sums import TensorSums, tensor_sums, tensor_sums_with_gaps
from fedrcd.typing import BoolMatrix, IntMatrix, Matrix, Vector

S = TypeVar("S", bound=Sums)
R_co = TypeVar("R_co", covariant=True)

PAIRS, TENSOR = "pairs/4", "tensor"
"""Families of sums that a ledger stores; pair sums of order 4 hold those of lower orders."""

COMMON_RULES = ("trust", "gaps", "trim", "rows")
"""Rules of disclosure that every question falls under."""


class Question(Protocol[S]):
    """Asks for one statistic; `answer` runs at a site. `Asking` has the usual answers about a question."""

    @property
    def rules(self) -> tuple[str, ...] | None:
        """Names of the rules of disclosure it falls under, in the order in which they are checked.

        None: a site that guards its rows never answers it.
        """
        ...

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the site must hold, in the order the question means them."""
        ...

    @property
    def frame(self) -> Frame:
        """The reference frame of those variables."""
        ...

    @property
    def grid(self) -> Grid | None:
        """The grid on which sums are exact; None where they are float64."""
        ...

    @property
    def given(self) -> Gaussian | None:
        """Moments by which gaps are filled."""
        ...

    @property
    def basis(self) -> Basis | None:
        """Where a residual map comes from."""
        ...

    @property
    def each(self) -> Question[Any]:
        """What is asked of each group of rows; the question itself where there are no groups."""
        ...

    @property
    def groups(self) -> int:
        """Into how many groups rows are split; 0 where they are not."""
        ...

    @property
    def groupable(self) -> bool:
        """Whether it can be asked group by group."""
        ...

    @property
    def maskable(self) -> bool:
        """Whether answers are whole numbers that add over sites, so that masks which cancel can hide each of them."""
        ...

    @property
    def clips(self) -> bool | None:
        """Whether values are clipped on a grid; None where the question leaves no choice."""
        ...

    @property
    def needs_trust(self) -> bool:
        """Whether it depends on moments of the coordinator's choice."""
        ...

    def share(self, layout: Layout | None, holding: int) -> Share[S] | None:
        """What a holding answers for, None if nothing; without a layout every site holds rows of its own, complete."""
        ...

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> Any:
        """Sums over rows that arrive in blocks, in the frame; with `gaps` missing values are NaN.

        Blocks may be overwritten. What leaves a site is the answer of its share, `finish`ed.
        """
        ...

    def put_to(self, site: Any, layout: Layout | None) -> S | None:
        """What a site answers: None if it has nothing to say."""
        ...

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        ...

    def accepts(self, sums: Any, origin: Origin) -> bool:
        """Whether sums are of the kind and the size that are asked for; `origin` is whose they are."""
        ...

    @property
    def family(self) -> str | None:
        """The family of sums, of those that a ledger stores, that it asks for, if it does."""
        ...

    def stored_in(self) -> str | None:
        """The family of stored sums from which it could be answered, if there is one."""
        ...

    def implied_by(self) -> tuple[str, ...]:
        """The families of sums from which its answer follows."""
        ...

    def from_stored(self, sums: Any) -> Any:
        """The answer, from pooled sums of that family."""
        ...

    def in_population(self, population: Any) -> Any:
        """The answer of very many rows, from a model."""
        ...


@dataclass(frozen=True, slots=True)
class Share(Generic[S]):
    """A holding's share of a question: what to ask its rows, and how the answer fits in with the others."""

    question: Question[Any]
    finish: Callable[[Any], S]
    fills: bool = False
    """Whether columns that the holding lacks count as missing values."""


class Asking:
    """The usual answers about a question; a question inherits them and changes those that are not its own."""

    __slots__ = ()

    rules: ClassVar[tuple[str, ...] | None] = None

    @property
    def given(self) -> Gaussian | None:
        """None: gaps are not filled."""
        return None

    @property
    def grid(self) -> Grid | None:
        """None: sums are float64."""
        return None

    @property
    def basis(self) -> Basis | None:
        """None: no residuals are asked for."""
        return None

    @property
    def each(self) -> Any:
        """The question itself."""
        return self

    @property
    def groups(self) -> int:
        """None."""
        return 0

    @property
    def groupable(self) -> bool:
        """Not unless it says so."""
        return False

    @property
    def maskable(self) -> bool:
        """Only sums on a grid are whole numbers."""
        return self.grid is not None

    @property
    def clips(self) -> bool | None:
        """None: there is no choice."""
        return None

    @property
    def needs_trust(self) -> bool:
        """Only if it asks for residuals, or to fill gaps."""
        return self.basis is not None or self.given is not None

    def put_to(self, site: Any, layout: Layout | None) -> Any:
        """The sums of the site's share."""
        return site.sums(self, layout)

    def describe(self) -> str:
        """The name of the kind of question."""
        return f"the answer to a {type(self).__name__}"

    def accepts(self, sums: Any, origin: Origin) -> bool:  # noqa: ARG002 - for questions with groups
        """Whether the sums are on the same grid, and every plane of them fits."""
        return bool(sums.grid == self.grid and all(self.fits(plane) for plane in sums.planes))

    def fits(self, plane: Any) -> bool:  # noqa: ARG002 - of a question that says more
        """Whether ordinary sums are of the kind and the size that are asked for."""
        return False

    @property
    def family(self) -> str | None:
        """None: no ledger stores such sums."""
        return None

    def stored_in(self) -> str | None:
        """None: no stored sums hold the answer."""
        return None

    def implied_by(self) -> tuple[str, ...]:
        """None."""
        return ()

    def from_stored(self, sums: Any) -> Any:
        """The stored sums themselves."""
        return sums

    def in_population(self, population: Any) -> Any:  # noqa: ARG002 - of a question about cumulants
        """Refused: a population knows cumulants only."""
        raise ProtocolError(f"the population oracle knows cumulants only and cannot answer a {type(self).__name__}")


Rounds: TypeAlias = Generator[Question[Any], Any, R_co]
"""A conversation: yields questions, is sent pooled answers, returns a result."""


def ask(question: Question[S]) -> Rounds[S]:
    """Yield one question and return its pooled answer, with its type; exact sums are read as float64."""
    answer: Any = yield question
    return cast("S", answer.floats())


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """What a residual map was computed from: pooled moments in the frame, and the variables regressed on.

    It changes no answer. A site that guards its rows asks for it, to see that the map is what it claims to be.
    """

    moments: Gaussian
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PairQuestion(Asking):
    """Asks for pair sums up to an order, of the variables or of residuals R z.

    Residuals need all variables of a row at one site; `complete` restricts the variables themselves to such rows too.
    """

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "grid", "pair cells", "pair map")

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

    @property
    def groupable(self) -> bool:
        """It is."""
        return True

    @property
    def clips(self) -> bool:
        """On a grid."""
        return self.grid is not None

    @property
    def needs_trust(self) -> bool:
        """If it asks for residuals, or to fill gaps."""
        return self.residuals is not None or self.basis is not None or self.given is not None

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """The pairs no earlier site of the block holds; complete rows where all columns are needed."""
        if self.given is not None:
            return Share(self, _unchanged, fills=True)
        if layout is None or self.complete or self.residuals is not None:
            return whole_rows(self, layout, holding)
        return _owned_part(self, layout, holding, layout.owned_pairs()[holding])

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

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        what, powers = "the row count and, for every pair of", "sums of products of powers up to order"
        if self.residuals is None:
            return f"{what} {len(self.variables)} variables, {powers} {self.order}"
        sources = len(self.basis.sources) if self.basis else len(self.variables) - len(self.residuals)
        given = f"{sources} of the variables" if sources != 1 else "one of the variables"
        return f"{what} {len(self.residuals)} residuals given {given}, {powers} {self.order}"

    def fits(self, plane: Any) -> bool:
        """Whether these are pair sums of the right order and size."""
        u = len(self.variables) if self.residuals is None else len(self.residuals)
        return bool(
            plane.kind == PairSums.kind
            and plane.order == self.order
            and tuple(plane.sums) == POWERS[self.order]
            and all(values.ndim == 2 and len(values) == u for values in plane.sums.values())
        )

    @property
    def family(self) -> str | None:
        """Pair sums of order 4, if all variables and all rows are asked for."""
        return self.stored_in() if self.order == 4 else None

    def implied_by(self) -> tuple[str, ...]:
        """The tensor, and pair sums of a higher order."""
        if self.stored_in() is None:
            return ()
        return (TENSOR,) if self.order == 4 else (TENSOR, PAIRS)

    def stored_in(self) -> str | None:
        """Pair sums, if all variables and all rows are asked for."""
        return PAIRS if self.residuals is None and self.given is None and not self.complete else None

    def from_stored(self, sums: Any) -> Any:
        """The sums up to this order among those of order 4."""
        return sums if self.order == 4 else sums.arranged(lambda pairs: pairs.up_to(self.order))

    def in_population(self, population: Any) -> PairSums:
        """Pair sums of the population."""
        sums: PairSums = population.pair_sums(self)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class TensorQuestion(Asking):
    """Asks for the sums of all products of up to four variables."""

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "grid", "tensor rows", "quadruple cells")

    variables: tuple[str, ...]
    frame: Frame
    given: Gaussian | None = None
    """Moments by which gaps are filled."""
    grid: Grid | None = None
    """The grid on which sums are exact; without, they are float64."""

    @property
    def groupable(self) -> bool:
        """It is."""
        return True

    @property
    def clips(self) -> bool:
        """On a grid."""
        return self.grid is not None

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """The combinations of four that no earlier site of the block holds."""
        if self.given is not None:
            return Share(self, _unchanged, fills=True)
        if layout is None:
            return whole_rows(self, layout, holding)
        return _owned_part(self, layout, holding, layout.owned_quadruples()[holding])

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> TensorSums | ExactSums:
        """Tensor sums of the rows."""
        if self.given is not None:
            return expected_tensor_sums(blocks, self.given)
        if self.grid is not None:
            return exact_tensor_sums(blocks, len(self.variables), self.grid, gaps=gaps)
        kernel = tensor_sums_with_gaps if gaps else tensor_sums
        return kernel(blocks, len(self.variables))

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return f"the row count and sums of all products of up to four of {len(self.variables)} variables"

    def fits(self, plane: Any) -> bool:
        """Whether these are tensor sums of the right size."""
        return bool(plane.kind == TensorSums.kind and plane.p == len(self.variables) and plane.packed.ndim == 1)

    @property
    def family(self) -> str | None:
        """The tensor, unless gaps are to be filled."""
        return self.stored_in()

    def stored_in(self) -> str | None:
        """Tensor sums, unless gaps are to be filled."""
        return TENSOR if self.given is None else None

    def in_population(self, population: Any) -> TensorSums:
        """Tensor sums of the population."""
        sums: TensorSums = population.tensor_sums(self)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class EntropyQuestion(Asking):
    """Asks for entropy sums of standardised residuals u = R z - offset and of residuals among pairs of them.

    `singles` says whether the u themselves are asked for; `pairs` and `rho` are as in `entropy_sums`.
    """

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "pair cells", "entropy map")

    variables: tuple[str, ...]
    frame: Frame
    residuals: Matrix
    offset: Vector
    pairs: IntMatrix
    rho: Vector
    singles: bool
    basis: Basis | None = None
    """Where the residual map comes from."""

    @property
    def needs_trust(self) -> bool:
        """It does: whoever chooses the map chooses which rows weigh."""
        return True

    def share(self, layout: Layout | None, holding: int) -> Share[EntropySums] | None:
        """Complete rows: residuals need all columns."""
        return whole_rows(self, layout, holding)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> EntropySums:
        """Entropy sums of the rows."""
        if gaps:
            raise ProtocolError("entropies of residuals need complete rows")
        R = self.residuals.T
        standardised = (z @ R - self.offset for z in blocks)
        return entropy_sums(standardised, R.shape[1] if self.singles else 0, self.pairs, self.rho)

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return (
            f"the row count and, for {len(self.residuals)} residuals and {len(self.pairs)} residuals of pairs of them, "
            "two sums from which their entropy follows"
        )

    def fits(self, plane: Any) -> bool:
        """Whether these are as many entropy sums as are asked for."""
        m = len(self.pairs) + (len(self.residuals) if self.singles else 0)
        return bool(plane.kind == EntropySums.kind and plane.log_cosh.shape == plane.gauss.shape == (m,))


@dataclass(frozen=True, slots=True, eq=False)
class ExpectationQuestion(Asking):
    """Asks for one E-step: expected first and second moments, given those of the step before."""

    variables: tuple[str, ...]
    frame: Frame
    given: Gaussian = field()

    def share(self, layout: Layout | None, holding: int) -> Share[ExpectedMoments] | None:  # noqa: ARG002
        """All rows, whatever columns they lack."""
        return Share(self, _unchanged, fills=True)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> ExpectedMoments:  # noqa: ARG002
        """Expected moments of the rows."""
        return expected_moments(blocks, self.given)

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return f"sums of the expected first and second moments of {len(self.variables)} variables, gaps filled"


@dataclass(frozen=True, slots=True, eq=False)
class SiteMomentsQuestion(Asking):
    """Asks every site for its own means and variances, in powers that add over sites."""

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame or none", "pair cells")

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

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        p = len(self.variables)
        return f"the row count and this site's own mean, variance and fourth moment of each of {p} variables"

    def fits(self, plane: Any) -> bool:
        """Whether these are moments of all variables."""
        return bool(plane.kind == SiteMoments.kind and plane.sums.shape == (7, len(self.variables)))


def _unchanged(sums: Any) -> Any:
    """Sums as they leave a site."""
    return sums.coarse()


def _arrangement(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The change of ordinary sums, for ordinary and exact ones."""
    return lambda sums: sums.arranged(change).coarse()


def _owned_part(
    question: PairQuestion | TensorQuestion, layout: Layout, holding: int, owned: BoolMatrix
) -> Share[Any] | None:
    """The question about the columns of a holding, its answer spread over what that owns; None if it is nothing."""
    if not owned.any():
        return None
    p, chosen = len(question.variables), np.flatnonzero(layout.held()[holding]).tolist()
    variables, frame = layout.holdings[holding].ordered(question.variables), question.frame.keep(chosen)
    return Share(
        replace(question, variables=variables, frame=frame),
        _arrangement(lambda sums: sums.spread(chosen, p, owned)),
    )


def whole_rows(question: Question[S], layout: Layout | None, holding: int) -> Share[S] | None:
    """The whole question, if the holding answers for complete rows of its block."""
    if layout is not None and not layout.owned_rows()[holding]:
        return None
    return Share(question, _unchanged)
