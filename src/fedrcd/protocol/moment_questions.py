"""Questions for first and second moments: expected ones where values are missing, and each site's own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fedrcd.protocol.questions import COMMON_RULES, Asking, Share, unchanged
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.expectation import ExpectedMoments, Gaussian, expected_moments
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.site_moments import PowerSums, SiteMoments, power_sums
from fedrcd.typing import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class ExpectationQuestion(Asking):
    """Asks for one E-step: expected first and second moments, given those of the step before."""

    variables: tuple[str, ...]
    frame: Frame
    given: Gaussian = field()

    def share(self, layout: Layout | None, holding: int) -> Share[ExpectedMoments] | None:  # noqa: ARG002
        """All rows, whatever columns they lack."""
        return Share(self, unchanged, fills=True)

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
