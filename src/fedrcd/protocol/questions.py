r"""What a coordinator may ask: small frozen values that say which sums, of which variables, in which frame.

A question may ask for residuals: with a matrix R of shape (u, p) the site takes its sums over
:math:`r = R z` instead of z. Sites keep no state: whatever a round depends on travels in the question, so a
restarted site gives the same answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from fedrcd.statistics.entropy_sums import EntropySums, entropy_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_sums import PairSums, pair_sums
from fedrcd.statistics.tensor_sums import TensorSums, tensor_sums
from fedrcd.typing import IntMatrix, Matrix, Vector


class Sums(Protocol):
    """A statistic that may leave a site: a sum over rows."""

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        ...

    def __add__(self, other: Self) -> Self: ...
    def __sub__(self, part: Self) -> Self: ...

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise `StatisticError` if these cannot be added; `names` label variables in the message."""
        ...


S = TypeVar("S", bound=Sums)
S_co = TypeVar("S_co", bound=Sums, covariant=True)
R_co = TypeVar("R_co", covariant=True)


class Question(Protocol[S_co]):
    """Asks for one statistic; `answer` runs at a site."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the site must hold, in the order the question means them."""
        ...

    @property
    def frame(self) -> Frame:
        """The reference frame of those variables."""
        ...

    def answer(self, blocks: Iterable[Matrix]) -> S_co:
        """The statistic of rows that arrive in blocks, in the frame."""
        ...


Rounds: TypeAlias = Generator[Question[Any], Any, R_co]
"""A conversation: yields questions, is sent pooled answers, returns a result."""


def ask(question: Question[S]) -> Rounds[S]:
    """Yield one question and return its pooled answer, with its type."""
    answer: S = yield question
    return answer


@dataclass(frozen=True, slots=True, eq=False)
class PairQuestion:
    """Asks for pair sums up to an order, of the variables or of residuals R z."""

    variables: tuple[str, ...]
    frame: Frame
    order: int
    residuals: Matrix | None = None

    def answer(self, blocks: Iterable[Matrix]) -> PairSums:
        """Pair sums of the rows."""
        if self.residuals is None:
            return pair_sums(blocks, len(self.variables), self.order)
        R = self.residuals.T
        return pair_sums((z @ R for z in blocks), R.shape[1], self.order)


@dataclass(frozen=True, slots=True, eq=False)
class TensorQuestion:
    """Asks for the sums of all products of up to four variables."""

    variables: tuple[str, ...]
    frame: Frame

    def answer(self, blocks: Iterable[Matrix]) -> TensorSums:
        """Tensor sums of the rows."""
        return tensor_sums(blocks, len(self.variables))


@dataclass(frozen=True, slots=True, eq=False)
class EntropyQuestion:
    """Asks for entropy sums of standardised residuals u = R z - offset and of residuals among pairs of them.

    `singles` says whether the u themselves are asked for; `pairs` and `rho` are as in `entropy_sums`.
    """

    variables: tuple[str, ...]
    frame: Frame
    residuals: Matrix
    offset: Vector
    pairs: IntMatrix
    rho: Vector
    singles: bool

    def answer(self, blocks: Iterable[Matrix]) -> EntropySums:
        """Entropy sums of the rows."""
        R = self.residuals.T
        standardised = (z @ R - self.offset for z in blocks)
        return entropy_sums(standardised, R.shape[1] if self.singles else 0, self.pairs, self.rho)


def residual_map(cov: Matrix, given: tuple[int, ...]) -> tuple[Matrix, tuple[int, ...]]:
    r"""Matrix R with r = R x the least-squares residuals of all other variables on `given`; and which these are.

    :math:`r_U = x_U - \Sigma_{UP} \Sigma_{PP}^{-1} x_P`, the same residuals that successive regression on one source
    after another leaves [P, Algorithm 1, line 13].
    """
    rest = tuple(j for j in range(len(cov)) if j not in given)
    R = np.zeros((len(rest), len(cov)))
    R[np.arange(len(rest)), rest] = 1.0
    if given:
        P = list(given)
        R[:, P] = -np.linalg.solve(cov[np.ix_(P, P)], cov[np.ix_(P, rest)]).T
    return R, rest
