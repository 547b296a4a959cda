"""The question behind tensor sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from fedrcd.protocol.questions import (
    COMMON_RULES,
    TENSOR,
    TENSOR_DEPTH,
    AskingForProducts,
    Share,
    owned_part,
    unchanged,
    whole_rows,
)
from fedrcd.statistics.accelerated_sums import exact_tensor_sums_on, tensor_sums_on
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.exact_sums import ExactSums, exact_tensor_sums
from fedrcd.statistics.expectation import Gaussian, expected_tensor_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.tensor_sums import TensorSums, tensor_sums, tensor_sums_with_gaps
from fedrcd.typing import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class TensorQuestion(AskingForProducts):
    """Asks for the sums of all products of up to four variables."""

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "grid", "tensor rows", "quadruple cells")

    variables: tuple[str, ...]
    frame: Frame
    given: Gaussian | None = None
    """Moments by which gaps are filled."""
    grid: Grid | None = None
    """The grid on which sums are exact; without, they are float64."""

    @property
    def depth(self) -> int:
        """Four."""
        return TENSOR_DEPTH

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """The combinations of four that no earlier site of the block holds."""
        if self.given is not None:
            return Share(self, unchanged, fills=True)
        if layout is None:
            return whole_rows(self, layout, holding)
        return owned_part(self, layout, holding, layout.owned_quadruples()[holding])

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> TensorSums | ExactSums:
        """Tensor sums of the rows."""
        if self.given is not None:
            return expected_tensor_sums(blocks, self.given)
        if self.grid is not None:
            return exact_tensor_sums(blocks, len(self.variables), self.grid, gaps=gaps)
        kernel = tensor_sums_with_gaps if gaps else tensor_sums
        return kernel(blocks, len(self.variables))

    def answer_on(self, card: Accelerator, blocks: Iterable[Matrix]) -> TensorSums | ExactSums | None:
        """Tensor sums of complete rows, unless they came with moments to fill gaps by."""
        if self.given is not None:
            return None
        p = len(self.variables)
        if self.grid is not None:
            return exact_tensor_sums_on(card, blocks, p, self.grid)
        return tensor_sums_on(card, blocks, p)

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
