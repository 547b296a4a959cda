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
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import Origin
from fedrcd.statistics.sums import Sums
from fedrcd.typing import BoolMatrix, Matrix

S = TypeVar("S", bound=Sums)
R_co = TypeVar("R_co", covariant=True)

PAIRS, TENSOR = "pairs/4", "tensor"
"""Families of sums that a ledger stores; pair sums of order 4 hold those of lower orders."""

PAIR_DEPTH, TENSOR_DEPTH = 2, 4
"""How many variables the sums of pair questions and of tensor questions combine at most."""

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
    def replay_rules(self) -> tuple[str, ...] | None:
        """Those that it falls under beside, where the site worked it out itself from totals over all sites."""
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
    def derived(self) -> Any:
        """What of it was computed from the answers to other questions; None if nothing."""
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
    def depth(self) -> int:
        """How many variables its sums combine at most: it says how many rows they determine."""
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

    def answer_on(self, card: Accelerator, blocks: Iterable[Matrix]) -> Any:
        """The same of complete rows, on a card; None, and no block taken, where there is no way to do it there."""
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

    def distance(self, own: Any, others: Any) -> float:
        """How far sums of a site are from those of all others, in standard errors; 0 where that tells nothing."""
        ...

    @property
    def loss(self) -> float | None:
        """What an answer loses of privacy by its noise; None where there is none, and no bound."""
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
    replay_rules: ClassVar[tuple[str, ...] | None] = None

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
    def derived(self) -> Any:
        """The moments that residuals come from, if it asks for any."""
        return self.basis and self.basis.moments

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
    def depth(self) -> int:
        """Two: sums of pairs, or of as much."""
        return PAIR_DEPTH

    @property
    def needs_trust(self) -> bool:
        """Only if it asks for residuals, or to fill gaps."""
        return self.basis is not None or self.given is not None

    def answer_on(self, card: Accelerator, blocks: Iterable[Matrix]) -> Any:  # noqa: ARG002
        """None: the processor answers."""
        return None

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

    def distance(self, own: Any, others: Any) -> float:  # noqa: ARG002 - of a question that says more
        """None is told: the largest values decide sums of products, at honest sites too."""
        return 0.0

    @property
    def loss(self) -> float | None:
        """None: there is no noise."""
        return None

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


class AskingForProducts(Asking):
    """As `Asking`, for sums of products of variables: groups of rows can be asked for theirs, a grid clips values."""

    __slots__ = ()

    @property
    def groupable(self) -> bool:
        """It is."""
        return True

    @property
    def clips(self) -> bool:
        """On a grid."""
        return self.grid is not None


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


def unchanged(sums: Any) -> Any:
    """Sums as they leave a site."""
    return sums.coarse()


def _arrangement(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The change of ordinary sums, for ordinary and exact ones."""
    return lambda sums: sums.arranged(change).coarse()


def owned_part(question: Any, layout: Layout, holding: int, owned: BoolMatrix) -> Share[Any] | None:
    """The question about the columns of a holding, its answer spread over what that owns; None if it is nothing."""
    if not owned.any():
        return None
    p, chosen = len(question.variables), np.flatnonzero(layout.held()[holding]).tolist()
    variables, frame = layout.holdings[holding].ordered(question.variables), question.frame.keep(chosen)
    return Share(
        replace(question, variables=variables, frame=frame), _arrangement(lambda sums: sums.spread(chosen, p, owned))
    )


def whole_rows(question: Question[S], layout: Layout | None, holding: int) -> Share[S] | None:
    """The whole question, if the holding answers for complete rows of its block."""
    if layout is not None and not layout.owned_rows()[holding]:
        return None
    return Share(question, unchanged)
