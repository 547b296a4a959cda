"""A question whose answer leaves with noise on it: what each site adds is part of its answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.questions import Asking, Share
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.discrete_gaussian import RandomBytes
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import Origin
from fedrcd.statistics.noisy_sums import Losses, NoisySums, with_noise
from fedrcd.typing import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class NoisyQuestion(Asking):
    """Asks for sums over directions, with so much noise that the answer loses no more than `losses` of privacy.

    It names no rules of disclosure, so a site on a machine never answers it.
    """

    asked: DirectionQuestion | DirectionTensorQuestion
    losses: Losses
    random: RandomBytes = field(default=os.urandom, repr=False)

    @property
    def variables(self) -> tuple[str, ...]:
        """Those that are asked about."""
        return self.asked.variables

    @property
    def frame(self) -> Frame:
        """That of the question without noise."""
        return self.asked.frame

    @property
    def grid(self) -> Grid | None:
        """Likewise."""
        return self.asked.grid

    @property
    def maskable(self) -> bool:
        """Not yet: sums with noise have a form of their own."""
        return False

    @property
    def depth(self) -> int:
        """That of the question without noise."""
        return self.asked.depth

    @property
    def needs_trust(self) -> bool:
        """Likewise: noise hides rows whatever the whitening, but nobody has tried to break that over machines."""
        return self.asked.needs_trust

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """The share of the question without noise, to which noise is added once all rows are summed."""
        share = self.asked.share(layout, holding)
        return None if share is None else Share(share.question, self._noised)

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> NoisySums:
        """Sums of the rows with noise."""
        return self._noised(self.asked.answer(blocks, gaps=gaps))

    def _noised(self, sums: Any) -> NoisySums:
        return with_noise(sums, self.losses, self.random)

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return f"{self.asked.describe()}; all of it with noise"

    def accepts(self, sums: Any, origin: Origin) -> bool:  # noqa: ARG002 - for questions with groups
        """Whether sums have noise, and are of these degrees."""
        return bool(sums.kind == NoisySums.kind and set(sums.degrees) == set(self.losses.by_degree))
