"""The question behind the robust method: sums over the directions of whitened rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fedrcd.protocol.questions import COMMON_RULES, TENSOR_DEPTH, Asking, Share, whole_rows
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.directions import SPHERE, Whitening, directions, distance_from_others
from fedrcd.statistics.exact_sums import ExactSums, exact_pair_sums, exact_tensor_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import Origin
from fedrcd.statistics.pair_sums import PairSums, pair_sums
from fedrcd.statistics.tensor_sums import TensorSums, tensor_sums
from fedrcd.typing import Matrix

LONGEST = 1.01
"""The mean square length of directions is at most 1; rounded to their grid they may be a little longer."""


@dataclass(frozen=True, slots=True, eq=False)
class DirectionQuestion(Asking):
    """Asks for sums of products of two components of the directions of (w, 1), w = M (z - c)."""

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "grid", "pair cells", "whitening")
    replay_rules: ClassVar[tuple[str, ...] | None] = ("joint cells", "one path")

    variables: tuple[str, ...]
    frame: Frame
    whitening: Whitening
    grid: Grid | None = None
    """The grid on which rows are whole, so that sums are exact; without, they are float64."""
    near: bool = False
    """Whether rows far from all others count less."""

    @property
    def needs_trust(self) -> bool:
        """Unless runs start so: whoever chooses the whitening chooses which rows look alike, and which are far."""
        return not self.whitening.is_start(self.grid)

    @property
    def derived(self) -> Whitening:
        """The whitening."""
        return self.whitening

    @property
    def clips(self) -> bool | None:
        """On a grid."""
        return self.grid is not None

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """Complete rows: a direction needs all columns."""
        return whole_rows(self, layout, holding)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> PairSums | ExactSums:
        """Pair sums of order 2 of the directions of the rows."""
        points, width = _points(self, blocks, gaps=gaps, lifted=True), len(self.variables) + 1
        return pair_sums(points, width, 2) if self.grid is None else exact_pair_sums(points, width, 2, SPHERE)

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return (
            f"the row count and, for the directions of whitened rows of {len(self.variables)} variables (no row has a "
            "length), sums of products of two components"
        )

    def distance(self, own: Any, others: Any) -> float:
        """The most by which a mean product of two components differs."""
        return distance_from_others(own.floats(), others.floats())

    def accepts(self, sums: Any, origin: Origin) -> bool:  # noqa: ARG002 - for questions with groups
        """Whether these are sums of that many directions, which are no longer than 1."""
        if sums.grid != (self.grid and SPHERE) or not all(self.fits(plane) for plane in sums.planes):
            return False
        pooled = sums.floats()
        return bool(pooled.at(2, 0).sum() <= LONGEST * pooled.count.max())

    def fits(self, plane: Any) -> bool:
        """Whether these are pair sums of complete rows, of the right order and size."""
        return bool(
            plane.kind == PairSums.kind
            and plane.order == 2
            and plane.count.shape == (1, 1)
            and plane.p == len(self.variables) + 1
        )


@dataclass(frozen=True, slots=True, eq=False)
class DirectionTensorQuestion(Asking):
    """Asks for sums of products of up to four components of the directions of w = M (z - c)."""

    rules: ClassVar[tuple[str, ...] | None] = (
        *COMMON_RULES,
        "frame",
        "grid",
        "tensor rows",
        "quadruple cells",
        "whitening",
    )
    replay_rules: ClassVar[tuple[str, ...] | None] = ("joint cells", "one path")

    variables: tuple[str, ...]
    frame: Frame
    whitening: Whitening
    grid: Grid | None = None
    """As of `DirectionQuestion`."""
    near: bool = False
    """Likewise."""

    @property
    def needs_trust(self) -> bool:
        """As `DirectionQuestion`."""
        return not self.whitening.is_start(self.grid)

    @property
    def derived(self) -> Whitening:
        """Likewise."""
        return self.whitening

    @property
    def clips(self) -> bool | None:
        """On a grid."""
        return self.grid is not None

    @property
    def depth(self) -> int:
        """Four."""
        return TENSOR_DEPTH

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """Complete rows."""
        return whole_rows(self, layout, holding)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> TensorSums | ExactSums:
        """Tensor sums of the directions of the rows."""
        points, p = _points(self, blocks, gaps=gaps, lifted=False), len(self.variables)
        return tensor_sums(points, p) if self.grid is None else exact_tensor_sums(points, p, SPHERE)

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return (
            f"the row count and, for the directions of whitened rows of {len(self.variables)} variables (no row has a "
            "length), sums of products of up to four components"
        )

    def accepts(self, sums: Any, origin: Origin) -> bool:  # noqa: ARG002 - for questions with groups
        """Whether these are sums of that many directions, which are no longer than 1."""
        if sums.grid != (self.grid and SPHERE) or not all(self.fits(plane) for plane in sums.planes):
            return False
        pooled = sums.floats()
        return bool(pooled.powers()[2].sum() <= LONGEST * pooled.count)

    def fits(self, plane: Any) -> bool:
        """Whether these are tensor sums of complete rows, of the right size."""
        return bool(
            plane.kind == TensorSums.kind
            and plane.p == len(self.variables)
            and plane.packed.ndim == 1
            and plane.counts is None
        )


def _points(
    question: DirectionQuestion | DirectionTensorQuestion, blocks: Iterable[Matrix], *, gaps: bool, lifted: bool
) -> Iterable[Matrix]:
    """Directions of the rows that lack nothing."""
    question.whitening.require(len(question.variables), question.grid)
    if gaps:
        blocks = (block[~np.isnan(block).any(axis=1)] for block in blocks)
    return directions(blocks, question.whitening, question.grid, lifted=lifted, near=question.near)
