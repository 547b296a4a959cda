"""The question behind assumption checks: powers and products of standardised residuals, in one round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fedrcd.protocol.questions import COMMON_RULES, Asking, Basis, Share
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import Origin
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.residual_sums import ResidualSums, residual_sums
from fedrcd.typing import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class ResidualQuestion(Asking):
    """Asks for sums of the standardised residuals of every variable given all before it, over complete rows.

    The sources of the basis are all variables, in causal order. A site computes the residuals from the moments itself,
    so they can be nothing else than what they are called.
    """

    rules: ClassVar[tuple[str, ...] | None] = (*COMMON_RULES, "frame", "grid", "pair cells", "order", "checks")

    variables: tuple[str, ...]
    frame: Frame
    basis: Basis = field()
    grid: Grid | None = None
    """The grid that values are clipped and rounded to, as in the sums before; these sums are float64 all the same."""

    @property
    def maskable(self) -> bool:
        """Not: these sums are float64 whatever the grid, and each site's own moments are among them."""
        return False

    @property
    def clips(self) -> bool:
        """On a grid."""
        return self.grid is not None

    def share(self, layout: Layout | None, holding: int) -> Share[ResidualSums] | None:
        """Complete rows: residuals need all columns."""
        if layout is not None and not layout.owned_rows()[holding]:
            return None
        return Share(self, ResidualSums.finished)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> ResidualSums:
        """Sums over the rows that lack nothing."""
        if gaps:
            blocks = (block[~np.isnan(block).any(axis=1)] for block in blocks)
        moments, order = self.basis.moments, list(self.basis.sources)
        W = np.empty_like(moments.cov)
        W[order] = residual_rows(moments.cov, order)
        on_grid = blocks if self.grid is None else map(self.grid.snapped, blocks)
        return residual_sums(on_grid, W, W @ moments.mean, moments.mean, np.sqrt(np.diagonal(moments.cov)))

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return (
            f"the row count and, for the residuals of {len(self.variables)} variables along an order, sums of powers "
            "up to the twelfth (which tells about how large the largest is), of products of pairs up to order 4 and "
            "with squares of variables, powers 4, 6 and 8 of the variables, and this site's own mean, variance and "
            "fourth moment"
        )

    def accepts(self, sums: Any, origin: Origin) -> bool:  # noqa: ARG002 - for questions with groups
        """Whether these are sums of the residuals of all variables, which are float64 whatever the grid."""
        return bool(sums.kind == ResidualSums.kind and sums.fits(len(self.variables)))
