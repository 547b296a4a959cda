r"""Sums behind DirectLiNGAM's entropy: of log cosh u and of u exp(-u²/2), for variables and pair residuals.

Hyvarinen's maximum-entropy approximation of the entropy of a standardised variable u,

.. math:: H(u) = (1 + \log 2\pi)/2 - k_1 (E \log\cosh u - \gamma)^2 - k_2 (E\, u e^{-u^2/2})^2,

needs two expectations. Both are means over rows, so their sums add over sites and DirectLiNGAM can be federated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.sums import FloatSums
from fedrcd.typing import IntMatrix, IntVector, Matrix, Vector

K1, K2, GAMMA = 79.047, 7.4129, 0.37457
"""Constants of the approximation, as `lingam` has them."""

ROWS_AT_ONCE = 1024
"""Rows whose factors 1 + exp(-2|u|) are multiplied before a logarithm is taken: at most 2^1024 over four columns,
which float64 holds."""

QUANTITIES_AT_ONCE = 64
"""With `ROWS_AT_ONCE` it makes working arrays of 512 kB, which stay in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class EntropySums(FloatSums):
    """Sums over rows for m standardised quantities; `+` pools, `-` undoes `+`.

    `log_cosh` and `gauss` have shape (m,): the sums of log cosh u and of u exp(-u²/2).
    """

    count: int
    log_cosh: Vector
    gauss: Vector

    kind: ClassVar[str] = "entropies"

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        return 1 + 2 * len(self.log_cosh)

    @property
    def most_rows(self) -> int:
        """How many rows these are sums over."""
        return self.count

    def __add__(self, other: Self) -> Self:
        """Sums of both tables stacked."""
        self._require_like(other)
        return type(self)(self.count + other.count, self.log_cosh + other.log_cosh, self.gauss + other.gauss)

    def __sub__(self, part: Self) -> Self:
        """Sums of what remains without the rows behind `part`."""
        self._require_like(part)
        if part.count > self.count:
            raise StatisticError("cannot take away more rows than there are")
        return type(self)(self.count - part.count, self.log_cosh - part.log_cosh, self.gauss - part.gauss)

    def __eq__(self, other: object) -> bool:
        """Equality to the last bit."""
        if not isinstance(other, EntropySums):
            return NotImplemented
        return (
            self.count == other.count
            and np.array_equal(self.log_cosh, other.log_cosh)
            and np.array_equal(self.gauss, other.gauss)
        )

    __hash__ = None  # type: ignore[assignment]

    def _require_like(self, other: EntropySums) -> None:
        if len(self.log_cosh) != len(other.log_cosh):
            raise StatisticError(
                f"entropy sums of {len(self.log_cosh)} and of {len(other.log_cosh)} quantities do not add"
            )

    @property
    def counted(self) -> IntVector:
        """Rows behind each number."""
        return self.own_counts

    def arrays(self) -> dict[str, Any]:
        """The arrays of numbers, without counts, by what messages call them."""
        return {"sums of log cosh": self.log_cosh, "sums of u exp(-u²/2)": self.gauss}

    def with_arrays(self, values: Iterable[Any]) -> EntropySums:
        """The same count with other numbers, in the order of `arrays`."""
        return EntropySums(self.count, *values)

    @property
    def own_counts(self) -> IntVector:
        """The count, which is kept apart from the numbers."""
        return np.array([self.count], dtype=np.int64)

    def with_own_counts(self, counts: IntVector) -> EntropySums:
        """The same numbers with another count."""
        return EntropySums(int(counts[0]), self.log_cosh, self.gauss)

    def degrees(self) -> list[int]:
        """Whole sums are in squares of a grid's step."""
        return [2, 2]

    def counts_by_array(self) -> list[Any]:
        """Rows behind each entry, by array."""
        return [self.own_counts] * 2

    def powers(self) -> dict[int, Matrix]:
        """None: these are no powers."""
        return {}

    def check_possible(self) -> None:
        """As `check`, which sees all there is to see."""
        self.check()

    def check(self, names: Sequence[str] = ()) -> None:  # noqa: ARG002 - quantities are not single variables
        """Raise unless these can be sums over rows; |u exp(-u²/2)| never exceeds exp(-1/2).

        Halves of whole sums are not: whoever puts them together checks them.
        """
        if self.log_cosh.dtype == np.int64:
            return
        finite = np.isfinite(self.log_cosh).all() and np.isfinite(self.gauss).all()
        bound = self.count * math.exp(-0.5) * (1 + 1e-9)
        if not finite or (self.log_cosh < -1e-9 * self.count).any() or (np.abs(self.gauss) > bound).any():
            raise StatisticError("no rows can have these entropy sums")

    def first(self, m: int) -> EntropySums:
        """The sums of the first m quantities."""
        return EntropySums(self.count, self.log_cosh[:m], self.gauss[:m])

    def entropy(self) -> Vector:
        """H of each quantity, shape (m,)."""
        log_cosh, gauss = self.log_cosh / self.count, self.gauss / self.count
        entropy: Vector = (1 + math.log(2 * math.pi)) / 2 - K1 * (log_cosh - GAMMA) ** 2 - K2 * gauss**2
        return entropy


