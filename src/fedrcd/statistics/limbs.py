r"""Whole numbers beyond 53 bits, from float64 matrix products that are exact.

A product of float64 matrices of whole numbers is exact as long as no partial sum can exceed 2^53. Larger factors are
therefore split into limbs: limb k is a multiple of 2^(20 k) of at most 20 bits and a sign. Products of limbs are summed
separately over at most `ROWS_PER_SUM` rows and put together as pairs (low, high) of int64 with value
low + 2^56 high, 0 <= low < 2^56.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np

from fedrcd.typing import IntMatrix, Matrix

LIMB = 20
"""Bits of a limb."""

ROWS_PER_SUM = 2048
"""Rows over which products of two limbs, or two such, are summed in float64: 20 + 20 + 11 + 1 bits."""

PLANE = 56
"""Bits of the low part of a whole number."""

Limbs: TypeAlias = Sequence[Matrix]
"""A whole number as limbs, the lowest first."""


def batches(blocks: Iterable[Matrix], most: int) -> Iterator[Iterator[Matrix]]:
    """Blocks of rows in batches of at most so many rows; each must be used up before the next is taken."""
    for _, batch in groupby(_numbered(blocks, most), key=lambda item: item[0]):
        yield (block for _, block in batch)


def _numbered(blocks: Iterable[Matrix], most: int) -> Iterator[tuple[int, Matrix]]:
    """Blocks, cut where they are too long, with the number of their batch."""
    number, rows = 0, 0
    for block in blocks:
        for start in range(0, max(len(block), 1), most):
            piece = block[start : start + most]
            rows += len(piece)
            if rows > most:
                number, rows = number + 1, len(piece)
            yield number, piece


def split(value: Matrix, k: int, upper: Matrix) -> None:
    """Leave the lowest 20 bits, with a sign, of multiples of 2^(20 k) in `value` and write the rest to `upper`.

    Adding and taking away 1.5 * 2^(52 + 20 (k + 1)) rounds to multiples of 2^(20 (k + 1)): there float64 has no finer
    ones.
    """
    large = 1.5 * 2.0 ** (52 + LIMB * (k + 1))
    np.add(value, large, out=upper)
    upper -= large
    value -= upper


def times(limbs: Limbs, q: Matrix, out: Limbs, work: Matrix) -> None:
    """Write the limbs of the product with whole numbers of at most 20 bits and a sign to `out`, one limb more."""
    np.multiply(limbs[0], q, out=out[0])
    for k in range(len(limbs)):
        split(out[k], k, out[k + 1])
        if k + 1 < len(limbs):
            np.multiply(limbs[k + 1], q, out=work)
            np.add(out[k + 1], work, out=out[k + 1])


def joined(parts: Iterable[tuple[Matrix, int]]) -> tuple[IntMatrix, IntMatrix]:
    """Low and high of the sum of parts (value, k), each made of multiples of 2^(20 k) with at most 53 bits."""
    low: IntMatrix | int = 0
    high: IntMatrix | int = 0
    for value, k in parts:
        shift = min(LIMB * k, PLANE)
        whole = (value * 2.0**-shift).astype(np.int64)
        kept = PLANE - shift  # bits of it that belong to the low part
        low = low + ((whole & ((1 << kept) - 1)) << shift)
        high = high + (whole >> kept)
    return carried(np.asarray(low), np.asarray(high))


def carried(low: IntMatrix, high: IntMatrix) -> tuple[IntMatrix, IntMatrix]:
    """The same numbers with 0 <= low < 2^56."""
    return low & ((1 << PLANE) - 1), high + (low >> PLANE)


def as_float(low: IntMatrix, high: IntMatrix) -> Matrix:
    """The nearest float64, but for the last bit; the same on any machine.

    Low parts are taken from -2^55 to 2^55: small negative numbers would vanish next to 2^56 otherwise.
    """
    upper = low >> (PLANE - 1)
    value: Matrix = (high + upper).astype(float) * 2.0**PLANE + (low - (upper << PLANE)).astype(float)
    return value
