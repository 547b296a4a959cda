r"""Expected sums of rows with missing values, given what was observed and a Gaussian with pooled moments.

With K the inverse covariance, O the observed and M the missing variables of a row,

.. math:: C_{MM} = (K_{MM})^{-1}, \qquad f_M = \mu_M - C_{MM} K_{MO} (z_O - \mu_O), \qquad f_O = z_O

are the conditional covariance and mean. Moments of order 1 and 2 of (f, C) are the E-step of the EM algorithm; expected
products of four,

.. math:: E z_a z_b z_c z_d = f_a f_b f_c f_d + \sum_6 f f C + \sum_3 C C,

are the tensor sums that the rows would have given: every row contributes to every entry, so sums that must cancel still
do, and Gaussian data stay Gaussian, which filling in conditional means alone would spoil.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import POWERS, PairSums
from fedrcd.statistics.sums import OneArray
from fedrcd.statistics.tensor_sums import TensorSums, tensor_sums
from fedrcd.typing import Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """Mean, shape (p,), and covariance, shape (p, p), in the frame."""

    mean: Vector
    cov: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedMoments(OneArray):
    """Sum over rows of E[(1, d)(1, d)' | observed], d = z - mean, shape (p + 1, p + 1); [0, 0] is the count."""

    sums: Matrix

    kind: ClassVar[str] = "expected moments"

    @property
    def numbers(self) -> int:
        """How many numbers travel."""
        p = len(self.sums)
        return p * (p + 1) // 2

    @property
    def most_rows(self) -> int:
        """How many rows these are sums over."""
        return round(float(self.sums[0, 0]))

    def check(self, names: Sequence[str] = ()) -> None:  # noqa: ARG002 - all variables enter all entries
        """Raise unless all sums are finite."""
        if not np.isfinite(self.sums).all():
            raise StatisticError("expected moments overflow")

    def maximise(self, given: Gaussian) -> Gaussian:
        """The M-step: mean and covariance with the greatest likelihood, from sums taken about `given.mean`."""
        n, shift = self.sums[0, 0], self.sums[0, 1:] / self.sums[0, 0]
        return Gaussian(given.mean + shift, self.sums[1:, 1:] / n - np.outer(shift, shift))


def expected_moments(blocks: Iterable[Matrix], given: Gaussian) -> ExpectedMoments:
    """The E-step over rows that arrive in blocks, NaN where missing."""
    p = len(given.mean)
    total = np.zeros((p + 1, p + 1))
    for z in blocks:
        filled, C = _conditional(z, given)
        d = np.column_stack([np.ones(len(filled)), filled - given.mean])
        total += d.T @ d
        total[1:, 1:] += C.sum(axis=0)
    return ExpectedMoments(total)


def expected_pair_sums(blocks: Iterable[Matrix], given: Gaussian, order: int) -> PairSums:
    """Expected pair sums; complete, with one count."""
    p, count = len(given.mean), 0
    s = {power: np.zeros((p, p)) for power in ((1, 0), (1, 1), (2, 1), (3, 1), (2, 2))}
    for z in blocks:
        f, C = _conditional(z, given)
        count += len(f)
        v, f2 = np.diagonal(C, axis1=1, axis2=2), f * f
        s[1, 0] += f.sum(axis=0)[:, None]
        s[1, 1] += f.T @ f + C.sum(axis=0)
        s[2, 1] += (f2 + v).T @ f + 2 * np.einsum("ni,nij->ij", f, C)
        s[3, 1] += (f2 * f + 3 * f * v).T @ f + 3 * np.einsum("ni,nij->ij", f2 + v, C)
        s[2, 2] += (f2 + v).T @ (f2 + v) + 4 * np.einsum("ni,nj,nij->ij", f, f, C) + 2 * (C * C).sum(axis=0)
    for a in (1, 2):
        s[a, a] = (s[a, a] + s[a, a].T) / 2
    single = {(1, 0): s[1, 0][:, :1], **{(a, 0): np.diagonal(s[a - a // 2, a // 2])[:, None] for a in (2, 3, 4)}}
    sums = {power: np.array(single[power] if power[1] == 0 else s[power]) for power in POWERS[order]}
    return PairSums(order, np.full((1, 1), count, dtype=np.int64), sums)


def expected_tensor_sums(blocks: Iterable[Matrix], given: Gaussian) -> TensorSums:
    """Expected tensor sums: three products over pairs for rows with gaps, the ordinary sums for complete rows."""
    p = len(given.mean)
    index = pair_index(p + 1)
    inner = index.first > 0
    i, j = index.first[inner] - 1, index.second[inner] - 1
    qq, qc, cc = np.zeros((index.size, index.size)), np.zeros((index.size, len(i))), np.zeros((len(i), len(i)))
    total = TensorSums(p, np.zeros_like(tensor_sums([], p).packed))
    for z in blocks:
        whole = ~np.isnan(z).any(axis=1)
        total = total + tensor_sums([z[whole]], p)
        filled, C = _conditional(z[~whole], given)
        f = np.column_stack([np.ones(len(filled)), filled])
        q, c = f[:, index.first] * f[:, index.second], C[:, i, j]
        qq += q.T @ q
        qc += q.T @ c
        cc += c.T @ c
    placed = np.zeros_like(qq)
    placed[:, inner] += qc
    placed[inner, :] += qc.T
    placed[np.ix_(inner, inner)] += cc
    return total + TensorSums.from_moments(p, qq + _symmetrised(placed, p + 1))


def _conditional(z: Matrix, given: Gaussian) -> tuple[Matrix, Matrix]:
    """Rows with conditional means in the gaps, (n, p), and conditional covariances, (n, p, p), zero where observed."""
    K = np.linalg.inv(given.cov)
    K = (K + K.T) / 2
    missing = np.isnan(z)
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    both = patterns[:, :, None] & patterns[:, None, :]
    inverse = np.linalg.inv(np.where(both, K, np.eye(len(K))))
    C = np.where(both, (inverse + inverse.transpose(0, 2, 1)) / 2, 0.0)[which.ravel()]
    observed = np.where(missing, 0.0, z - given.mean)
    return np.where(missing, given.mean - np.einsum("nij,nj->ni", C, observed @ K), z), C


def _symmetrised(G: Matrix, p: int) -> Matrix:
    """G[ab, cd] + G[ac, bd] + G[ad, bc] of a symmetric matrix over pairs."""
    index = pair_index(p)
    a, b, c, d = index.first[:, None], index.second[:, None], index.first[None], index.second[None]
    number = index.number
    total: Matrix = G + G[number[a, c], number[b, d]] + G[number[a, d], number[b, c]]
    return total
