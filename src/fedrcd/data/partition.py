"""Rows of one table dealt out to sites."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from fedrcd.errors import ConfigError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import IntVector

Scheme: TypeAlias = Literal["iid", "unequal", "sorted"]


def split_rows(
    n: int,
    sites: int,
    *,
    scheme: Scheme = "iid",
    by: npt.ArrayLike | None = None,
    minimum: int = 1,
    concentration: float = 1.0,
    rng: np.random.Generator,
) -> list[IntVector]:
    """Row indices of every site, ascending; every row belongs to exactly one site.

    Parameters
    ----------
    n : int
        Number of rows.
    sites : int
        Number of sites.
    scheme : {"iid", "unequal", "sorted"}
        "iid": a random permutation cut in parts whose sizes differ by at most one.
        "unequal": the same with `minimum` rows each and the rest by shares from a Dirichlet distribution.
        "sorted": rows sorted by `by` and cut in equal parts, so that sites differ as much as they can.
    by : (n,) array, optional
        The values to sort by; needed by "sorted" and by no other scheme.
    minimum : int
        Fewest rows a site of the "unequal" scheme has.
    concentration : float
        Parameter of the Dirichlet distribution: the smaller, the more unequal the sites.
    rng : numpy.random.Generator
        The source of randomness; not used by "sorted".
    """
    if scheme not in get_args(Scheme):
        known = ", ".join(get_args(Scheme))
        raise ConfigError(f"no scheme {scheme!r}; known are {known}{did_you_mean(scheme, get_args(Scheme))}")
    if not 1 <= sites <= n:
        raise ConfigError(f"sites must be between 1 and the number of rows, {n}, got {sites}")
    if (by is None) == (scheme == "sorted"):
        raise ConfigError("the sorted scheme, and no other, needs the values to sort by: by=...")
    rows = rng.permutation(n) if by is None else np.argsort(_one_per_row(by, n), kind="stable")
    sizes = _dirichlet_sizes(n, sites, minimum, concentration, rng) if scheme == "unequal" else None
    cuts = sites if sizes is None else np.cumsum(sizes)[:-1]
    return [np.sort(part) for part in np.array_split(rows, cuts)]


def _dirichlet_sizes(n: int, sites: int, minimum: int, concentration: float, rng: np.random.Generator) -> IntVector:
    """Sizes that sum to n: `minimum` each, the rest multinomial with Dirichlet shares."""
    if not 0 <= minimum <= n // sites:
        raise ConfigError(f"minimum must be between 0 and {n // sites} for {n} rows at {sites} sites, got {minimum}")
    if not concentration > 0:
        raise ConfigError(f"concentration must be above 0, got {concentration!r}")
    shares = rng.dirichlet(np.full(sites, concentration))
    return minimum + rng.multinomial(n - sites * minimum, shares)


def _one_per_row(by: npt.ArrayLike, n: int) -> npt.NDArray[np.generic]:
    values = np.asarray(by)
    if values.shape != (n,):
        raise ConfigError(f"by must hold one value per row, {n}, got an array of shape {values.shape}")
    return values
