r"""Cumulant tensors of the residuals along an order, kept up to date while single variables move.

Residuals e of unit variance, each of a variable given those before it, are uncorrelated; so those of any other order
are a rotation of them. Moving variable v only rotates the span of those it passes. Its own residual after passing some
is :math:`g / |g|` with a vector g that grows by one entry :math:`g_n` for each variable it passes, whose residual
becomes :math:`(|g|^2 e_n - g_n g) / (|g| \sqrt{|g|^2 + g_n^2})`. All cumulants of both follow from
:math:`T(g, g, g, e_n)`, :math:`T(g, g, e_n, e_n)`, :math:`T(g, e_n, e_n, e_n)` and :math:`T(e_n, e_n, e_n, e_n)`: one
pass over the packed tensor for all places of v, p^5 / 24 a sweep. A move then changes what its rotation changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from fedrcd.statistics.packed_tensor import block_matrices, pair_offsets, symmetric_blocks
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.tensor_cumulants import TensorCumulants
from fedrcd.typing import IntVector, Matrix, Vector


class Cumulants34(NamedTuple):
    """Third and fourth cumulants of several residuals."""

    third: Vector
    fourth: Vector

    def without(self, place: int) -> Cumulants34:
        """Those of all others."""
        return Cumulants34(np.delete(self.third, place), np.delete(self.fourth, place))


class Insertions(NamedTuple):
    """Cumulants of all residuals that placing a variable among the others can meet.

    Of each other variable with it after them and before them, and its own at every place.
    """

    before: Cumulants34
    after: Cumulants34
    own: Cumulants34


class Passing(NamedTuple):
    """The tensors contracted with g and with the residual of each variable passed, in the order of all."""

    g: Vector
    third: tuple[Vector, Vector, Vector]
    """T(g, g, e), T(g, e, e) and T(e, e, e)."""
    fourth: tuple[Vector, Vector, Vector, Vector]
    """T(g, g, g, e) and so on."""


class ResidualTensors:
    """Tensors of the residuals along an order, which `move` changes."""

    __slots__ = ("_blocks", "_cov", "_fourth", "_loadings", "_third", "order")

    def __init__(self, tensors: TensorCumulants, order: Sequence[int] | IntVector) -> None:
        self.order = [int(variable) for variable in order]
        self._cov = tensors.cov
        self._loadings = self._factor()
        W = residual_rows(tensors.cov, self.order)
        self._third: Matrix = np.einsum("ai,bj,ck,ijk->abc", W, W, W, tensors.third, optimize=True)
        self._fourth = _of_residuals(tensors.fourth, W, np.array(self.order))
        self._blocks = block_matrices(len(W), self._fourth)

    def _factor(self) -> Matrix:
        """The loadings of the variables, in order, on their residuals."""
        factor: Any = np.linalg.cholesky(self._cov[np.ix_(self.order, self.order)])
        return np.asarray(factor)

    @property
    def cumulants(self) -> Cumulants34:
        """Of the residuals along the order."""
        fourth = np.array([block[-1, 0] for block in self._blocks])
        return Cumulants34(np.einsum("aaa->a", self._third).copy(), fourth)

    def insertions(self, v: int) -> Insertions:
        """Cumulants of all residuals that the places of variable v need."""
        h, p = self.order.index(v), len(self.order)
        now = self.cumulants
        before, after, own = (Cumulants34(now.third.copy(), now.fourth.copy()) for _ in range(3))
        for passed, changed, places in (
            (slice(h + 1, p), before, self._later(h)),
            (slice(h - 1, None, -1) if h else slice(0, 0), after, self._earlier(h)),
        ):
            own_there, of_passed = _passed(h, passed, places)
            for all_of, some in ((own, own_there), (changed, of_passed)):
                all_of.third[passed], all_of.fourth[passed] = some
        return Insertions(before.without(h), after.without(h), own)

    def _later(self, h: int) -> Passing:
        """For the one at place h and those after it: entries whose largest index is the one passed."""
        p = len(self.order)
        index = pair_index(p)
        g = np.zeros(p)
        g[h], g[h + 1 :] = 1.0, _solved(self._loadings[h + 1 :, h + 1 :], -self._loadings[h + 1 :, h])
        of_pairs, one = np.zeros(index.size), np.zeros(p)
        for b in range(h, p):
            block, run = self._blocks[b], slice(0, p - b)
            others = g[h:b] @ block[h:b]
            one[b] = others[0]
            both = others + g[b] / 2 * block[b]
            both[run] = others[run] / 2 + g[b] / 6 * block[b, run]  # the second index is there twice
            both[0] = 0.0
            of_pairs[index.number[b, b] :] += g[b] * both
        square = np.triu(of_pairs[index.number], 1)
        fourth = 6 * (g @ square), 2 * of_pairs[index.number.diagonal()], one, self.cumulants.fourth
        return Passing(g, self._third_with(np.tril(np.broadcast_to(g, (p, p)), -1)), fourth)

    def _earlier(self, h: int) -> Passing:
        """For the one at place h and those before it: entries whose least index is the one passed."""
        p = len(self.order)
        index = pair_index(p)
        g = np.zeros(p)
        g[: h + 1] = self._loadings[h, : h + 1]
        weights = index.products(g[None])[0]
        stop = index.number[h, -1] + 1
        three, two, one = np.zeros(p), np.zeros(p), np.zeros(p)
        for b in range(h + 1):
            block, first = self._blocks[b][:, : stop - index.number[b, b]], index.number[b, b]
            w = weights[first:stop]
            two[b] = block[b, p - b :] @ w[p - b :]
            one[b] = block[b, 1 : p - b] @ g[b + 1 :]
            of_three = 3 * w
            of_three[: p - b] /= 2  # the second index is there twice
            of_three[0] = w[0]
            three[:b] += g[b] * (block[:b] @ of_three)
        return Passing(
            g,
            self._third_with(np.triu(np.broadcast_to(g, (p, p)), 1)),
            (three, two, one, self.cumulants.fourth),
        )

    def _third_with(self, G: Matrix) -> tuple[Vector, Vector, Vector]:
        """T(g, g, e_n), T(g, e_n, e_n) and T(e_n, e_n, e_n) with row n of G as g, for all n."""
        with_one = np.matmul(self._third, G[:, :, None])[:, :, 0]
        n = np.arange(len(G))
        return np.einsum("nk,nk->n", G, with_one), with_one[n, n], self._third[n, n, n]

    def move(self, v: int, place: int) -> None:
        """Put variable v at a place of the order."""
        h = self.order.index(v)
        steps = range(h + 1, place + 1) if place > h else range(h - 1, place - 1, -1)
        g = self._growth(h, place)
        size = abs(g[h])
        for n in steps:
            larger = np.hypot(size, g[n])
            if place > h:
                self._rotate(n - 1, -g[n] / larger, size / larger)
            else:
                self._rotate(n, g[n] / larger, size / larger)
            size = larger
        self.order.insert(place, self.order.pop(h))
        self._loadings = self._factor()

    def _growth(self, h: int, place: int) -> Vector:
        """The vector g of a move from place h."""
        L, g = self._loadings, np.zeros(len(self.order))
        if place < h:
            g[place : h + 1] = L[h, place : h + 1]
        else:
            passed = slice(h + 1, place + 1)
            g[h], g[passed] = 1.0, _solved(L[passed, passed], -L[passed, h])
        return g

    def _rotate(self, x: int, s: float, c: float) -> None:
        """Replace e_x by s e_x + c e_y and its neighbour e_y by c e_x - s e_y."""
        turn = np.array([[s, c], [c, -s]])
        y = x + 1
        for axis in range(3):
            part = np.moveaxis(self._third, axis, 0)[x : y + 1]
            part[:] = np.tensordot(turn, part, axes=1)
        self._rotate_single(x, turn)
        twice, thrice, alone = (_power(turn, times) for times in (2, 3, 4))
        number, X, Y = pair_index(len(self.order)).number, self._blocks[x], self._blocks[y]
        last = len(self.order)
        both = int(number[y, y] - number[x, x])  # the column (y, y) in the block of x
        later, beyond = slice(both + last - y, None), slice(last - y, None)  # pairs beyond y
        xd, yd, of_y = slice(2, last - x), slice(both + 1, both + last - y), slice(1, last - y)
        _turn(twice, X[x, later], Y[x, beyond], Y[y, beyond])
        _turn(twice, X[:x, xd], X[:x, yd], Y[:x, of_y])
        _turn(thrice, X[x, xd], X[x, yd], Y[x, of_y], Y[y, of_y])
        _turn(thrice, X[:x, 0], X[:x, 1], X[:x, both], Y[:x, 0])
        _turn(alone, X[x, :1], X[x, 1:2], X[x, both : both + 1], Y[x, :1], Y[y, :1])
        pairs = _pairs_below(last)[: x * (x + 1) // 2]
        places = [pairs + number[pair] for pair in ((x, x), (x, y), (y, y))]
        for place, values in zip(places, np.tensordot(twice, self._fourth[np.stack(places)], axes=1), strict=True):
            self._fourth[place] = values

    def _rotate_single(self, x: int, turn: Matrix) -> None:
        """The same for entries that hold one of both residuals, once."""
        y, p = x + 1, len(self.order)
        number, packed = pair_index(p).number, self._fourth
        for block in self._blocks[y + 1 :]:
            block[x : y + 1] = turn @ block[x : y + 1]
        start = int(number[y, y]) + p - y
        X, Y = self._blocks[x][:x, start - number[x, x] :], self._blocks[y][:x, start - number[y, y] :]
        _turn(turn, X, Y)
        pairs = _pairs_below(p)[: x * (x + 1) // 2, None]
        triples = _triples_below(p)[: comb(x + 2, 3)]
        for at_x, at_y in (
            (pairs + number[x, y + 1 :], pairs + number[y, y + 1 :]),
            (triples + x, triples + y),
        ):
            of_x, of_y = packed[at_x], packed[at_y]
            packed[at_x] = turn[0, 0] * of_x + turn[0, 1] * of_y
            packed[at_y] = turn[1, 0] * of_x + turn[1, 1] * of_y


def _passed(h: int, passed: slice, found: Passing) -> tuple[Cumulants34, Cumulants34]:
    """Cumulants of the one that moves from place h, and of those it passes, once it has passed each."""
    g = found.g[passed]
    of_g3, of_g4 = (found.g[h] ** 3 * found.third[-1][h], found.g[h] ** 4 * found.fourth[-1][h])
    B2, B1, B0 = (one[passed] for one in found.third)
    A3, A2, A1, A0 = (one[passed] for one in found.fourth)
    size = found.g[h] ** 2 + np.concatenate([[0.0], np.cumsum(g**2)])
    third = of_g3 + np.concatenate([[0.0], np.cumsum(3 * g * B2 + 3 * g**2 * B1 + g**3 * B0)])
    fourth = of_g4 + np.concatenate([[0.0], np.cumsum(4 * g * A3 + 6 * g**2 * A2 + 4 * g**3 * A1 + g**4 * A0)])
    q, norm = size[:-1], size[:-1] * size[1:]
    own = Cumulants34(third[1:] / size[1:] ** 1.5, fourth[1:] / size[1:] ** 2)
    of_third = -(g**3) * third[:-1] + 3 * g**2 * q * B2 - 3 * g * q**2 * B1 + q**3 * B0
    of_fourth = g**4 * fourth[:-1] - 4 * g**3 * q * A3 + 6 * (g * q) ** 2 * A2 - 4 * g * q**3 * A1 + q**4 * A0
    return own, Cumulants34(of_third / norm**1.5, of_fourth / norm**2)


def _solved(L: Matrix, right: Vector) -> Vector:
    from scipy.linalg import solve_triangular

    solved: Vector = solve_triangular(L, right, lower=True, check_finite=False) if len(L) else right
    return solved


def _power(turn: Matrix, times: int) -> Matrix:
    """How entries with so many indices among two residuals change, by how many of them are the second."""
    rows = []
    for second in range(times + 1):
        row = np.ones(1)
        for factor in [turn[0]] * (times - second) + [turn[1]] * second:
            row = np.convolve(row, factor)
        rows.append(row)
    return np.stack(rows)


def _turn(matrix: Matrix, *views: Matrix) -> None:
    """Replace views of one shape by combinations of them."""
    for view, values in zip(views, np.tensordot(matrix, np.stack(views), axes=1), strict=True):
        view[...] = values


@lru_cache(maxsize=2)
def _pairs_below(p: int) -> IntVector:
    """Offsets of the pairs (a, b), a <= b, those with the least b first."""
    b, a = np.tril_indices(p)
    return pair_offsets(p)[pair_index(p).number[a, b]]


@lru_cache(maxsize=2)
def _triples_below(p: int) -> IntVector:
    """Places of (a, b, c, d) less d for a <= b <= c, those with the least c first."""
    pairs, number = _pairs_below(p), pair_index(p).number
    return np.concatenate([pairs[: (c + 1) * (c + 2) // 2] + (number[c, c] - c) for c in range(p)])


def _of_residuals(packed: Vector, W: Matrix, order: IntVector) -> Vector:
    """The packed tensor of e = W x; residual k depends on the variables up to place k of the order only.

    Of a pair of variables (i, j), by their places, both others are replaced first: residuals before j do not matter
    there. Then, for each pair of residuals, the first two.
    """
    p = len(order)
    index = pair_index(p)
    result = np.empty_like(packed)
    blocks, W = block_matrices(p, result), W[:, order]
    first, second = index.first, index.second
    number, offsets = index.number, pair_offsets(p)
    in_order = number[np.ix_(order, order)]
    for (j, right, _), block in zip(symmetric_blocks(p), blocks, strict=True):
        x = np.minimum(order[: j + 1], order[j])[:, None]
        y = np.maximum(order[: j + 1], order[j])[:, None]
        one, two = np.maximum(x, first), np.minimum(y, second)
        places = offsets[number[np.minimum(x, first), np.minimum(one, two)]]
        places += number[np.maximum(one, two), np.maximum(y, second)]
        M = W[j:] @ packed[places][:, in_order] @ W[j:].T
        block[:] = M[:, first[right] - j, second[right] - j]
    for c in range(p):
        some = np.empty((p - c, c + 1, c + 1))
        runs = [slice(number[c, c] - number[b, b], number[c, -1] + 1 - number[b, b]) for b in range(c + 1)]
        for b, run in enumerate(runs):
            some[:, : b + 1, b] = some[:, b, : b + 1] = blocks[b][:, run].T
        some = W[: c + 1, : c + 1] @ some @ W[: c + 1, : c + 1].T
        for b, run in enumerate(runs):
            blocks[b][:, run] = some[:, : b + 1, b].T
    return result
