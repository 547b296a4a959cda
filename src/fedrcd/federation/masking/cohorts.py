"""Which sites a set of totals tells: what masks cannot hide.

Totals over several sets of sites are linear equations in the sums of the single sites. A site is told if, together with
at most T others who collude, some combination of totals is about it alone: a total over one site, the difference of two
totals, or a combination of many, no two of which differ by one site.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking.derivation import digest
from fedrcd.federation.messages.digests import canonical
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
    if len(sets) == 1:  # the usual case, of which no ranks are needed
        return tuple(sites) if len(sites) <= colluding + 1 else ()
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


Total = frozenset[tuple[str, str]]
"""Who is in a total: marks of sites and of their blocks, in place of names."""


def mark_of(*parts: str) -> str:
    """What stands for a registered key, or for a block of its owner, in what sites tell each other of totals."""
    return digest(b"part of a total", *(one.encode() for one in parts)).hex()[:16]


def by_marks(total: Iterable[tuple[str, str]], roster: Mapping[str, str]) -> Total:
    """A total over sites and blocks by name, with marks: names may change, keys do not."""
    return frozenset((mark_of(roster[site]), mark_of(roster[site], block)) for site, block in total)


def total_text(total: Total) -> str:
    """A total as a site tells it."""
    return canonical(sorted(map(list, total)))


def total_of(text: str) -> Total:
    """The total in a text; `ProtocolError` unless it is one."""
    wrong = ProtocolError("a site tells of totals that are none")
    try:
        pairs = json.loads(text)
        total = frozenset((site, block) for site, block in pairs)
    except (ValueError, TypeError, RecursionError):
        raise wrong from None
    parts = [part for pair in total for part in pair]
    if {type(part) for part in parts} != {str} or total_text(total) != text:
        raise wrong
    return total


def newly_told(before: Collection[Total], now: Collection[Total], colluding: int = COLLUDING) -> tuple[str, ...]:
    """The marks of sites that further totals tell, together with those before, and that those before did not."""
    if set(now) <= set(before):
        return ()
    known = set(told(before, colluding))
    return tuple(site for site in told([*before, *now], colluding) if site not in known)


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
