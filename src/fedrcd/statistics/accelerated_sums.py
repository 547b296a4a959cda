"""Pair, tensor and entropy sums over the array API standard, on a card: the same numbers as those of the processor.

Sums of whole numbers on a grid are the same to the bit: no partial sum leaves what float64 holds exactly, so the order
in which a card adds does not matter. Entropies are taken of float32 values and added in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from math import comb
from typing import Any, NamedTuple

import numpy as np

from fedrcd.statistics.accelerator import Accelerator, host
from fedrcd.statistics.exact_sums import Clipped, ExactSums
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.limbs import LIMB, PLANE, ROWS_PER_SUM
from fedrcd.statistics.packed_tensor import packed_blocks
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import POWERS, PairSums
from fedrcd.statistics.tensor_sums import TensorSums
from fedrcd.typing import Matrix, Vector

COLUMNS_AT_ONCE = 512
"""Left-hand columns of one product of a tensor: fewer leave a card idle, more compute entries twice."""

ROWS_OF_PRODUCTS = 8192
"""Rows whose products of pairs are on the device at a time: 0.3 GB at p = 100."""

PAIRS_AT_ONCE = 256
"""Pair residuals that are on the device at a time where no kernel keeps them off memory."""


def pair_sums_on(acc: Accelerator, blocks: Iterable[Any], p: int, order: int = 4, residuals: Any = None) -> PairSums:
    """Pair sums up to an order of complete rows of p variables, in the frame; of their residuals R z, given R."""
    xp, count = acc.xp, 0
    p = p if residuals is None else len(residuals)
    products = [power for power in POWERS[order] if power[1]]
    totals = {power: acc.zeros((p, p)) for power in products}
    first = acc.zeros(p)
    R = None if residuals is None else acc.put(residuals).T
    for block in acc.streamed(blocks):
        z = block if R is None else block @ R
        count += z.shape[0]
        first += xp.sum(z, axis=0)
        powers = {1: z}
        for k in range(2, order):
            powers[k] = powers[k - 1] * z
        for a, b in products:
            totals[a, b] += powers[a].T @ powers[b]
    sums = {power: host(total) for power, total in totals.items()}
    return PairSums(order, np.full((1, 1), count, dtype=np.int64), _with_singles(order, sums, host(first)))


def _with_singles(order: int, sums: dict[tuple[int, int], Matrix], first: Vector) -> dict[tuple[int, int], Matrix]:
    """All sums of an order, from those of products of two variables and of the variables themselves."""
    sums = {**sums, (1, 0): first[:, None]}
    for a in range(2, order + 1):
        sums[a, 0] = sums[a - a // 2, a // 2].diagonal()[:, None].copy()
    return {power: sums[power] for power in POWERS[order]}


def _parts(size: int, most: int) -> Iterator[slice]:
    """Runs of at most so many, none beyond the size."""
    for start in range(0, size, most):
        yield slice(start, min(start + most, size))


class _TensorRun(NamedTuple):
    """Blocks of the packed tensor that are computed together: their left-hand pairs with all pairs from `start` on."""

    seconds: range
    pairs: Any
    start: int


class _DeviceTotals:
    """Sums of products of pairs of (1, z), run after run."""

    def __init__(self, acc: Accelerator, p: int) -> None:
        number = pair_index(p + 1).number
        self._acc, self._p, self._runs = acc, p, []
        start, columns = 0, 0
        for b in range(p + 1):
            columns += b + 1
            if columns >= COLUMNS_AT_ONCE or b == p:
                seconds = range(start, b + 1)
                pairs = np.concatenate([number[: k + 1, k] for k in seconds])
                self._runs.append(_TensorRun(seconds, acc.whole(pairs), int(number[start, start])))
                start, columns = b + 1, 0
        size = pair_index(p + 1).size
        self.sums = [acc.zeros((run.pairs.shape[0], size - run.start)) for run in self._runs]

    def add(self, products: Any) -> None:
        """Add what a block of rows gives, from the products of its pairs, shape (m, n)."""
        for run, total in zip(self._runs, self.sums, strict=True):
            total += self._acc.xp.take(products, run.pairs, axis=0) @ products[run.start :, :].T

    def packed(self, sums: list[Any]) -> Any:
        """Sums arranged as a packed tensor, of their own type."""
        packed, blocks = np.empty(comb(self._p + 4, 4), host(sums[0]).dtype), packed_blocks(self._p)
        for run, total in zip(self._runs, sums, strict=True):
            values, row = host(total), 0
            for b in run.seconds:
                place = blocks[b]
                packed[place.place] = values[row : row + b + 1, place.right.start - run.start :].ravel()
                row += b + 1
        return packed


def tensor_sums_on(acc: Accelerator, blocks: Iterable[Any], p: int) -> TensorSums:
    """Tensor sums of complete rows that arrive in blocks, in the frame."""
    totals = _DeviceTotals(acc, p)
    for products in _products(acc, acc.streamed(blocks), p, ROWS_OF_PRODUCTS):
        totals.add(products)
    return TensorSums(p, totals.packed(totals.sums))


def _products(acc: Accelerator, blocks: Iterable[Any], p: int, rows_at_once: int) -> Iterator[Any]:
    """The products of all pairs of (1, z) as rows, a few rows of the table at a time: shape (m, n)."""
    xp, index = acc.xp, pair_index(p + 1)
    first, second = acc.whole(index.first), acc.whole(index.second)
    for block in blocks:
        for some in _parts(block.shape[0], rows_at_once):
            rows = block[some, :].T
            z = xp.concat([xp.ones_like(rows[:1, :]), rows])
            yield xp.take(z, first, axis=0) * xp.take(z, second, axis=0)


def exact_tensor_sums_on(acc: Accelerator, blocks: Iterable[Matrix], p: int, grid: Grid) -> ExactSums:
    """Exact tensor sums of rows that arrive in blocks, in the frame."""
    totals = [_DeviceTotals(acc, p) for _ in range(3)]
    halves = [_DeviceHalves(acc, total.shape) for total in totals[0].sums]
    on_grid = _OnGrid(acc, grid)
    for whole in on_grid.whole(blocks):
        for products in _products(acc, [whole], p, ROWS_PER_SUM):
            lower, upper = _split(products, 0)
            limbs = (lower, upper, upper * 2.0**-LIMB + lower)
            for limb, total in zip(limbs, totals, strict=True):
                total.add(limb)
            for half, low, high, both in zip(halves, *(total.sums for total in totals), strict=True):
                half.add(low, 0)
                half.add((both - low - high * 2.0 ** (-2 * LIMB)) * 2.0**LIMB, 1)
                half.add(high, 2)
            for total in totals:
                for one in total.sums:
                    one[...] = 0.0
    low, high = (TensorSums(p, totals[0].packed([half.parts[part] for half in halves])) for part in range(2))
    return ExactSums(grid, low, high, clipped=on_grid.clipped)


def exact_pair_sums_on(acc: Accelerator, blocks: Iterable[Matrix], p: int, grid: Grid, order: int = 4) -> ExactSums:
    """Exact pair sums of rows that arrive in blocks, in the frame."""
    count, singles = 0, _DeviceHalves(acc, (p,))
    halves = {power: _DeviceHalves(acc, (p, p)) for power in POWERS[order] if power[1]}
    on_grid = _OnGrid(acc, grid)
    for block in on_grid.whole(blocks):
        for some in _parts(block.shape[0], ROWS_PER_SUM):
            q = block[some, :]
            count += q.shape[0]
            limbs = {1: [q]}
            for k in range(2, order):
                limbs[k] = _times(acc, limbs[k - 1], q)
            singles.add(acc.xp.sum(q, axis=0), 0)
            for (a, b), half in halves.items():
                for k, one in enumerate(limbs[a]):
                    for m, two in enumerate(limbs[b]):
                        half.add(one.T @ two, k + m)
    planes = []
    for part in range(2):
        sums = {power: host(half.parts[part]) for power, half in halves.items()}
        counts = np.full((1, 1), 0 if part else count, dtype=np.int64)
        planes.append(PairSums(order, counts, _with_singles(order, sums, host(singles.parts[part]))))
    low, high = planes
    return ExactSums(grid, low, high, clipped=on_grid.clipped)


class _DeviceHalves:
    """Whole sums low + 2^56 high on the device."""

    def __init__(self, acc: Accelerator, shape: tuple[int, ...]) -> None:
        self._xp = acc.xp
        self.parts = [acc.zeros(shape, acc.xp.int64) for _ in range(2)]

    def add(self, value: Any, k: int) -> None:
        """Add float64 multiples of 2^(20 k) with at most 53 bits."""
        low, high = self.parts
        shift = min(LIMB * k, PLANE)
        whole = self._xp.astype(value * 2.0**-shift, self._xp.int64)
        kept = PLANE - shift
        low += (whole & ((1 << kept) - 1)) << shift
        high += (whole >> kept) + (low >> PLANE)
        low &= (1 << PLANE) - 1


class _OnGrid:
    """Rows rounded to a grid on the device, and how many values were clipped so far."""

    def __init__(self, acc: Accelerator, grid: Grid) -> None:
        self._acc, self._grid, self._clipped = acc, grid, 0

    def whole(self, blocks: Iterable[Matrix]) -> Iterator[Any]:
        """Blocks as whole numbers, kept as float64."""
        xp, largest = self._acc.xp, float(self._grid.largest)
        for z in self._acc.streamed(blocks):
            q = xp.round(z * (1 / self._grid.step))
            self._clipped += int(xp.count_nonzero(xp.abs(q) > largest))
            yield xp.clip(q, -largest, largest)

    @property
    def clipped(self) -> Clipped:
        """How many values."""
        return Clipped(self._clipped, self._clipped)


def _split(value: Any, k: int) -> tuple[Any, Any]:
    """The lowest 20 bits of multiples of 2^(20 k), and the rest."""
    large = 1.5 * 2.0 ** (52 + LIMB * (k + 1))
    upper = (value + large) - large
    return value - upper, upper


def _times(acc: Accelerator, limbs: list[Any], q: Any) -> list[Any]:
    """The limbs of a product with whole numbers of at most 20 bits and a sign."""
    result, carried = [], acc.xp.zeros_like(q)
    for k, limb in enumerate(limbs):
        lower, carried = _split(limb * q + carried, k)
        result.append(lower)
    return [*result, carried]


def entropy_sums_on(
    acc: Accelerator, blocks: Iterable[Any], R: Matrix, offset: Vector, rho: Matrix
) -> tuple[int, Matrix, Matrix]:
    """Rows, and both entropy sums of all residuals among pairs of u = R z - offset; of u itself at [i, i]."""
    m, count = len(R), 0
    log_cosh, gauss = acc.zeros((m, m)), acc.zeros((m, m))
    right, of_mean, of_pairs = acc.put(R).T, acc.put(offset), acc.put(rho)
    for z in acc.streamed(blocks):
        count += z.shape[0]
        found = entropy_sums_of_pairs(acc, as_entropies_want(acc, z @ right - of_mean[None, :]), of_pairs)
        log_cosh += found[0]
        gauss += found[1]
    return count, host(log_cosh), host(gauss)


def as_entropies_want(acc: Accelerator, u: Any) -> Any:
    """Standardised variables in the precision in which their entropies are taken."""
    return acc.xp.astype(u, acc.xp.float32) if acc.has_kernels else u


def entropy_sums_of_pairs(acc: Accelerator, u: Any, rho: Any) -> tuple[Any, Any]:
    """Sums of log cosh and of u exp(-u^2/2), each [i, j] of the residual of i given j; of i itself at [i, i].

    Parameters
    ----------
    u : (n, m) array on the device
        Standardised variables, float32 on a card, else float64.
    rho : (m, m) array on the device
        Their correlations, float64.
    """
    xp = acc.xp
    rho = xp.where(acc.eye(rho.shape[0]), 0.0, rho)
    scale = 1 / xp.sqrt(1 - rho**2)
    if acc.has_kernels:
        from fedrcd.statistics.entropy_kernel import launched

        return launched(acc.torch, u, rho, scale)
    return _in_blocks(acc, u, rho, scale)


def _in_blocks(acc: Accelerator, u: Any, rho: Any, scale: Any) -> tuple[Any, Any]:
    """The same without a kernel, a few residuals at a time."""
    xp, m = acc.xp, u.shape[1]
    log_cosh, gauss = acc.zeros((m, m)), acc.zeros((m, m))
    columns = u.T
    for i in range(m):
        for some in _parts(m, PAIRS_AT_ONCE):
            r = (columns[i, :] - rho[i, some][:, None] * columns[some, :]) * scale[i, some][:, None]
            size = xp.abs(r)
            log_cosh[i, some] = xp.sum(size + xp.log1p(xp.exp(-2 * size)) - math.log(2), axis=1)
            gauss[i, some] = xp.sum(r * xp.exp(r * r * -0.5), axis=1)
    return log_cosh, gauss
