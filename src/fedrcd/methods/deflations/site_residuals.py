"""Deflation at the sites: every step asks for fresh sums of least-squares residuals (X, HC)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.skeleton import Evidence, Marginals
from fedrcd.protocol.questions import Basis, Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants, pair_cumulants
from fedrcd.statistics.residual_maps import residual_map
from fedrcd.statistics.whole_maps import whole_residual_map


@dataclass(frozen=True, slots=True)
class SiteResiduals:
    """The question carries the residual map, so nothing accumulates at the sites and no error compounds."""

    least_squares: ClassVar[bool] = True

    order: int
    estimator: Estimator = "plug-in"

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[PairCumulants], Marginals]]:
        """Ask for pair sums of the variables themselves."""
        return ask_pairs(setting, self.order, self.estimator, complete=True)

    def remove(
        self,
        setting: Setting,
        marginals: Marginals,
        evidence: Evidence[PairCumulants],  # noqa: ARG002
        sources: tuple[int, ...],
    ) -> Rounds[Evidence[PairCumulants]]:
        """Ask for pair sums of the residuals given all sources [P, Algorithm 1, lines 17-19]."""
        moments = marginals.in_frame(setting.frame)
        R, rest, *_ = (residual_map if setting.grid is None else whole_residual_map)(moments.cov, sources)
        sums = yield from ask(setting.residual_pairs(self.order, R, Basis(moments, sources)))
        return Evidence(rest, pair_cumulants(sums, setting.frame.keep(rest), self.estimator))
