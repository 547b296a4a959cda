r"""DirectLiNGAM's evidence: entropies of standardised residuals and of their pair residuals, as sums over sites.

Candidate i is charged :math:`\min(0, D_{ij})^2` against every j, with
:math:`D_{ij} = H(x_j) + H(r_{i|j}) - H(x_i) - H(r_{j|i})`; a source is charged nothing in the limit. This is the
pairwise measure of Hyvarinen and Smith (2013) as `lingam` computes it. The covariance is asked for once; each step
then takes one round of entropy sums, so p variables take p rounds.

On one table rounds cost nothing and work does: with `lazily=True` a candidate's pairs are asked for only while it may
still be the source. The charges of the others are lower bounds that already exceed the winner's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedrcd.methods.deflations.pairs import ask_pairs
from fedrcd.methods.gaussianity import entropy_distance_from_gaussian
from fedrcd.methods.skeleton import Evidence, Marginals
from fedrcd.protocol.entropy_question import EntropyQuestion
from fedrcd.protocol.questions import Basis, Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.entropy_sums import EntropySums
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.grid import Grid, rounded_map
from fedrcd.statistics.residual_maps import residual_map
from fedrcd.statistics.whole_entropies import carries
from fedrcd.statistics.whole_maps import whole_residual_map
from fedrcd.typing import IntMatrix, Matrix, Vector


@dataclass(frozen=True, slots=True)
class Entropies:
    """Evidence is the charge of each candidate, shape (number of candidates,)."""

    least_squares: ClassVar[bool] = True

    lazily: bool = False

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[Vector], Marginals]]:
        """Ask for the covariance, then for the entropies of the variables themselves."""
        everything, marginals = yield from ask_pairs(setting, 2, "plug-in", complete=True)
        residuals = standardised_residuals(marginals.in_frame(setting.frame), (), entropy_grid(setting.grid))
        singles, charges = yield from self._charge(setting, residuals, np.zeros(len(setting.variables)), ())
        marginals = replace(marginals, distance=entropy_distance_from_gaussian(singles))
        return Evidence(everything.variables, charges), marginals

    def remove(
        self, setting: Setting, marginals: Marginals, evidence: Evidence[Vector], sources: tuple[int, ...]
    ) -> Rounds[Evidence[Vector]]:
        """Ask for the entropies of the residuals given all sources."""
        residuals = standardised_residuals(marginals.in_frame(setting.frame), sources, entropy_grid(setting.grid))
        earlier = dict(zip(evidence.variables, evidence.statistic, strict=True))
        hint = np.array([earlier[variable] for variable in residuals.variables])
        _, charges = yield from self._charge(setting, residuals, hint, sources)
        return Evidence(residuals.variables, charges)

    def _charge(
        self, setting: Setting, residuals: Residuals, hint: Vector, sources: tuple[int, ...]
    ) -> Rounds[tuple[EntropySums, Vector]]:
        """Entropy sums of the residuals themselves, and the charge of each."""
        if self.lazily:
            return _charge_lazily(setting, residuals, hint, sources)
        return _charge_all(setting, residuals)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A map to standardised residuals u = R z - offset, and their correlations."""

    variables: tuple[int, ...]
    R: Matrix
    offset: Vector
    rho: Matrix
    basis: Basis
    grid: Grid | None = None

    def question(self, setting: Setting, pairs: IntMatrix, *, singles: bool) -> EntropyQuestion:
        """Ask for the entropy sums of some pair residuals, and of the residuals themselves."""
        rho = self.rho[pairs[:, 0], pairs[:, 1]]
        asked = (self.R, self.offset, pairs, rho, singles, self.basis, self.grid)
        return EntropyQuestion(setting.variables, setting.frame, *asked)


def entropy_grid(grid: Grid | None) -> Grid | None:
    """The grid of entropy sums: that of the other sums, if it is fine enough."""
    return grid if carries(grid) else None


def standardised_residuals(moments: Gaussian, sources: tuple[int, ...], grid: Grid | None = None) -> Residuals:
    """The residuals of all other variables given `sources`, from pooled first and second moments in the frame.

    For sums on a grid the map is in whole numbers, and nothing else depends on the machine.
    """
    if grid is not None:
        R, rest, cov = whole_residual_map(moments.cov, sources)
        sd = np.sqrt(np.diagonal(cov))
        R = rounded_map(R / sd[:, None])
        offset = np.array([math.fsum(row * moments.mean) for row in R])
        return Residuals(rest, R, rounded_map(offset), cov / np.outer(sd, sd), Basis(moments, sources), grid)
    R, rest = residual_map(moments.cov, sources)
    cov = R @ moments.cov @ R.T
    sd = np.sqrt(np.diagonal(cov))
    R = R / sd[:, None]
    return Residuals(rest, R, R @ moments.mean, cov / np.outer(sd, sd), Basis(moments, sources))


def _charge_all(setting: Setting, residuals: Residuals) -> Rounds[tuple[EntropySums, Vector]]:
    """Charges from all ordered pairs, in one round."""
    u = len(residuals.variables)
    pairs = np.argwhere(~np.eye(u, dtype=bool))
    sums = yield from ask(residuals.question(setting, pairs, singles=True))
    entropy = sums.entropy()
    H, H_pair = entropy[:u], np.zeros((u, u))
    H_pair[pairs[:, 0], pairs[:, 1]] = entropy[u:]
    D = H[None, :] + H_pair - H[:, None] - H_pair.T
    return sums.first(u), (np.minimum(D, 0) ** 2).sum(axis=1)


def _charge_lazily(
    setting: Setting, residuals: Residuals, hint: Vector, sources: tuple[int, ...]
) -> Rounds[tuple[EntropySums, Vector]]:
    """Charges that are complete for every candidate that could be the source, lower bounds for the others.

    The candidate with the least charge so far is completed first; among equals the one with the least charge at the
    step before (`hint`), then the one with the least entropy.
    """
    u = len(residuals.variables)
    none = np.empty((0, 2), dtype=np.int64)
    singles = yield from ask(residuals.question(setting, none, singles=True))
    H = singles.entropy()
    charges, known = np.zeros(u), np.eye(u, dtype=bool)
    candidates = setting.candidates(sources)
    eligible = np.array([candidates is None or variable in candidates for variable in residuals.variables])
    while True:
        complete = known.all(axis=1)
        least = charges[complete & eligible].min(initial=np.inf)
        open_candidates = np.flatnonzero(~complete & eligible & (charges <= least))
        if len(open_candidates) == 0:
            return singles, charges
        i = min(open_candidates, key=lambda k: (charges[k], hint[k], H[k]))
        others = np.flatnonzero(~known[i])
        given = np.stack([np.full(len(others), i), others], axis=1)
        pairs = np.concatenate([given, given[:, ::-1]])
        sums = yield from ask(residuals.question(setting, pairs, singles=False))
        of_i, of_others = sums.entropy().reshape(2, -1)
        D = H[others] + of_i - H[i] - of_others
        charges[i] += (np.minimum(D, 0) ** 2).sum()
        charges[others] += np.minimum(-D, 0) ** 2
        known[i, others] = known[others, i] = True
