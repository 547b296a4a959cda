"""The question behind entropy sums: of standardised residuals and of residuals among pairs of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.protocol.questions import COMMON_RULES, Asking, Basis, Share, whole_rows
from fedrcd.statistics.accelerated_sums import entropy_sums_on
from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.entropy_sums import ROWS_AT_ONCE, EntropySums, entropy_sums
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.whole_entropies import whole_entropy_sums
from fedrcd.typing import IntMatrix, Matrix, Vector

NUMBERS_AT_ONCE = 1 << 22
"""Residuals in work at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class EntropyQuestion(Asking):
    """Asks for entropy sums of standardised residuals u = R z - offset and of residuals among pairs of them.

    `singles` says whether the u themselves are asked for; `pairs` and `rho` are as in `entropy_sums`.
    """

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "pair cells", "entropy map")
    replay_rules: ClassVar[tuple[str, ...] | None] = ("joint cells", "own moments", "one chain")

    variables: tuple[str, ...]
    frame: Frame
    residuals: Matrix
    offset: Vector
    pairs: IntMatrix
    rho: Vector
    singles: bool
    basis: Basis | None = None
    """Where the residual map comes from."""
    grid: Grid | None = None
    """The grid on which sums are exact; without, they are float64."""

    @property
    def needs_trust(self) -> bool:
        """It does: whoever chooses the map chooses which rows weigh."""
        return True

    def share(self, layout: Layout | None, holding: int) -> Share[EntropySums] | None:
        """Complete rows: residuals need all columns."""
        return whole_rows(self, layout, holding)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> EntropySums | ExactSums:
        """Entropy sums of the rows."""
        if gaps:
            raise ProtocolError("entropies of residuals need complete rows")
        if self.grid is not None:
            given = (self.residuals, self.offset, self.pairs, self.rho, self.grid)
            return whole_entropy_sums(blocks, *given, singles=self.singles)
        R = self.residuals.T
        rows = max(ROWS_AT_ONCE, NUMBERS_AT_ONCE // max(R.shape[1], 1))
        pieces = (z[first : first + rows] for z in blocks for first in range(0, len(z), rows))
        standardised = (z @ R - self.offset for z in pieces)
        return entropy_sums(standardised, R.shape[1] if self.singles else 0, self.pairs, self.rho)

    def answer_on(self, card: Accelerator, blocks: Iterable[Matrix]) -> EntropySums | None:
        """Entropy sums in float64 where most pairs are asked for: a card takes all of them at once."""
        m = len(self.residuals)
        if self.grid is not None or len(self.pairs) < m * (m - 1) / 2:
            return None
        rho = np.zeros((m, m))
        rho[self.pairs[:, 0], self.pairs[:, 1]] = self.rho
        count, *sums = entropy_sums_on(card, blocks, self.residuals, self.offset, rho)
        chosen = [values[self.pairs[:, 0], self.pairs[:, 1]] for values in sums]
        if self.singles:
            chosen = [np.concatenate([values.diagonal(), some]) for values, some in zip(sums, chosen, strict=True)]
        return EntropySums(count, *chosen)

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
class MoveEntropyQuestion(EntropyQuestion):
    """Asks for entropy sums of residuals that moving one variable of an order can meet, in the order they are met."""

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "pair cells", "move map")
    replay_rules: ClassVar[tuple[str, ...] | None] = None

    order: tuple[int, ...] = ()
