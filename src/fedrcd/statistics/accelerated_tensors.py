"""Cumulant tensors on a card, that of order 4 as a whole matrix over pairs: a card multiplies fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedrcd.statistics.accelerator import Accelerator, host
from fedrcd.statistics.packed_tensor import pair_offsets
from fedrcd.statistics.pair_cumulants import PairCumulants
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.residual_maps import insertion_rows
from fedrcd.statistics.residual_tensors import Cumulants34, Insertions
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import IntVector, Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class AcceleratedTensors:
    """All joint cumulants up to order 4 of p variables, for whoever uses those of `TensorCumulants`.

    `cov`, shape (p, p), is in memory; `third`, (p, p, p), and `fourth`, over pairs and pairs, are on the card.
    """

    acc: Accelerator
    count: int
    cov: Matrix
    third: Any
    fourth: Any

    @classmethod
    def of(cls, acc: Accelerator, cumulants: TensorCumulants) -> AcceleratedTensors:
        """Those of a packed tensor."""
        p = cumulants.p
        xp, index = acc.xp, pair_index(p)
        first, second = acc.whole(index.first), acc.whole(index.second)
        number, offsets = acc.whole(index.number.ravel()), acc.whole(pair_offsets(p))
        least, most = (which(first[:, None], first[None, :]) for which in (xp.minimum, xp.maximum))
        low, high = (which(second[:, None], second[None, :]) for which in (xp.minimum, xp.maximum))
        one, two = xp.minimum(most, low), xp.maximum(most, low)
        leading, last = (_taken(xp, number, at) for at in (least * p + one, two * p + high))
        fourth = _taken(xp, acc.put(cumulants.fourth), _taken(xp, offsets, leading) + last)
        return cls(acc, cumulants.count, cumulants.cov, acc.put(cumulants.third), fourth)

    @staticmethod
    def bytes_for(p: int) -> float:
        """What the tensor of order 4 takes, with what it becomes."""
        return 8.0 * 5 * pair_index(p).size ** 2

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.cov)

    def pairs(self) -> PairCumulants:
        """The cumulants of pairs among them."""
        xp, number = self.acc.xp, pair_index(self.p).number
        twice = np.diagonal(number)
        places = np.stack([number * self.fourth.shape[1] + twice, twice[:, None] * self.fourth.shape[1] + twice])
        fourth = xp.reshape(self.fourth, (-1,))
        k13, k22 = host(_taken(xp, fourth, self.acc.whole(places)))
        k12 = host(xp.linalg.diagonal(self.third)).copy()
        k2, k3, k4 = (np.diagonal(of_pairs)[:, None] for of_pairs in (self.cov, k12, k13))
        return PairCumulants(np.full((1, 1), self.count, dtype=np.int64), k2, self.cov, k3, k12, k4, k13, k22)

    def remove(self, s: int) -> AcceleratedTensors:
        """Cumulants of the residuals of all other variables given variable s, by least squares."""
        acc, p = self.acc, self.p
        xp, index = acc.xp, pair_index(p)
        rest = np.flatnonzero(np.arange(p) != s)
        b = self.cov[:, s] / self.cov[s, s]
        A = np.zeros((index.size, p))  # what pairs with s add to each pair
        pairs = np.arange(index.size)
        np.subtract.at(A, (pairs, index.first), b[index.second])
        np.subtract.at(A, (pairs, index.second), b[index.first])
        A[:, s] += b[index.first] * b[index.second]
        kept = index.number[np.ix_(rest, rest)][np.triu_indices(len(rest))]
        left, with_s, chosen = acc.put(A[kept]), acc.whole(index.number[s]), acc.whole(kept)
        fourth = xp.take(self.fourth, chosen, axis=0) + left @ xp.take(self.fourth, with_s, axis=0)
        fourth = xp.take(fourth, chosen, axis=1) + xp.take(fourth, with_s, axis=1) @ left.T
        third, others, of_rest = self.third, acc.whole(rest), acc.put(b[rest])
        for _ in range(3):  # every axis once: the one that is changed goes to the end
            changed = xp.take(third, others, axis=0) - of_rest[:, None, None] * third[s, :, :]
            third = xp.permute_dims(changed, (1, 2, 0))
        cov = self.cov[np.ix_(rest, rest)] - np.outer(b[rest], b[rest]) * self.cov[s, s]
        return AcceleratedTensors(acc, self.count, cov, third, fourth)

    def of_combinations(self, W: Matrix) -> tuple[Vector, Vector]:
        """Third and fourth cumulant of w'x for each row w of W."""
        acc, p = self.acc, self.p
        xp, index = acc.xp, pair_index(p)
        weights = acc.put(W)
        twice = acc.put(np.where(index.first == index.second, 1.0, 2.0))
        V = xp.take(weights, acc.whole(index.first), axis=1) * xp.take(weights, acc.whole(index.second), axis=1) * twice
        outer = xp.reshape(weights[:, :, None] * weights[:, None, :], (len(W), p * p))
        third = xp.sum((outer @ xp.reshape(self.third, (p * p, p))) * weights, axis=1)
        fourth = xp.sum((V @ self.fourth) * V, axis=1)
        third, fourth = host(xp.stack([third, fourth]))
        return third, fourth

    def along(self, order: Sequence[int] | IntVector) -> AcceleratedResiduals:
        """The residuals along an order."""
        return AcceleratedResiduals(self, [int(variable) for variable in order])


@dataclass(slots=True, eq=False)
class AcceleratedResiduals:
    """The residuals along an order, which `move` changes, for whoever uses those of `ResidualTensors`."""

    tensors: AcceleratedTensors
    order: list[int]

    def insertions(self, v: int) -> Insertions:
        """Cumulants of all residuals that the places of variable v need."""
        third, fourth = self.tensors.of_combinations(insertion_rows(self.tensors.cov, self.order, v))
        others = len(self.order) - 1
        ends = (others, 2 * others)
        parts = zip(np.split(third, ends), np.split(fourth, ends), strict=True)
        return Insertions(*(Cumulants34(*part) for part in parts))

    def move(self, v: int, place: int) -> None:
        """Put variable v at a place of the order."""
        self.order.remove(v)
        self.order.insert(place, v)


def _taken(xp: Any, values: Any, places: Any) -> Any:
    """Entries of a vector at places of any shape."""
    return xp.reshape(xp.take(values, xp.reshape(places, (-1,))), places.shape)
