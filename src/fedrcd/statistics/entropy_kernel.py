"""One fused kernel for a card: both entropy sums of all pair residuals, which are never written to memory.

A program takes a tile of pairs over some of the rows and computes the residuals of both of a pair given the other. In
float32 it adds over `INNER` times `UNROLLED` rows, then in float64; 1 + exp(-2|r|) is multiplied over these rows before
one logarithm is taken.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import triton
import triton.language as tl

UNIT = math.sqrt(0.5 / math.log(2))
"""Residuals are multiplied by it, so that exp(-r^2/2) is 2^(-r^2)."""

PROGRAMS = 132 * 12
"""Programs that keep a large card busy; few pairs are split over rows."""

DOUBLED = tl.constexpr(2 / math.log(2) / UNIT)
SMALLER = tl.constexpr(1 / UNIT)
LOG2 = tl.constexpr(math.log(2))


class KernelShape(NamedTuple):
    """How the work is cut: variables of a tile, rows added in float32 (inner times unrolled), warps of a program."""

    tile: int
    inner: int
    unrolled: int
    warps: int


SHAPES = (
    KernelShape(32, 8, 8, 8),
    KernelShape(32, 4, 16, 8),
    KernelShape(16, 4, 16, 4),
    KernelShape(32, 8, 8, 16),
    KernelShape(32, 8, 8, 4),
)
"""The first is taken; `benchmarks/gpu.py` measures all."""


# Whole numbers are not specialised on, or the kernel would be compiled anew as variables are taken out.
@triton.jit(do_not_specialize=["n", "m", "rows_per_split"])  # type: ignore[untyped-decorator]
def pair_entropies(  # type: ignore[no-untyped-def]  # Triton gives types
    u, weight, scale, tiles_i, tiles_j, log_cosh, gauss, n, m, rows_per_split,
    TILE: tl.constexpr, INNER: tl.constexpr, UNROLLED: tl.constexpr,
):  # fmt: skip
    """Sums of one tile of pairs over the rows of one split."""
    tile, split = tl.program_id(0), tl.program_id(1)
    i = tl.load(tiles_i + tile) * TILE + tl.arange(0, TILE)
    j = tl.load(tiles_j + tile) * TILE + tl.arange(0, TILE)
    there = (i[:, None] < m) & (j[None, :] < m)
    place = i[:, None] * m + j[None, :]
    b = tl.load(weight + place, mask=there, other=0.0)
    s = tl.load(scale + place, mask=there, other=1.0)
    log_i = tl.zeros((TILE, TILE), tl.float64)
    log_j = tl.zeros((TILE, TILE), tl.float64)
    gauss_i = tl.zeros((TILE, TILE), tl.float64)
    gauss_j = tl.zeros((TILE, TILE), tl.float64)
    start = split * rows_per_split
    for first in range(start, start + rows_per_split, INNER * UNROLLED):
        prod_i = tl.full((TILE, TILE), 1.0, tl.float32)
        prod_j = tl.full((TILE, TILE), 1.0, tl.float32)
        size_i = tl.zeros((TILE, TILE), tl.float32)
        size_j = tl.zeros((TILE, TILE), tl.float32)
        sum_i = tl.zeros((TILE, TILE), tl.float32)
        sum_j = tl.zeros((TILE, TILE), tl.float32)
        for inner in range(INNER):
            for k in tl.static_range(UNROLLED):
                row = first + inner * UNROLLED + k
                here = row < n
                at_row = u + row.to(tl.int64) * m
                u_i = tl.load(at_row + i, mask=(i < m) & here, other=0.0)[:, None]
                u_j = tl.load(at_row + j, mask=(j < m) & here, other=0.0)[None, :]
                r_i = s * u_i - b * u_j
                r_j = s * u_j - b * u_i
                a_i, a_j = tl.abs(r_i), tl.abs(r_j)
                size_i += a_i
                size_j += a_j
                prod_i += prod_i * tl.exp2(-DOUBLED * a_i)
                prod_j += prod_j * tl.exp2(-DOUBLED * a_j)
                sum_i += r_i * tl.exp2(-(r_i * r_i))
                sum_j += r_j * tl.exp2(-(r_j * r_j))
        log_i += (size_i * SMALLER + (tl.log2(prod_i) - INNER * UNROLLED) * LOG2).to(tl.float64)
        log_j += (size_j * SMALLER + (tl.log2(prod_j) - INNER * UNROLLED) * LOG2).to(tl.float64)
        gauss_i += (sum_i * SMALLER).to(tl.float64)
        gauss_j += (sum_j * SMALLER).to(tl.float64)
    out = split.to(tl.int64) * m * m
    other = j[None, :] * m + i[:, None]
    tl.store(log_cosh + out + place, log_i, mask=there)
    tl.store(log_cosh + out + other, log_j, mask=there)
    tl.store(gauss + out + place, gauss_i, mask=there)
    tl.store(gauss + out + other, gauss_j, mask=there)


def launched(torch: Any, u: Any, rho: Any, scale: Any, shape: KernelShape = SHAPES[0]) -> tuple[Any, Any]:
    """Both sums of all pairs; rows beyond the last count as zeros, which add nothing."""
    n, m = u.shape
    tiles = -(-m // shape.tile)
    first, second = torch.triu_indices(tiles, tiles, device=u.device, dtype=torch.int32)
    step = shape.inner * shape.unrolled
    splits = max(1, min(-(-n // (4 * step)), -(-PROGRAMS // len(first))))
    rows = -(-n // splits // step) * step
    splits = -(-n // rows)
    log_cosh, gauss = (torch.empty((splits, m, m), dtype=torch.float64, device=u.device) for _ in range(2))
    weight, scale = (rho * scale * UNIT).float().contiguous(), (scale * UNIT).float().contiguous()
    cut = {"TILE": shape.tile, "INNER": shape.inner, "UNROLLED": shape.unrolled, "num_warps": shape.warps}
    arrays = (u.contiguous(), weight, scale, first.contiguous(), second.contiguous(), log_cosh, gauss)
    pair_entropies[(len(first), splits)](*arrays, n, m, rows, **cut)
    return log_cosh.sum(0), gauss.sum(0)
