r"""Indices of unordered pairs: a symmetric tensor of order 4 is a symmetric matrix over pairs.

Pairs (i, j) with i <= j are numbered row by row, (0, 0), (0, 1), ..., (0, p - 1), (1, 1), ..., so that the pairs whose
smaller member is at least k stand at the end.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fedrcd.typing import IntMatrix, IntVector, Matrix, Vector


class PairIndex(NamedTuple):
    """Members of each pair, both of shape (m,), and the number of each pair, shape (p, p), symmetric."""

    first: IntVector
    second: IntVector
    number: IntMatrix

    @property
    def size(self) -> int:
        """Number of pairs, m = p (p + 1) / 2."""
        return len(self.first)

    def products(self, W: Matrix) -> Matrix:
        r"""Weights of all pairs in :math:`w \otimes w` for each row w of W, shape (rows, m).

        Both orders of a pair are counted, so that contracting a tensor twice with w is one product with these.
        """
        weights: Matrix = W[:, self.first] * W[:, self.second]
        weights[:, self.first != self.second] *= 2
        return weights

    def gather(self, S: Matrix) -> Vector:
        """Entries of a symmetric matrix at all pairs, shape (m,)."""
        return S[self.first, self.second]


@lru_cache(maxsize=128)
def pair_index(p: int) -> PairIndex:
    """The pairs of p variables."""
    first, second = np.triu_indices(p)
    number = np.empty((p, p), dtype=np.int64)
    number[first, second] = number[second, first] = np.arange(len(first))
    for array in (first, second, number):
        array.flags.writeable = False
    return PairIndex(first, second, number)
