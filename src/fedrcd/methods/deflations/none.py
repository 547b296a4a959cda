"""No deflation: one matrix of scores, sorted once by row sums over all variables (NI, FedHC, HC-LiNGAM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.skeleton import Evidence, Marginals, local
from fedrcd.protocol.questions import Rounds
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants


@dataclass(frozen=True, slots=True)
class NoDeflation:
    """Evidence never changes, so taking sources one by one is sorting by the first scores."""

    least_squares: ClassVar[bool] = False

    order: int
    estimator: Estimator = "plug-in"

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[PairCumulants], Marginals]]:
        """Ask for pair sums once."""
        return ask_pairs(setting, self.order, self.estimator)

    def remove(
        self,
        setting: Setting,  # noqa: ARG002
        marginals: Marginals,  # noqa: ARG002
        evidence: Evidence[PairCumulants],
        sources: tuple[int, ...],  # noqa: ARG002
    ) -> Rounds[Evidence[PairCumulants]]:
        """Keep what is known, the taken source included."""
        return local(evidence)
