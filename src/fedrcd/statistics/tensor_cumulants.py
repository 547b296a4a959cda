r"""Cumulant tensors of order 2, 3 and 4, and their exact change when variables are replaced by residuals.

The tensor of order 4 is kept packed, every entry once, as `packed_tensor` arranges them. Cumulants are multilinear.
As a form :math:`f(y) = \sum T_{ijkl}\, y_i y_j y_k y_l`, replacing :math:`x_j` by :math:`x_j - b_j x_s` puts
:math:`-\beta = -\sum_j b_j y_j` in the place of :math:`y_s`, so the entries without s change by one cubic form:

.. math:: T_{ijkl} - b_i C_{jkl} - b_j C_{ikl} - b_k C_{ijl} - b_l C_{ijk}, \qquad
          C = T_{s\cdot\cdot\cdot} - \tfrac32 b\, T_{ss\cdot\cdot} + b b\, T_{sss\cdot} - \tfrac14 b b b\, T_{ssss}

(products symmetrised). That touches every distinct entry once. Centring is the same operation with the constant 1 in
the place of the source and the means as coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.packed_tensor import block_matrices, pair_offsets, places_with, symmetric_blocks
from fedrcd.statistics.pair_cumulants import Estimator, PairCumulants
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import IntVector, Matrix, Vector

ROWS_AT_ONCE = 64
"""Combinations that are contracted at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorCumulants:
    """All joint cumulants up to order 4 of p variables.

    `mean` has shape (p,), `cov` (p, p) and `third` (p, p, p); `fourth` is packed, shape (C(p + 3, 4),).
    """

    count: int
    mean: Vector
    cov: Matrix
    third: Matrix
    fourth: Vector

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.cov)

    def pairs(self) -> PairCumulants:
        """The cumulants of pairs among them."""
        p, number = self.p, pair_index(self.p).number
        twice = np.diagonal(number)
        k2 = np.diagonal(self.cov)[:, None]
        k12 = np.diagonal(self.third, axis1=1, axis2=2).copy()
        k13, k22 = np.empty((p, p)), np.empty((p, p))
        for b, block in enumerate(block_matrices(p, self.fourth)):
            k13[: b + 1, b] = block[:, 0]
            k13[b:, b] = block[b, : p - b]
            k22[b, b:] = k22[b:, b] = block[b, twice[b:] - twice[b]]
        k3, k4 = np.diagonal(k12)[:, None], np.diagonal(k13)[:, None]
        return PairCumulants(np.full((1, 1), self.count, dtype=np.int64), k2, self.cov, k3, k12, k4, k13, k22)

    def remove(self, s: int) -> TensorCumulants:
        """Cumulants of the residuals of all other variables given variable s, by least squares."""
        rest = np.flatnonzero(np.arange(self.p) != s)
        b = self.cov[rest, s] / self.cov[s, s]
        cov = self.cov[np.ix_(rest, rest)] - np.outer(b, b) * self.cov[s, s]
        fourth = _kept(self.p, self.fourth, s, rest)
        _eliminate(fourth, _cubic(self.p, self.fourth, s, rest, b), b)
        return TensorCumulants(
            self.count, self.mean[rest] - b * self.mean[s], cov, _third_without(self.third, s, rest, b), fourth
        )

    def of_combinations(self, W: Matrix) -> tuple[Vector, Vector]:
        """Third and fourth cumulant of w'x for each row w of W, both of shape (rows,)."""
        blocks = block_matrices(self.p, self.fourth)
        parts = [
            _contracted(self.third, blocks, W[at : at + ROWS_AT_ONCE]) for at in range(0, max(len(W), 1), ROWS_AT_ONCE)
        ]
        third, fourth = zip(*parts, strict=True)
        return np.concatenate(third), np.concatenate(fourth)

    def scaled(self, factor: Vector) -> TensorCumulants:
        """The cumulants of x_i * factor_i; `factor` has shape (p,)."""
        f, index = factor, pair_index(self.p)
        of_pairs = f[index.first] * f[index.second]
        fourth = self.fourth.copy()
        for (b, right, _), block in zip(symmetric_blocks(self.p), block_matrices(self.p, fourth), strict=True):
            block *= (f[: b + 1] * f[b])[:, None]
            block *= of_pairs[right]
        third = self.third * f[:, None, None] * f[:, None] * f
        return TensorCumulants(self.count, self.mean * f, self.cov * np.outer(f, f), third, fourth)


