r"""Noise on sums over points of a ball: how much a row can change them, and how much noise hides that.

A row becomes a whole point q with :math:`|q| \le R` (`longest`), whatever it holds, and the release of degree d is
:math:`\sum q^{\otimes d}`, every entry of the symmetric tensor once. One row more or less changes the full tensor by
:math:`q^{\otimes d}`, whose length is :math:`|q|^d \le R^d`. An entry that stands m times in the full tensor gets noise
of variance :math:`\sigma^2 / m`. In units of its noise the change of the release then has the squared length
:math:`\sum_i m_i q_i^2 / \sigma^2 = |q|^{2d} / \sigma^2`, so its loss is at most :math:`R^d / \sigma`. Counts are not
released: the trace of degree 2 tells them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np

from fedrcd.statistics.discrete_gaussian import RandomBytes, discrete_gaussian
from fedrcd.statistics.exact_sums import ExactSums
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.limbs import PLANE
from fedrcd.statistics.noisy_sums import NoisySums
from fedrcd.statistics.packed_tensor import pack, packed_degrees
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import PairSums
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import IntVector, Vector


def longest(p: int, grid: Grid) -> float:
    """The length R of the longest whole point: directions have length 1, and each of p coordinates is rounded by 1/2.

    A row at the centre is the point 0.
    """
    return 1 / grid.step + math.sqrt(p) / 2


def sensitivity(p: int, degree: int, grid: Grid) -> float:
    """By how much a row more or less changes the full tensor of a degree, in its Euclidean norm."""
    return longest(p, grid) ** degree


@dataclass(frozen=True, slots=True)
class Losses:
    """The privacy loss of every degree that is released, and the noise of a site: `part` of the variance that is due.

    `parts` is how many sites add as much.
    """

    by_degree: Mapping[int, float]
    part: float = 1.0
    parts: int = 1

    @property
    def total(self) -> float:
        """The loss of the whole release, if at least all of the noise is added."""
        return math.hypot(*self.by_degree.values())

    @property
    def excess(self) -> float:
        """How many times the variance that is due is that of all sites together."""
        return self.part * self.parts


def with_noise(sums: ExactSums, losses: Losses, random: RandomBytes = os.urandom) -> ExactSums:
    """Exact sums of points, pairs or tensors of them, with fresh noise for these losses."""
    values, degree, times, p = _entries(sums)
    low, high = {}, {}
    for one, loss in sorted(losses.by_degree.items()):
        chosen = degree == one
        sigma = sensitivity(p, one, sums.grid) / loss * math.sqrt(losses.part)
        noisy = values[chosen] + discrete_gaussian(sigma / np.sqrt(times[chosen]), random)
        low[one], high[one] = noisy & ((1 << PLANE) - 1), noisy >> PLANE
    return ExactSums(sums.grid, NoisySums(p, low), NoisySums(p, high), None)


def _entries(sums: ExactSums) -> tuple[IntVector, IntVector, Vector, int]:
    """The entries of symmetric tensors once each: values, degrees and how often they stand in the full tensor."""
    if {plane.kind for plane in sums.planes} == {TensorSums.kind}:
        tensors = cast("tuple[TensorSums, TensorSums]", sums.planes)
        packed, above = (one.packed.astype(np.int64) for one in tensors)
        p = tensors[0].p
        return packed + (above << PLANE), packed_degrees(p), packed_times(p), p
    low, high = cast("tuple[PairSums, PairSums]", sums.planes)
    index = pair_index(low.p)
    whole = index.gather(low.sums[1, 1]) + (index.gather(high.sums[1, 1]).astype(np.int64) << PLANE)
    times = np.where(index.first == index.second, 1.0, 2.0)
    return whole, np.full(index.size, 2), times, low.p


@lru_cache(maxsize=8)
def packed_times(p: int) -> Vector:
    """How often each packed entry stands in the full tensor of its degree: the arrangements of its variables."""
    index = pair_index(p + 1)
    members = np.stack(
        np.broadcast_arrays(index.first[:, None], index.second[:, None], index.first[None], index.second[None])
    )
    members.sort(axis=0)
    run = np.ones(members.shape[1:])
    repeated = np.ones(members.shape[1:])
    for above, below in zip(members[1:], members[:-1], strict=True):
        run = np.where((above == below) & (above > 0), run + 1, 1.0)
        repeated *= run
    factorials = np.array([math.factorial(k) for k in range(5)], dtype=float)
    times: Vector = pack(p, factorials[(members > 0).sum(axis=0)] / repeated)
    times.flags.writeable = False
    return times
