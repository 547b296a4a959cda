r"""Evidence from sums over directions with noise on them: differentially private, and robust for the same reason.

As `directions`, but for what noise asks for. Whitenings are held away from singular ones by the size of the noise; the
last round tells the scatter once more. Noise of variance :math:`s_3^2` and :math:`s_4^2` on the traceless tensors of a
direction of length 1 comes on top of the sampling variances 6 / N and 24 / N. The tensors are therefore shrunk by
:math:`(1 + N s_3^2 / 6)^{-1/2}` and :math:`(1 + N s_4^2 / 24)^{-1/2}`: they then vary as tensors without noise do, and
every score weighs the third order against the fourth as their precision demands.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fedrcd.methods.deflations.tensors import TensorEvidence, in_own_units, regress_out, require_few
from fedrcd.methods.gaussianity import distance_from_gaussian
from fedrcd.methods.regularity import require_regular, require_rows, require_units
from fedrcd.methods.skeleton import Evidence, Marginals
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.noisy_question import NoisyQuestion
from fedrcd.protocol.questions import Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.directions import SPHERE, Whitening, sharpened
from fedrcd.statistics.discrete_gaussian import RandomBytes
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC, Grid
from fedrcd.statistics.noisy_sums import Losses, sensitivity
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.privacy_loss import loss_within
from fedrcd.statistics.spherical_tensors import spherical_cumulants
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import Matrix

WHITENINGS = (0.06, 0.06, 0.08)
"""Shares of the squared loss that the rounds of whitening have."""

TENSORS = {2: 0.2, 3: 0.15, 4: 0.45}
"""Those of the degrees of the last round; all shares add up to 1."""

RIDGE = 0.25
"""By how much of the largest eigenvalue that noise alone has every eigenvalue is raised."""


@dataclass(frozen=True, slots=True)
class NoisyDirections:
    """Whiten under noise, then ask for tensors under noise, all within an epsilon at a delta."""

    least_squares: ClassVar[bool] = True

    epsilon: float
    delta: float
    random: RandomBytes = field(default=os.urandom, repr=False)

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[TensorEvidence], Marginals]]:
        """Whiten the rows, and ask for the tensors of their directions."""
        p, loss = len(setting.variables), loss_within(self.epsilon, self.delta)
        require_few(p)
        require_units(setting.frame, setting.variables)
        grid = setting.grid or _EXACT
        whitening = Whitening.of_frame(Frame.identity(p)).on_grid(grid)
        for share in WHITENINGS:
            losses = Losses({2: loss * math.sqrt(share)}, setting.noise_part)
            question = DirectionQuestion(setting.variables, setting.frame, whitening, grid)
            sums = (yield from ask(NoisyQuestion(question, losses, self.random))).of_pairs()
            require_rows(int(sums.count.min()), setting.variables)
            whitening = sharpened(whitening, _away_from_singular(sums, losses)).on_grid(grid)
        losses = Losses({degree: loss * math.sqrt(share) for degree, share in TENSORS.items()}, setting.noise_part)
        last = DirectionTensorQuestion(setting.variables, setting.frame, whitening, grid)
        tensor_sums = (yield from ask(NoisyQuestion(last, losses, self.random))).of_tensors()
        require_rows(tensor_sums.count, setting.variables)
        tensors = _shrunk(spherical_cumulants(tensor_sums, whitening, setting.frame), losses)
        tensors = replace(tensors, cov=_scatter(tensor_sums, whitening, setting.frame, losses))
        require_regular(tensors.cov, setting.variables)
        distance = distance_from_gaussian(tensors.pairs())
        noise = (p + 2) * noise_sd(p, 2, losses) / tensors.count
        marginals = Marginals(tensors.count, tensors.mean, tensors.cov, distance, noise=noise**2 / 2)
        return in_own_units(tensors), marginals

    remove = regress_out


_EXACT: Grid = ARITHMETIC["exact"]  # type: ignore[assignment]


def noise_sd(p: int, degree: int, losses: Losses) -> float:
    """Standard deviation of the noise on a degree of the full tensor of directions of length 1, of all sites together.

    Sites that add parts of it are taken to add up to all of it, and a part above 1 to be that of all of them.
    """
    size = sensitivity(p, degree, SPHERE) * SPHERE.step**degree / losses.by_degree[degree]
    return size * math.sqrt(max(1.0, losses.part))


def _away_from_singular(sums: PairSums, losses: Losses) -> PairSums:
    """Sums whose matrix is positive definite, by more than the noise that made it less so."""
    matrix = sums.sums[1, 1]
    return replace(sums, sums={**sums.sums, (1, 1): _raised(matrix, _largest_of_noise(len(matrix), losses))})


def _largest_of_noise(p: int, losses: Losses) -> float:
    """About the largest eigenvalue of a symmetric matrix of nothing but the noise of degree 2."""
    return math.sqrt(2 * p) * noise_sd(p, 2, losses)


def _raised(matrix: Matrix, noise: float) -> Matrix:
    """A symmetric matrix with eigenvalues raised by a share of those of noise, and none below that."""
    values, vectors = np.linalg.eigh(matrix)
    raised: Matrix = (vectors * np.maximum(values + RIDGE * noise, RIDGE * noise)) @ vectors.T
    return raised


def _scatter(sums: TensorSums, whitening: Whitening, frame: Frame, losses: Losses) -> Matrix:
    """The scatter of rows: that of the whitening, and what the directions under it still show."""
    p, number = sums.p, pair_index(sums.p + 1).number
    second = _raised(sums.moments()[0, number[1:, 1:]], _largest_of_noise(p, losses))
    values, vectors = np.linalg.eigh(second * p / np.trace(second))
    left = (vectors * values ** ((p + 2) / p)) @ vectors.T
    back = np.linalg.inv(whitening.matrix) * frame.scale[:, None]
    scatter: Matrix = back @ left @ back.T
    return scatter


def _shrunk(tensors: TensorCumulants, losses: Losses) -> TensorCumulants:
    """Tensors that vary over samples as those without noise do."""
    p, n = tensors.p, tensors.count
    third = noise_sd(p, 3, losses) / n * p**1.5 * (p + 2) / p * math.sqrt((p + 4) / (p - 1) * (1 - 3 / (p + 2)))
    fourth = noise_sd(p, 4, losses) / n * p**2 * (p + 2) * (p + 4) * math.sqrt((p + 6) / (p**3 * (p**2 - 1)))
    fourth *= math.sqrt(1 - 6 / (p + 4) + 3 / ((p + 2) * (p + 4)))
    return replace(
        tensors,
        third=tensors.third / math.sqrt(1 + n * third**2 / 6),
        fourth=tensors.fourth / math.sqrt(1 + n * fourth**2 / 24),
    )
