"""A question whose answer leaves with noise on it: what each site adds is part of its answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.questions import Asking, Share
from fedrcd.statistics.added_noise import Losses, with_noise
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.discrete_gaussian import RandomBytes
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import Origin
from fedrcd.statistics.noisy_sums import NoisySums
from fedrcd.typing import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class NoisyQuestion(Asking):
    """Asks for sums over directions, with so much noise that the answer loses no more than `losses` of privacy.

    The bound on what a row changes holds for every whitening, so nobody needs to be trusted with its choice.
    """

    rules: ClassVar[tuple[str, ...] | None] = ("noise",)
    replay_rules: ClassVar[tuple[str, ...] | None] = ()

    asked: DirectionQuestion | DirectionTensorQuestion
    losses: Losses

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
    def clips(self) -> bool | None:
        """Likewise."""
        return self.asked.clips

    @property
    def depth(self) -> int:
        """Likewise."""
        return self.asked.depth

    @property
    def loss(self) -> float:
        """What an answer loses of privacy."""
        return self.losses.total

    def share(self, layout: Layout | None, holding: int) -> Share[Any] | None:
        """That of the question without noise, to which noise is added once all rows are summed."""
        share = self.asked.share(layout, holding)
        return None if share is None else Share(share.question, lambda sums: self.noised(share.finish(sums)))

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> ExactSums:
        """Sums of the rows with noise."""
        return self.noised(self.asked.answer(blocks, gaps=gaps))

    def put_to(self, site: Any, layout: Layout | None) -> ExactSums | None:
        """The sums of the site's share, with noise from its own random bytes."""
        sums = self.asked.put_to(site, layout)
        return None if sums is None else self.noised(sums, site.random)

    def noised(self, sums: Any, random: RandomBytes = os.urandom) -> ExactSums:
        """Sums of all rows, with fresh noise."""
        return with_noise(sums, self.losses, random)

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return f"{self.asked.describe()}; all of it with noise, at a loss of {self.loss:.3g}"

    def accepts(self, sums: Any, origin: Origin) -> bool:  # noqa: ARG002 - for questions with groups
        """Whether these are whole sums with noise, of the degrees and the size that are asked for."""
        return bool(sums.grid is not None and all(self.fits(plane) for plane in sums.planes))

    def fits(self, plane: Any) -> bool:
        """Whether sums are of these degrees and of so many coordinates."""
        return bool(
            plane.kind == NoisySums.kind
            and plane.p in (len(self.variables), len(self.variables) + 1)
            and plane.degrees() == sorted(self.losses.by_degree)
        )