def entropy_sums(blocks: Iterable[Matrix], singles: int, pairs: IntMatrix, rho: Vector) -> EntropySums:
    r"""Entropy sums of standardised variables and of their pair residuals.

    Parameters
    ----------
    blocks : iterable of (n, u) arrays
        Rows of standardised variables.
    singles : int
        The first `singles` quantities are variables 0 .. singles - 1 themselves (0 or u).
    pairs : (m, 2) array of int
        Further quantities: the residual of variable i given variable j, for each row (i, j),
        :math:`(u_i - \rho u_j) / \sqrt{1 - \rho^2}`.
    rho : (m,) array
        Correlation of each pair.
    """
    own = np.stack([np.arange(singles), np.arange(singles)], axis=1)
    left, right = np.concatenate([own, pairs]).T
    weight = np.concatenate([np.zeros(singles), rho])
    scale = 1 / np.sqrt(1 - weight**2)
    count, total = 0, np.zeros((2, len(left)))
    chunks = [slice(first, first + QUANTITIES_AT_ONCE) for first in range(0, len(left), QUANTITIES_AT_ONCE)]
    for block in blocks:
        count += len(block)
        u = np.ascontiguousarray(block.T)
        for chunk in chunks:
            total[:, chunk] += _block_sums(u, left[chunk], right[chunk], weight[chunk, None], scale[chunk, None])
    return EntropySums(count, total[0], total[1])


def _block_sums(u: Matrix, left: IntMatrix, right: IntMatrix, weight: Matrix, scale: Matrix) -> Matrix:
    """Both sums of one block of rows for some quantities, shape (2, m); `u` is (variables, rows)."""
    total = np.zeros((2, len(left)))
    work = np.empty((3, len(left), min(ROWS_AT_ONCE, u.shape[1])))
    for first in range(0, u.shape[1], ROWS_AT_ONCE):
        piece = u[:, first : first + ROWS_AT_ONCE]
        r, s, t = work[:, :, : piece.shape[1]]
        np.multiply(piece[right], -weight, out=r)
        r += piece[left]
        r *= scale
        np.abs(r, out=s)
        total[0] += s.sum(axis=1) + _log_one_plus_exp(s, t) - piece.shape[1] * math.log(2)
        np.multiply(r, r, out=s)
        s *= -0.5
        np.exp(s, out=s)
        total[1] += np.einsum("mn,mn->m", r, s)
    return total


def _log_one_plus_exp(size: Matrix, work: Matrix) -> Vector:
    """Sum over columns of log(1 + exp(-2 size)); uses `work`.

    With it log cosh u = |u| + log(1 + exp(-2|u|)) - log 2 is safe for any outlier. The logarithm is taken of products
    of many rows at once, which costs one multiplication a row instead of one logarithm.
    """
    np.multiply(size, -2.0, out=work)
    np.exp(work, out=work)
    work += 1
    rest = work
    while (width := rest.shape[1]) > 4:
        half = width // 2
        rest[:, :half] *= rest[:, half : 2 * half]
        if width % 2:
            rest[:, 0] *= rest[:, -1]
        rest = rest[:, :half]
    total: Vector = np.log(rest).sum(axis=1)
    return total
