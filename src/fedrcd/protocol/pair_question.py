"""The question behind pair sums: of the variables, or of residuals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from fedrcd.errors import StatisticError
from fedrcd.protocol.questions import (
    COMMON_RULES,
    PAIRS,
    TENSOR,
    AskingForProducts,
    Basis,
    Share,
    owned_part,
    unchanged,
    whole_rows,
)
from fedrcd.statistics.accelerated_sums import exact_pair_sums_on, pair_sums_on
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.exact_sums import ExactSums, exact_pair_sums
from fedrcd.statistics.expectation import Gaussian, expected_pair_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.pair_sums import POWERS, PairSums, pair_sums, pair_sums_with_gaps
from fedrcd.typing import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class PairQuestion(AskingForProducts):
    """Asks for pair sums up to an order, of the variables or of residuals R z.

    Residuals need all variables of a row at one site; `complete` restricts the variables themselves to such rows too.
    """

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "grid", "pair cells", "pair map")
    replay_rules: ClassVar[tuple[str, ...] | None] = ("quadruple cells", "one chain")

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

    def __post_init__(self) -> None:
        if self.order not in POWERS:
            raise StatisticError(f"there are pair sums up to order {max(POWERS)}, not {self.order}")

    @property
    def needs_trust(self) -> bool:
        """If it asks for residuals, or to fill gaps."""
        return self.residuals is not None or self.basis is not None or self.given is not None

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """The pairs no earlier site of the block holds; complete rows where all columns are needed."""
        if self.given is not None:
            return Share(self, unchanged, fills=True)
        if layout is None or self.complete or self.residuals is not None:
            return whole_rows(self, layout, holding)
        return owned_part(self, layout, holding, layout.owned_pairs()[holding])

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

    def answer_on(self, card: Accelerator, blocks: Iterable[Matrix]) -> PairSums | ExactSums | None:
        """Pair sums of complete rows; residuals on a grid, and rows with gaps to fill, are for the processor."""
        if self.given is not None or (self.grid is not None and self.residuals is not None):
            return None
        p = len(self.variables)
        if self.grid is not None:
            return exact_pair_sums_on(card, blocks, p, self.grid, self.order)
        return pair_sums_on(card, blocks, p, self.order, self.residuals)

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
