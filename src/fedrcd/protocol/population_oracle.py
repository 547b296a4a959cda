r"""A transport that knows the model instead of rows: it answers with population values.

Under :math:`x = A e` with independent errors every cumulant of x is a sum over errors,
:math:`\kappa_{a,b}(x_i, x_j) = \sum_m A_{im}^a A_{jm}^b \kappa_{a+b}(e_m)`. The oracle turns these into the sums that
very many rows would give, so any method that asks for moments can be run on the population itself: what remains wrong
then is the method's own limit, not sampling error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Question, S
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.transport import Setting, Traffic
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import POWERS, PairSums, Power
from fedrcd.statistics.tensor_cumulants import products_of_covariances
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import Matrix, Vector

ORACLE_ROWS = 2**40
"""The count that population sums pretend to; it only matters to corrections of order 1/N."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """Answers from the mixing matrix A, shape (p, p), and the errors' variance, third and fourth cumulant."""

    setting: Setting
    mixing: Matrix
    variance: Vector
    third: Vector
    fourth: Vector
    traffic: Traffic = field(default_factory=Traffic)

    def pool(self, question: Question[S]) -> S:
        """The statistic asked for, in the population."""
        answer: Any = question.in_population(self)
        self.traffic.rounds += 1
        self.traffic.count(answer)
        return cast("S", answer)

    def pair_sums(self, question: PairQuestion) -> PairSums:
        """Pair sums of the population, of variables or residuals."""
        A = self._mixing_in_frame(question.variables, question.frame)
        if question.residuals is not None:
            A = question.residuals @ A
        moments = _moments(A, self.variance, self.third, self.fourth)
        sums: dict[Power, Matrix] = {power: ORACLE_ROWS * moments[power] for power in POWERS[question.order]}
        return PairSums(question.order, np.full((1, 1), ORACLE_ROWS, dtype=np.int64), sums)

    def tensor_sums(self, question: TensorQuestion) -> TensorSums:
        """Tensor sums of the population."""
        A = self._mixing_in_frame(question.variables, question.frame)
        moments = _tensor_moments(A, self.variance, self.third, self.fourth)
        return TensorSums.from_moments(len(A), ORACLE_ROWS * moments)

    def _mixing_in_frame(self, variables: tuple[str, ...], frame: Frame) -> Matrix:
        chosen = [self.setting.variables.index(name) for name in variables]
        scaled: Matrix = self.mixing[chosen] / frame.scale[:, None]
        return scaled


def _tensor_moments(A: Matrix, variance: Vector, third: Vector, fourth: Vector) -> Matrix:
    """Moments of all pairs of pairs of (1, A e), as `TensorSums.moments` holds sums."""
    p = len(A)
    index, inner = pair_index(p + 1), pair_index(p)
    cov = (A * variance) @ A.T
    products = A[inner.first] * A[inner.second]
    m3 = (products * third) @ A.T
    m4 = (products * fourth) @ products.T + products_of_covariances(cov)
    one, pairs = index.number[0], index.number[1:, 1:][np.triu_indices(p)]
    matrix = np.zeros((index.size, index.size))
    matrix[0, 0] = 1.0
    matrix[0, pairs] = matrix[pairs, 0] = inner.gather(cov)
    matrix[np.ix_(one[1:], one[1:])] = cov
    matrix[np.ix_(pairs, one[1:])] = m3
    matrix[np.ix_(one[1:], pairs)] = m3.T
    matrix[np.ix_(pairs, pairs)] = m4
    return matrix


def _moments(A: Matrix, variance: Vector, third: Vector, fourth: Vector) -> dict[Power, Matrix]:
    """Moments E z_i^a z_j^b of the zero-mean vector A e."""
    k11 = (A * variance) @ A.T
    k11 = (k11 + k11.T) / 2
    k20 = np.diagonal(k11)[:, None]
    A2 = A**2
    k21 = (A2 * third) @ A.T
    k31 = (A**3 * fourth) @ A.T
    k22 = (A2 * fourth) @ A2.T
    k22 = (k22 + k22.T) / 2
    return {
        (1, 0): np.zeros((len(A), 1)),
        (2, 0): k20,
        (1, 1): k11,
        (3, 0): np.diagonal(k21)[:, None],
        (2, 1): k21,
        (4, 0): np.diagonal(k31)[:, None] + 3 * k20**2,
        (3, 1): k31 + 3 * k20 * k11,
        (2, 2): k22 + k20 * k20.T + 2 * k11**2,
    }
