r"""What the directions of rows say about errors: their traceless tensors, in the place of cumulants.

For :math:`u = \sqrt p\, w / |w|`, with w = M (x - c) whitened rows, the tensors :math:`T_3 = E u^{\otimes 3}` and
:math:`T_4 = E u^{\otimes 4}` hold what any elliptical distribution has, and, beside that, their traceless parts: those
vanish when all directions are alike, which is where cumulants vanish, too. In a direction a of length 1

.. math:: h_3(a) = T_3(a) - \frac{3}{p+2} t(a), \qquad
          h_4(a) = T_4(a) - \frac{6}{p+4} K(a, a) + \frac{3 \operatorname{tr} K}{(p+2)(p+4)}

with the traces :math:`t_k = \sum_i T_{iik}` and :math:`K_{kl} = \sum_i T_{iikl}`. As the sampling variances of third
and fourth cumulants of Gaussian rows are 6 / N and 24 / N, so are those of :math:`h_3 / \sqrt{v_3 / 6}` and
:math:`h_4 / \sqrt{v_4 / 24}` of elliptical ones, with :math:`v_3 = 6 p^2 (p-1) / (p+2)^2 (p+4)` and
:math:`v_4 = 24 p^3 (p^2-1) / (p+2)^2 (p+4)^2 (p+6)`. Both tensors are linear in each factor: expressed in the variables
they change under regression as cumulants do, and all that follows from cumulants follows from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedrcd.errors import StatisticError
from fedrcd.statistics.directions import Whitening
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.packed_tensor import pack_symmetric
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.tensor_cumulants import TensorCumulants, products_of_covariances
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import Matrix


def of_directions(sums: TensorSums) -> TensorSums:
    """The same sums with as many rows as have a direction, far ones counted less: the trace of degree 2."""
    packed = sums.packed.copy()
    packed[0] = max(round(float(sums.powers()[2].sum())), 1)
    return replace(sums, packed=packed)


def spherical_cumulants(sums: TensorSums, whitening: Whitening, frame: Frame) -> TensorCumulants:
    """Covariance of the whitening, and traceless tensors of directions u, in units of the data.

    `sums` are the tensor sums of u / sqrt(p).
    """
    n, p = sums.count, sums.p
    if n < 4:
        raise StatisticError("tensors of order 4 need at least 4 rows")
    means = sums.mean_moments()
    index = pair_index(p + 1)
    inner, one = index.number[1:, 1:][np.triu_indices(p)], index.number[0, 1:]
    third, fourth = p**1.5 * means[np.ix_(inner, one)], p**2 * means[np.ix_(inner, inner)]
    third = traceless_third(third) * (p + 2) / p * np.sqrt((p + 4) / (p - 1))
    fourth = traceless_fourth(fourth) * (p + 2) * (p + 4) * np.sqrt((p + 6) / (p**3 * (p**2 - 1)))
    back = np.linalg.inv(whitening.matrix) * frame.scale[:, None]
    pairs = _of_pairs(back)
    centre = frame.centre + frame.scale * whitening.centre
    in_units = (pairs @ third @ back.T)[pair_index(p).number]
    return TensorCumulants(n, centre, back @ back.T, in_units, pack_symmetric(p, pairs @ fourth @ pairs.T))


def traceless_third(third: Matrix) -> Matrix:
    """A symmetric tensor of order 3, shape (m, p), without its trace."""
    p = third.shape[1]
    index, same = pair_index(p), np.eye(p)
    i, j = index.first, index.second
    trace = third[np.diagonal(index.number)].sum(axis=0)
    of_trace = index.gather(same)[:, None] * trace + same[i] * trace[j][:, None] + same[j] * trace[i][:, None]
    traceless: Matrix = third - of_trace / (p + 2)
    return traceless


def traceless_fourth(fourth: Matrix) -> Matrix:
    """A symmetric tensor of order 4, shape (m, m), without its traces."""
    index = pair_index(round((2 * len(fourth) + 0.25) ** 0.5 - 0.5))
    p = len(index.number)
    diagonal = np.diagonal(index.number)
    trace = fourth[diagonal].sum(axis=0)
    K, same = trace[index.number], np.eye(p)
    # the six ways to give two of four indices to the identity and two to K: the pairings of the sum less those of each
    of_trace = products_of_covariances(same + K) - products_of_covariances(same) - products_of_covariances(K)
    total = trace[diagonal].sum()
    traceless: Matrix = fourth - of_trace / (p + 4)
    traceless += total / ((p + 2) * (p + 4)) * products_of_covariances(same)
    return traceless


def _of_pairs(back: Matrix) -> Matrix:
    """How pairs of whitened variables make pairs of variables, shape (m, m)."""
    index = pair_index(len(back))
    i, j = index.first, index.second
    pairs: Matrix = back[np.ix_(i, i)] * back[np.ix_(j, j)]
    pairs += back[np.ix_(i, j)] * back[np.ix_(j, i)]
    pairs[:, i == j] /= 2
    return pairs
