"""Pair, tensor and entropy sums with PyTorch, on a card or the processor: the same numbers as those of NumPy.

Sums of whole numbers on a grid are the same to the bit: no partial sum leaves what float64 holds exactly, so the order
in which a card adds does not matter. Entropies are taken of float32 values and added in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from math import comb
from typing import Any, NamedTuple

import numpy as np

from fedrcd.statistics.accelerator import Accelerator
from fedrcd.statistics.exact_sums import ExactSums
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


def pair_sums_on(acc: Accelerator, blocks: Iterable[Any], p: int) -> PairSums:
    """Pair sums of order 4 of complete rows that arrive in blocks, in the frame."""
    torch, count = acc.torch, 0
    total = torch.zeros((4, p, p), dtype=torch.float64, device=acc.device)
    first = torch.zeros(p, dtype=torch.float64, device=acc.device)
    for z in acc.streamed(blocks):
        count += len(z)
        square = z * z
        cube = square * z
        first += z.sum(0)
        for k, (left, right) in enumerate(((z, z), (square, z), (cube, z), (square, square))):
            total[k].addmm_(left.T, right)
    two, three, of_cubes, of_squares = total.cpu().numpy()
    sums = {
        (1, 0): first.cpu().numpy()[:, None],
        (1, 1): two,
        (2, 1): three,
        (3, 1): of_cubes,
        (2, 2): of_squares,
        (2, 0): np.diagonal(two)[:, None].copy(),
        (3, 0): np.diagonal(three)[:, None].copy(),
        (4, 0): np.diagonal(of_squares)[:, None].copy(),
    }
    return PairSums(4, np.full((1, 1), count, dtype=np.int64), {power: sums[power] for power in POWERS[4]})


class _TensorRun(NamedTuple):
    """Blocks of the packed tensor that are computed together: their left-hand pairs with all pairs from `start` on."""

    seconds: range
    pairs: Any
    start: int


class _DeviceTotals:
    """Sums of products of pairs of (1, z), run after run."""

    def __init__(self, acc: Accelerator, p: int) -> None:
        number = pair_index(p + 1).number
        self._p, self._runs = p, []
        start, columns = 0, 0
        for b in range(p + 1):
            columns += b + 1
            if columns >= COLUMNS_AT_ONCE or b == p:
                seconds = range(start, b + 1)
                pairs = np.concatenate([number[: k + 1, k] for k in seconds])
                self._runs.append(_TensorRun(seconds, acc.whole(pairs), int(number[start, start])))
                start, columns = b + 1, 0
        size = pair_index(p + 1).size
        self.sums = [
            acc.torch.zeros((len(run.pairs), size - run.start), dtype=acc.torch.float64, device=acc.device)
            for run in self._runs
        ]

    def add(self, products: Any) -> None:
        """Add what a block of rows gives, from the products of its pairs, shape (m, n)."""
        for run, total in zip(self._runs, self.sums, strict=True):
            total.addmm_(products[run.pairs], products[run.start :].T)

    def packed(self, sums: list[Any]) -> Any:
        """Sums arranged as a packed tensor, of their own type."""
        first = sums[0].cpu().numpy()
        packed, blocks = np.empty(comb(self._p + 4, 4), first.dtype), packed_blocks(self._p)
        for run, total in zip(self._runs, sums, strict=True):
            values, row = total.cpu().numpy(), 0
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
    index = pair_index(p + 1)
    first, second = acc.whole(index.first), acc.whole(index.second)
    for block in blocks:
        for start in range(0, len(block), rows_at_once):
            rows = block[start : start + rows_at_once].T
            z = acc.torch.cat([acc.torch.ones_like(rows[:1]), rows])
            yield z[first] * z[second]


def exact_tensor_sums_on(acc: Accelerator, blocks: Iterable[Matrix], p: int, grid: Grid) -> ExactSums:
    """Exact tensor sums of rows that arrive in blocks, in the frame; the clipped values are not counted."""
    totals = [_DeviceTotals(acc, p) for _ in range(3)]
    halves = [_DeviceHalves(acc, total.shape) for total in totals[0].sums]
    for whole in _whole(acc, blocks, grid):
        for products in _products(acc, [whole], p, ROWS_PER_SUM):
            upper = _split(products, 0)
            limbs = (products, upper, upper * 2.0**-LIMB + products)
            for limb, total in zip(limbs, totals, strict=True):
                total.add(limb)
            for half, low, high, both in zip(halves, *(total.sums for total in totals), strict=True):
                half.add(low, 0)
                half.add((both - low - high * 2.0 ** (-2 * LIMB)) * 2.0**LIMB, 1)
                half.add(high, 2)
            for total in totals:
                for one in total.sums:
                    one.zero_()
    low, high = (TensorSums(p, totals[0].packed([half.parts[part] for half in halves])) for part in range(2))
    return ExactSums(grid, low, high, clipped=None)


def exact_pair_sums_on(acc: Accelerator, blocks: Iterable[Matrix], p: int, grid: Grid) -> ExactSums:
    """Exact pair sums of order 4 of rows that arrive in blocks, in the frame; the clipped values are not counted."""
    count, singles = 0, _DeviceHalves(acc, (p,))
    halves = {power: _DeviceHalves(acc, (p, p)) for power in ((1, 1), (2, 1), (3, 1), (2, 2))}
    for block in _whole(acc, blocks, grid):
        for start in range(0, len(block), ROWS_PER_SUM):
            q = block[start : start + ROWS_PER_SUM]
            count += len(q)
            squares = _limbs_of(q * q)
            cubes = _times(squares, q)
            singles.add(q.sum(0), 0)
            halves[1, 1].add(q.T @ q, 0)
            for power, limbs in (((2, 1), squares), ((3, 1), cubes)):
                for k, limb in enumerate(limbs):
                    halves[power].add(limb.T @ q, k)
            for k, one in enumerate(squares):
                for m, two in enumerate(squares):
                    halves[2, 2].add(one.T @ two, k + m)
    planes = []
    for part in range(2):
        sums = {power: half.parts[part].cpu().numpy() for power, half in halves.items()}
        sums[1, 0] = singles.parts[part].cpu().numpy()[:, None]
        for a in (2, 3, 4):
            sums[a, 0] = sums[a - a // 2, a // 2].diagonal()[:, None].copy()
        counts = np.full((1, 1), 0 if part else count, dtype=np.int64)
        planes.append(PairSums(4, counts, {power: sums[power] for power in POWERS[4]}))
    low, high = planes
    return ExactSums(grid, low, high, clipped=None)


class _DeviceHalves:
    """Whole sums low + 2^56 high on the device."""

    def __init__(self, acc: Accelerator, shape: tuple[int, ...]) -> None:
        self.parts = [acc.torch.zeros(shape, dtype=acc.torch.int64, device=acc.device) for _ in range(2)]

    def add(self, value: Any, k: int) -> None:
        """Add float64 multiples of 2^(20 k) with at most 53 bits."""
        low, high = self.parts
        shift = min(LIMB * k, PLANE)
        whole = (value * 2.0**-shift).long()
        kept = PLANE - shift
        low += (whole & ((1 << kept) - 1)) << shift
        high += (whole >> kept) + (low >> PLANE)
        low &= (1 << PLANE) - 1


def _whole(acc: Accelerator, blocks: Iterable[Matrix], grid: Grid) -> Iterator[Any]:
    """Blocks on the device, rounded to the grid and clipped."""
    for z in acc.streamed(blocks):
        yield acc.torch.clip(acc.torch.round(z * (1 / grid.step)), -grid.largest, grid.largest)


def _split(value: Any, k: int) -> Any:
    """Leave the lowest 20 bits of multiples of 2^(20 k) in `value`; the rest."""
    large = 1.5 * 2.0 ** (52 + LIMB * (k + 1))
    upper = (value + large) - large
    value -= upper
    return upper


def _limbs_of(value: Any) -> list[Any]:
    upper = _split(value, 0)
    return [value, upper]


def _times(limbs: list[Any], q: Any) -> list[Any]:
    """The limbs of a product with whole numbers of at most 20 bits and a sign."""
    product = [limb * q for limb in limbs]
    result = []
    for k, value in enumerate(product):
        upper = _split(value, k)
        result.append(value)
        if k + 1 < len(product):
            product[k + 1] += upper
        else:
            result.append(upper)
    return result


def entropy_sums_of_pairs(acc: Accelerator, u: Any, rho: Any) -> tuple[Any, Any]:
    """Sums of log cosh and of u exp(-u^2/2), each [i, j] of the residual of i given j; of i itself at [i, i].

    Parameters
    ----------
    u : (n, m) array on the device
        Standardised variables, float32; on the processor float64 will do.
    rho : (m, m) array on the device
        Their correlations, float64.
    """
    rho = rho.clone().fill_diagonal_(0.0)
    scale = 1 / acc.torch.sqrt(1 - rho**2)
    if acc.has_card:
        from fedrcd.statistics.entropy_kernel import launched

        return launched(acc.torch, u, rho, scale)
    return _in_blocks(acc.torch, u, rho, scale)


def _in_blocks(torch: Any, u: Any, rho: Any, scale: Any) -> tuple[Any, Any]:
    """The same without a kernel, a few residuals at a time."""
    m = u.shape[1]
    log_cosh, gauss = (torch.zeros((m, m), dtype=torch.float64, device=u.device) for _ in range(2))
    columns = u.T.contiguous()
    for i in range(m):
        for start in range(0, m, PAIRS_AT_ONCE):
            some = slice(start, min(start + PAIRS_AT_ONCE, m))
            r = (columns[i] - rho[i, some, None].to(u.dtype) * columns[some]) * scale[i, some, None].to(u.dtype)
            size = r.abs()
            log_cosh[i, some] = (size + torch.log1p(torch.exp(-2 * size)) - math.log(2)).double().sum(1)
            gauss[i, some] = (r * torch.exp(r * r * -0.5)).double().sum(1)
    return log_cosh, gauss


def host(values: Any) -> Vector:
    """An array of the device as one of NumPy."""
    array: Vector = values.cpu().numpy()
    return array
