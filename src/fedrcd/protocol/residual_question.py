"""The question behind assumption checks: powers and products of standardised residuals, in one round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fedrcd.errors import ProtocolError
from fedrcd.protocol.questions import Share
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.residual_sums import ResidualSums, residual_sums
from fedrcd.typing import Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class ResidualQuestion:
    """Asks for sums of u = residuals @ z - offset and of y = (z - mean) / sd, over complete rows."""

    variables: tuple[str, ...]
    frame: Frame
    residuals: Matrix
    offset: Vector
    mean: Vector
    sd: Vector

    def share(self, layout: Layout | None, holding: int) -> Share[ResidualSums] | None:
        """Complete rows: residuals need all columns."""
        if layout is not None and not layout.owned_rows()[holding]:
            return None
        return Share(self, ResidualSums.finished)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> ResidualSums:
        """Sums over the rows."""
        if gaps:
            raise ProtocolError("residuals need complete rows")
        return residual_sums(blocks, self.residuals, self.offset, self.mean, self.sd)
