r"""Evidence that no row dominates: tensors of the directions of whitened rows.

Rows are whitened again and again, a round of sums each; then one round asks for the tensors of their directions. Under
:math:`x = A e` with symmetric errors the scatter that whitens is :math:`A D A^\top` with D diagonal, as the covariance
is, so regressions leave the same residuals; and the traceless tensors tell errors from mixtures of them, as cumulants
do. From there on all is exact deflation of tensors.

Every whitening follows from whole numbers, by steps that all machines round alike, and is rounded to whole multiples of
a power of two: whoever has the pooled sums asks the same next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.methods.deflations.tensors import TensorEvidence, in_own_units, regress_out, require_few
from fedrcd.methods.gaussianity import distance_from_gaussian
from fedrcd.methods.regularity import require_regular, require_rows, require_units
from fedrcd.methods.skeleton import Evidence, Marginals
from fedrcd.protocol.questions import Rounds, ask
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.directions import LEAST_SPREAD, Whitening, sharpened, spread_of
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.spherical_tensors import of_directions, spherical_cumulants
from fedrcd.statistics.steady_algebra import eigen
from fedrcd.typing import Matrix, Vector

SETTLED = 3
"""Whitenings after which rows look whitened, if they can."""

VANISHED = 1e-6
"""The least eigenvalue of the spread of directions before that, if no variable follows from others."""


@dataclass(frozen=True, slots=True)
class Directions:
    """Whiten so many times, then ask for tensors; further steps ask nothing."""

    least_squares: ClassVar[bool] = True

    whitenings: int = 5

    def start(self, setting: Setting) -> Rounds[tuple[Evidence[TensorEvidence], Marginals]]:
        """Whiten the rows, and ask for the tensors of their directions."""
        p = len(setting.variables)
        require_few(p)
        require_units(setting.frame, setting.variables)
        whitening = Whitening.of_frame(setting.robust or Frame.identity(p)).on_grid(setting.grid)
        flat = False
        for number in range(self.whitenings):
            sums = yield from ask(setting.directions(whitening, near=True))
            require_rows(int(sums.count.min()), setting.variables)
            values, vectors = eigen(spread_of(sums))
            flat = flat or (number == 0 and values.min() < VANISHED)
            if flat or number == 0 or values.min() >= (LEAST_SPREAD if number >= SETTLED else VANISHED):
                require_regular(_seen(whitening, sums, setting.frame), setting.variables)
            else:
                raise _flattened(whitening, vectors[:-1, np.argmin(values)], setting)
            whitening = sharpened(whitening, sums).on_grid(setting.grid)
        asked = yield from ask(setting.direction_tensor(whitening, near=True))
        tensor_sums = of_directions(asked)
        require_rows(tensor_sums.count, setting.variables)
        tensors = spherical_cumulants(tensor_sums, whitening, setting.frame)
        require_regular(tensors.cov, setting.variables)
        distance = distance_from_gaussian(tensors.pairs())
        far = max(asked.count - tensors.count, 0)  # the trace of rounded directions is a little off
        marginals = Marginals(asked.count, tensors.mean, tensors.cov, distance, far=far)
        return in_own_units(tensors), marginals

    remove = regress_out


def _flattened(whitening: Whitening, direction: Vector, setting: Setting) -> StatisticError:
    """That rows vary in a direction of whitened rows, but not those that are not far from all others.

    So it is where the rare values of a column are what is far: whitening would go on for ever.
    """
    sd = np.sqrt(np.diagonal(whitening.covariance()))
    name = setting.variables[int(np.argmax(np.abs(direction @ whitening.matrix) * sd))]
    return StatisticError(
        f"column {name!r} does not vary, or follows from others, but for rows that are far from all others; leave it "
        "out, or take a method that counts all rows alike: here rare values look like gross errors"
    )


def _seen(whitening: Whitening, sums: PairSums, frame: Frame) -> Matrix:
    """The scatter of the rows that the directions under a whitening show, in units of the data."""
    back = np.linalg.inv(whitening.matrix) * frame.scale[:, None]
    spread = spread_of(sums)
    level = spread[:-1, -1]
    scatter: Matrix = back @ (spread[:-1, :-1] - np.outer(level, level) / spread[-1, -1]) @ back.T
    return scatter