def _contracted(third: Matrix, blocks: list[Matrix], W: Matrix) -> tuple[Vector, Vector]:
    r"""Both tensors contracted with every row of W.

    An entry counts 24 times, over the factorials of how often each of its indices is repeated: those of (a, b) and of
    (c, d) are weighted apart, and what b = c adds is corrected in the first columns of each block.
    """
    p = W.shape[1]
    index = pair_index(p)
    right = W[:, index.first] * W[:, index.second]
    right[:, index.first == index.second] /= 2
    total = np.zeros(len(W))
    for b, block in enumerate(blocks):
        w = right[:, index.number[b, b] :].copy()
        other, same = W[:, :b] @ block[:b], W[:, b, None] * block[b]
        own, run = w[:, :1].copy(), slice(0, p - b)
        w[:, run] /= 2  # b = c
        w[:, :1] = own / 3
        of_others = np.einsum("rm,rm->r", w, other)
        w[:, run] *= 2 / 3  # a = b, too
        w[:, :1] = own / 6
        of_same = np.einsum("rm,rm->r", w, same)
        total += 24 * W[:, b] * (of_others + of_same / 2)
    return np.einsum("ri,rj,rk,ijk->r", W, W, W, third, optimize=True), total


def _kept(size: int, packed: Vector, s: int, rest: IntVector) -> Vector:
    """The entries without index s."""
    number = pair_index(size).number
    pairs = number[np.ix_(rest, rest)][np.triu_indices(len(rest))]
    kept = np.empty(comb(len(rest) + 3, 4))
    old, new = block_matrices(size, packed), block_matrices(len(rest), kept)
    for b, block in zip(rest, new, strict=True):
        columns = pairs[len(pairs) - block.shape[1] :] - number[b, b]
        if s > b:
            np.take(old[b], columns, axis=1, out=block, mode="clip")
        else:
            block[:s] = old[b][:s]
            block[s:] = old[b][s + 1 :]
    return kept


def _cubic(size: int, packed: Vector, s: int, rest: IntVector, b: Vector) -> Matrix:
    """The cubic form C by which s is eliminated, shape (u, u, u)."""
    number, offsets = pair_index(size).number, pair_offsets(size)
    C = packed[places_with(size, s, rest)][pair_index(len(rest)).number]
    low, high = np.minimum(rest[:, None], rest), np.maximum(rest[:, None], rest)
    with_two = (
        offsets[number[np.minimum(low, s), np.minimum(high, s)]] + number[np.maximum(low, s), np.maximum(high, s)]
    )
    with_three = offsets[number[np.minimum(rest, s), s]] + number[s, np.maximum(rest, s)]
    alone = packed[offsets[number[s, s]] + number[s, s]]
    mixed = np.outer(b, packed[with_three])
    of_b = packed[with_two] / 2 - (mixed + mixed.T) / 6 + alone / 12 * np.outer(b, b)
    _subtract_products(C, of_b, b)
    return C


def _third_without(third: Matrix, s: int, rest: IntVector, b: Vector) -> Matrix:
    """The tensor of order 3 with s eliminated, shape (u, u, u)."""
    kept: Matrix = third[np.ix_(rest, rest, rest)]
    mixed = np.outer(b, third[s, s, rest])
    _subtract_products(
        kept, third[s][np.ix_(rest, rest)] - (mixed + mixed.T) / 2 + third[s, s, s] / 3 * np.outer(b, b), b
    )
    return kept


def _subtract_products(cube: Matrix, square: Matrix, b: Vector) -> None:
    """Subtract b_i Q_jk + b_j Q_ik + b_k Q_ij from a symmetric tensor of order 3, in place."""
    cube -= b[:, None, None] * square
    cube -= b[:, None] * square[:, None, :]
    cube -= square[:, :, None] * b


