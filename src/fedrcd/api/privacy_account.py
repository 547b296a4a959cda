"""An account of what discoveries under noise have spent, site by site: it grows, and nothing is given back.

A discovery is charged before anything is asked, in one transaction on the disk: whatever happens to it afterwards, the
account knows of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fedrcd.errors import ConfigError
from fedrcd.federation.database import Database
from fedrcd.statistics.privacy_loss import composed, epsilon_of, loss_within

KIND = 0x66726370
SCHEMA = (
    "CREATE TABLE charges (number INTEGER PRIMARY KEY, site TEXT NOT NULL, loss REAL NOT NULL, at TEXT NOT NULL "
    "DEFAULT CURRENT_TIMESTAMP)",
)


class Spent(NamedTuple):
    """What a site has spent: in how many discoveries, and which epsilon they add up to at a delta."""

    site: str
    discoveries: int
    epsilon: float


@contextmanager
def opened(path: str | os.PathLike[str], *, create: bool) -> Iterator[Database]:
    """The file of an account; a new one if there is none and one may be made."""
    with Database(path, "privacy account", KIND, SCHEMA, create=create and not Path(path).exists()) as database:
        yield database


def charge(
    path: str | os.PathLike[str], sites: Sequence[str], epsilon: float, delta: float, budget: float | None = None
) -> None:
    """Charge every site of a discovery, or none; raise if that would exceed a budget.

    Parameters
    ----------
    path : path
        The file; it is made if there is none.
    sites : sequence of str
        Names of the tables.
    epsilon, delta : float
        Of the discovery.
    budget : float, optional
        The largest epsilon, at the same delta, that all discoveries of a site may add up to.
    """
    loss = loss_within(epsilon, delta)
    with opened(path, create=True) as account, account.changes():
        for site in sites:
            before = [one for (one,) in account.rows("SELECT loss FROM charges WHERE site = ?", site)]
            total = epsilon_of(composed([*before, loss]), delta)
            if budget is not None and total > budget * (1 + 1e-9):
                raise ConfigError(
                    f"{site} has spent epsilon {epsilon_of(composed(before), delta):.3g} of its budget {budget:g}, and "
                    f"{epsilon:g} more would make {total:.3g}; nothing was spent"
                )
            account.run("INSERT INTO charges (site, loss) VALUES (?, ?)", site, loss)


def spent(path: str | os.PathLike[str], delta: float) -> list[Spent]:
    """What every site of an account has spent."""
    losses: dict[str, list[float]] = {}
    with opened(path, create=False) as account:
        for site, loss in account.rows("SELECT site, loss FROM charges ORDER BY site, number"):
            losses.setdefault(site, []).append(loss)
    return [Spent(site, len(own), epsilon_of(composed(own), delta)) for site, own in losses.items()]
