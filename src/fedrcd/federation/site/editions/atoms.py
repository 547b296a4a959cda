r"""What releases about sets of rows tell together: the atoms of the sets, and whether any small one can be isolated.

Every release is a sum over a set of rows. Whoever has several of them can add and subtract. Rows that are in exactly
the same sets cannot be told apart: they are an *atom*, with the vector :math:`v \in \{0, 1\}^m` of the sets it is in.
A combination with coefficients w tells the sum over atoms of :math:`(w \cdot v)` times the atom's own sum.

Distances between pairs of sets are not enough: S, S - A - x, S - B - x and S - A - B differ pairwise by many rows, and
together give x. So the vectors of all atoms must lie in the span of those of the large atoms: then a combination that
cancels all large atoms cancels everything, and nothing small is ever left alone. Small atoms that differ by
combinations of large ones only are told as one sum or not at all: they count as one atom, which may be large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from fedrcd.typing import IntMatrix

SetNumbers: TypeAlias = tuple[int, ...]
"""The numbers of the sets that rows are in, ascending; one may stand there twice for a person with two equal rows."""

PRIME = 2**31 - 1
"""Ranks are taken modulo a prime whose products fit into 64 bits. A vector in the span over the rationals is in it over
the field, too; the reverse fails only if the prime divides a minor, which small whole numbers do not reach."""


def hides_all(atoms: Mapping[SetNumbers, int], batch: int, among: Iterable[int]) -> bool:
    """Whether no combination of some sets tells fewer persons than a batch.

    Parameters
    ----------
    atoms : mapping of set numbers to int
        The persons that are in exactly these sets.
    batch : int
        Persons that hide each other.
    among : iterable of int
        Numbers of the sets whose sums left; others tell nothing.
    """
    return not isolated(atoms, batch, among)


def isolated(atoms: Mapping[SetNumbers, int], batch: int, among: Iterable[int]) -> list[Counter[SetNumbers]]:
    """What combinations tell with fewer than a batch: for each sum, its atoms by their sets among those that left."""
    merged = restricted(atoms, among)
    vectors = list(merged)
    if not vectors:
        return []
    matrix = _matrix(vectors)
    large = np.array([merged[vector] >= batch for vector in vectors])
    basis, small, rest = matrix[large], [k for k, is_large in enumerate(large) if not is_large], matrix[~large]
    while True:
        rest = _residuals(basis, rest)
        # What cancels the basis has one coefficient for all atoms of one residual: it tells their sum, or none of them.
        together: dict[bytes, list[int]] = {}
        for k, residual in enumerate(rest):
            if residual.any():
                together.setdefault(residual.tobytes(), []).append(k)
        sizes = {key: sum(merged[vectors[small[k]]] for k in members) for key, members in together.items()}
        hidden = [members[0] for key, members in together.items() if sizes[key] >= batch]
        if not hidden:
            return [Counter({vectors[small[k]]: merged[vectors[small[k]]] for k in one}) for one in together.values()]
        basis = np.concatenate([basis, rest[hidden]])


def restricted(atoms: Mapping[SetNumbers, int], among: Iterable[int]) -> Counter[SetNumbers]:
    """The atoms of some of the sets: those that differ in others only are one; rows in none of them are left out."""
    chosen, merged = frozenset(among), Counter[SetNumbers]()
    for vector, size in atoms.items():
        kept = tuple(number for number in vector if number in chosen)
        if kept:
            merged[kept] += size
    return merged


def _matrix(vectors: Sequence[SetNumbers]) -> IntMatrix:
    """A row per vector, a column per set."""
    sets = sorted({number for vector in vectors for number in vector})
    place: dict[Hashable, int] = {number: k for k, number in enumerate(sets)}
    matrix = np.zeros((len(vectors), len(sets)), dtype=np.int64)
    for row, vector in enumerate(vectors):
        for number in vector:
            matrix[row, place[number]] += 1
    return matrix


def _residuals(basis: IntMatrix, others: IntMatrix) -> IntMatrix:
    """What of other rows is no combination of the rows of a basis."""
    basis, rest = basis % PRIME, others % PRIME
    for column in range(basis.shape[1]):
        pivots = np.flatnonzero(basis[:, column])
        if not len(pivots):
            continue
        pivot = basis[pivots[0]] * pow(int(basis[pivots[0], column]), -1, PRIME) % PRIME
        basis = np.delete(basis, pivots[0], axis=0)
        basis = (basis - basis[:, [column]] * pivot) % PRIME
        rest = (rest - rest[:, [column]] * pivot) % PRIME
    return rest