def _eliminate(packed: Vector, C: Matrix, b: Vector) -> None:
    """Subtract b_i C_jkl + b_j C_ikl + b_k C_ijl + b_l C_ijk from the packed tensor, in place.

    In the block of a second index j the terms in C_jkl, C_ijk and C_ijl are one matrix product: with C_jkl, and with
    the rows that put b_l beside k and b_k beside l.
    """
    u = len(b)
    index = pair_index(u)
    of_pairs = C[:, index.first, index.second]
    pairs = np.arange(index.size)
    right = np.zeros((u + 1, index.size))
    right[index.first + 1, pairs] = b[index.second]
    right[index.second + 1, pairs] += b[index.first]
    blocks = block_matrices(u, packed)
    work = np.empty(max(block.size for block in blocks))
    for j, block in enumerate(blocks):
        columns = index.number[j, j]
        right[j] = of_pairs[j]  # where the row of an earlier index stood, which is no longer needed
        left = np.column_stack([b[: j + 1], C[: j + 1, j, j:]])
        product = work[: block.size].reshape(block.shape)
        block -= np.matmul(left, right[j:, columns:], out=product)
        block -= np.multiply(of_pairs[: j + 1, columns:], b[j], out=product)


def tensor_cumulants(sums: TensorSums, frame: Frame, estimator: Estimator = "plug-in") -> TensorCumulants:
    """Cumulants in the units of the data, from sums in the frame; the estimators are those of `pair_cumulants`."""
    n = sums.count
    if n < 4:
        raise StatisticError("cumulants of order 4 need at least 4 rows")
    mean, cov, third, fourth = _central_moments(sums)
    weight = 1.0
    if estimator == "unbiased":
        fourth *= n**2 * (n + 1) / ((n - 1) * (n - 2) * (n - 3))
        weight = n**2 / ((n - 2) * (n - 3))
        third *= n**2 / ((n - 1) * (n - 2))
    _subtract_pairings(fourth, cov, weight)
    if estimator == "unbiased":
        cov *= n / (n - 1)
    in_frame = TensorCumulants(n, mean, cov, third, fourth).scaled(frame.scale)
    return replace(in_frame, mean=frame.centre + frame.scale * mean)


def _central_moments(sums: TensorSums) -> tuple[Vector, Matrix, Matrix, Vector]:
    """Mean, and moments of order 2, 3 and 4 about it."""
    p, means = sums.p, sums.means()
    index, rest = pair_index(p + 1), np.arange(1, p + 1)
    blocks = block_matrices(p + 1, means)
    of_pairs = blocks[0][0][index.number]
    mean, cov = of_pairs[0, 1:].copy(), of_pairs[1:, 1:].copy()
    third = np.empty((p, p, p))
    inner = pair_index(p).number
    for j in range(p):
        third[j, j:, j:] = blocks[j + 1][0][inner[j:, j:] - inner[j, j]]
    third = _made_symmetric(third)
    fourth = np.concatenate([block[1:].ravel() for block in blocks[1:]])
    _eliminate(fourth, _cubic(p + 1, means, 0, rest, mean), mean)
    mixed = np.outer(mean, mean)
    _subtract_products(third, cov - 2 / 3 * mixed, mean)
    return mean, cov - mixed, third, fourth


def _made_symmetric(third: Matrix) -> Matrix:
    """A tensor of order 3 of which the entries [i, j, k] with i the least index are there."""
    i, j, k = np.ogrid[tuple(map(slice, third.shape))]
    least = np.minimum(np.minimum(i, j), k)
    most = np.maximum(np.maximum(i, j), k)
    symmetric: Matrix = third[least, i + j + k - least - most, most]
    return symmetric


def _subtract_pairings(packed: Vector, cov: Matrix, weight: float) -> None:
    """Subtract the products of covariances in which four variables can be paired from a packed tensor, in place."""
    index = pair_index(len(cov))
    of_pairs = index.gather(cov) * weight
    for b, block in enumerate(block_matrices(len(cov), packed)):
        columns = slice(index.number[b, b], None)
        c, d = index.first[columns], index.second[columns]
        block -= np.outer(cov[: b + 1, b], of_pairs[columns])
        block -= cov[: b + 1, c] * (weight * cov[b, d])
        block -= cov[: b + 1, d] * (weight * cov[b, c])


def products_of_covariances(cov: Matrix) -> Matrix:
    """Sum of the three products of covariances in which four variables can be paired, over pairs of pairs."""
    index = pair_index(len(cov))
    i, j = index.first, index.second
    pairs = index.gather(cov)
    total = np.outer(pairs, pairs)
    total += cov[np.ix_(i, i)] * cov[np.ix_(j, j)]
    total += cov[np.ix_(i, j)] * cov[np.ix_(j, i)]
    return total
