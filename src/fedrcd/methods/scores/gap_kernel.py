"""One fused kernel for a card: what negentropy gaps speak against each variable, from products of powers.

It computes what `negentropy.standardised_gap` does, entry by entry, and adds it up along rows: sixty steps over whole
matrices would each be begun by the processor, which takes longer than the card needs for them.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from fedrcd.methods.scores.negentropy import CAUTION, COLLINEAR, LEAST_DISTANCE

ROWS, COLUMNS = 2, 128
"""Entries of a program at a time."""

CHANCE = tl.constexpr(CAUTION)
LEFT = tl.constexpr(COLLINEAR)
FLOOR = tl.constexpr(LEAST_DISTANCE)


@triton.jit  # type: ignore[untyped-decorator]
def negentropy(k3, k4, n, BOUNDARY: tl.constexpr):  # type: ignore[no-untyped-def]
    """J of variables of unit variance."""
    tails = tl.maximum(k4, 0.0)
    chance = 6 + 9 * tails + tails * tails * (10.0 / 3.0)
    square = k3 * k3
    square = square * square / (square + CHANCE * chance / n)
    if BOUNDARY:
        return (4 * square + k4 * k4) / (24 * tl.maximum(2 + k4 - square, FLOOR))
    return square / 12 + k4 * k4 / 48


@triton.jit  # type: ignore[untyped-decorator]
def residual_negentropy(r, left, k3, k12, k3_given, k12_given, k4, k13, k22, k4_given, k13_given, n, BOUNDARY: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """J of the residual of one variable given another, from the cumulants of both."""
    square = r * r
    third = (k3 - 3 * r * k12_given + 3 * square * k12 - square * r * k3_given) / (left * tl.sqrt(left))
    fourth = k4 - 4 * r * k13_given + 6 * square * k22 - 4 * square * r * k13 + square * square * k4_given
    return negentropy(third, fourth / (left * left), n, BOUNDARY)


@triton.jit(do_not_specialize=["m", "n"])  # type: ignore[untyped-decorator]
def gap_charges(  # type: ignore[no-untyped-def]
    rho, powers, squares, charges, m, n,
    BOUNDARY: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Charges of a few variables, against all."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    here = i < m
    count = n.to(tl.float64)
    k3_i = tl.load(powers + i * 2 * m + i, mask=here, other=0.0) / count
    k4_i = tl.load(powers + i * 2 * m + m + i, mask=here, other=3.0 * count) / count - 3
    own_i = negentropy(k3_i, k4_i, count, BOUNDARY)
    total = tl.zeros((ROWS, COLUMNS), tl.float64)
    for start in range(0, m, COLUMNS):
        j = start + tl.arange(0, COLUMNS)[None, :]
        there = here & (j < m)
        r = tl.load(rho + i * m + j, mask=there, other=0.0)
        k12 = tl.load(powers + i * 2 * m + j, mask=there, other=0.0) / count
        k21 = tl.load(powers + j * 2 * m + i, mask=there, other=0.0) / count
        k13 = tl.load(powers + i * 2 * m + m + j, mask=there, other=0.0) / count - 3 * r
        k31 = tl.load(powers + j * 2 * m + m + i, mask=there, other=0.0) / count - 3 * r
        k22 = tl.load(squares + i * m + j, mask=there, other=0.0) / count - 1 - 2 * r * r
        k3_j = tl.load(powers + j * 2 * m + j, mask=j < m, other=0.0) / count
        k4_j = tl.load(powers + j * 2 * m + m + j, mask=j < m, other=0.0) / count - 3
        left = 1 - r * r
        usable = there & (left > LEFT)
        left = tl.where(usable, left, 1.0)
        own_j = negentropy(k3_j, k4_j, count, BOUNDARY)
        of_i = residual_negentropy(r, left, k3_i, k12, k3_j, k21, k4_i, k13, k22, k4_j, k31, count, BOUNDARY)
        of_j = residual_negentropy(r, left, k3_j, k21, k3_i, k12, k4_j, k31, k22, k4_i, k13, count, BOUNDARY)
        both = own_i + own_j + of_i + of_j
        told = usable & (both > 0)
        gap = tl.where(told, (own_i + of_j - own_j - of_i) / tl.where(told, both, 1.0), 0.0)
        against = tl.minimum(gap, 0.0)
        total += against * against
    tl.store(charges + i, tl.sum(total, axis=1)[:, None], mask=here)


def launched(torch: Any, rho: Any, powers: Any, squares: Any, rows: int, *, boundary: bool) -> Any:
    """The charge of each variable, from their correlations and sums of u_i u_j^2, u_i u_j^3 and u_i^2 u_j^2."""
    m = rho.shape[0]
    charges = torch.empty(m, dtype=torch.float64, device=rho.device)
    cut = {"BOUNDARY": boundary, "ROWS": ROWS, "COLUMNS": COLUMNS, "num_warps": 4}
    arrays = (rho.contiguous(), powers.contiguous(), squares.contiguous(), charges)
    gap_charges[(-(-m // ROWS),)](*arrays, m, rows, **cut)
    return charges
