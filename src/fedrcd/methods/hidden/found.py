"""What a search for hidden common causes finds."""

from __future__ import annotations

from dataclasses import dataclass

from fedrcd.typing import BoolMatrix, Matrix


@dataclass(frozen=True, slots=True, eq=False)
class HiddenCauses:
    """Pairs with a cause that was not measured, and what stands beside them.

    Parameters
    ----------
    evidence : (p, p) array
        Symmetric; by how much the pair is explained worse without a hidden cause, in the scale of chi-squared; 0 where
        none was found.
    ancestors : (p, p) array of bool
        Whether the column's variable is a cause, direct or not, of the row's.
    open : (p, p) array of bool
        Where an effect of the column's variable on the row's may be, but is not identified.
    """

    evidence: Matrix
    ancestors: BoolMatrix
    open: BoolMatrix
