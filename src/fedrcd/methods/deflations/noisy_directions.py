r"""Evidence from sums over directions with noise on them: differentially private, and robust for the same reason.

As `directions`, but for what noise asks for. Whitenings are held away from singular ones by the size of the noise. The
last whitening is the scatter, too: then every residual of variance 1 has the direction of a point of the unit sphere
under it, and noise is as large on each. Were the scatter told once more, residuals would be up to some tenths longer or
shorter there, and noise, which grows with the fourth power of that, would choose the order.

Noise of variance :math:`s_3^2` and :math:`s_4^2` on the traceless tensors of a direction of length 1 comes on top of
the sampling variances 6 / N and 24 / N. The tensors are therefore shrunk by :math:`(1 + N s_3^2 / 6)^{-1/2}` and
:math:`(1 + N s_4^2 / 24)^{-1/2}`: they then vary as tensors without noise do, and every score weighs the third order
against the fourth as their precision demands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
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
from fedrcd.statistics.added_noise import Losses, sensitivity
from fedrcd.statistics.directions import SPHERE, Whitening, sharpened
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC, Grid
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.privacy_loss import loss_within
from fedrcd.statistics.spherical_tensors import spherical_cumulants
from fedrcd.statistics.steady_algebra import eigen, product
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import Matrix

WHITENINGS = (0.03, 0.10, 0.10)
"""Shares of the squared loss that the rounds of whitening have: the last one tells the scatter, as well as the one
before lets it."""

TENSORS = {3: 0.13, 4: 0.64}
"""Those of the degrees of the last round; all shares add up to 1."""

RIDGE = 0.25
"""By how much of the largest eigenvalue that noise alone has every eigenvalue is raised."""


@dataclass(frozen=True, slots=True)
class NoisyDirections:
    """Whiten under noise, then ask for tensors under noise, all within an epsilon at a delta."""

    least_squares: ClassVar[bool] = True

    epsilon: float
    delta: float

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[TensorEvidence], Marginals]]:
        """Whiten the rows, and ask for the tensors of their directions."""
        p, loss = len(setting.variables), loss_within(self.epsilon, self.delta)
        require_few(p)
        require_units(setting.frame, setting.variables)
        grid = setting.grid or _EXACT
        losing = partial(Losses, part=setting.noise_part, parts=setting.noise_parts)
        whitening, count, error = Whitening.of_frame(Frame.identity(p)).on_grid(grid), 0, 0.0
        for share in WHITENINGS:
            losses = losing({2: loss * math.sqrt(share)})
            question = DirectionQuestion(setting.variables, setting.frame, whitening, grid)
            sums = (yield from ask(NoisyQuestion(question, losses))).of_pairs()
            count = int(sums.count.min())
            require_rows(count, setting.variables)
            whitening = sharpened(whitening, _away_from_singular(sums, losses)).on_grid(grid)
            error = (p + 3) * noise_sd(p + 1, 2, losses) / count
        losses = losing({degree: loss * math.sqrt(share) for degree, share in TENSORS.items()})
        last = DirectionTensorQuestion(setting.variables, setting.frame, whitening, grid)
        asked = (yield from ask(NoisyQuestion(last, losses))).of_tensors(count)
        tensors = _shrunk(spherical_cumulants(asked, whitening, setting.frame), losses)
        require_regular(tensors.cov, setting.variables)
        distance = distance_from_gaussian(tensors.pairs())
        marginals = Marginals(count, tensors.mean, tensors.cov, distance, noise=error**2 / 2)
        return in_own_units(tensors), marginals

    remove = regress_out


_EXACT: Grid = ARITHMETIC["exact"]  # type: ignore[assignment]


def noise_sd(p: int, degree: int, losses: Losses) -> float:
    """Standard deviation of all sites' noise on a degree of the full tensor of directions of length 1."""
    size = sensitivity(p, degree, SPHERE) * SPHERE.step**degree / losses.by_degree[degree]
    return size * math.sqrt(losses.excess)


def _away_from_singular(sums: PairSums, losses: Losses) -> PairSums:
    """Sums whose matrix is positive definite, by more than the noise that made it less so."""
    matrix = sums.sums[1, 1]
    return replace(sums, sums={**sums.sums, (1, 1): _raised(matrix, _largest_of_noise(len(matrix), losses))})


def _largest_of_noise(p: int, losses: Losses) -> float:
    """About the largest eigenvalue of a symmetric matrix of nothing but the noise of degree 2."""
    return math.sqrt(2 * p) * noise_sd(p, 2, losses)


def _raised(matrix: Matrix, noise: float) -> Matrix:
    """A matrix with eigenvalues raised by a share of those of noise, and none below; the same bits on all machines."""
    values, vectors = eigen(matrix)
    return product(vectors * np.maximum(values + RIDGE * noise, RIDGE * noise), vectors.T)


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
