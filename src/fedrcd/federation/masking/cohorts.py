"""Which sites a set of totals tells: what masks cannot hide.

Totals over several sets of sites are linear equations in the sums of the single sites. A site is told if, together with
at most T others who collude, some combination of totals is about it alone: a total over one site, the difference of two
totals, or a combination of many, no two of which differ by one site.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations

import numpy as np

from fedrcd.typing import Matrix

COLLUDING = 1
"""Sites that may collude with the coordinator, unless the federation says otherwise."""


def told(totals: Iterable[Iterable[tuple[str, Hashable]]], colluding: int = COLLUDING) -> tuple[str, ...]:
    """The sites that totals tell, in the order in which they come.

    Parameters
    ----------
    totals : iterable of iterables of (str, hashable)
        Who is in each total: sites, with what of theirs (an edition, a block), for a difference is only between the
        same.
    colluding : int
        How many sites may bring in sums of their own.
    """
    sets = list(dict.fromkeys(frozenset(one) for one in totals))
    parts = sorted({part for one in sets for part in one}, key=repr)
    sites = list(dict.fromkeys(site for site, _ in parts))
    matrix = np.array([[part in one for part in parts] for one in sets], dtype=float).reshape(len(sets), len(parts))
    of_site = {site: np.array([part[0] == site for part in parts]) for site in sites}
    found = [
        site
        for site in sites
        if any(
            _isolates(matrix, of_site[site], [of_site[one] for one in others])
            for others in _groups(sites, site, colluding)
        )
    ]
    return tuple(found)


def _groups(sites: Sequence[str], site: str, colluding: int) -> Iterable[tuple[str, ...]]:
    """The largest groups that may collude against a site: smaller ones know less."""
    rest = [one for one in sites if one != site]
    return combinations(rest, min(colluding, len(rest)))


def _isolates(matrix: Matrix, site: np.ndarray, colluding: Sequence[np.ndarray]) -> bool:
    """Whether some combination of totals is about a site alone, once what the colluding know is taken out."""
    hidden = np.logical_or.reduce([~site & False, *colluding])
    return _rank(matrix[:, ~hidden]) > _rank(matrix[:, ~hidden & ~site])


def _rank(matrix: Matrix) -> int:
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0
