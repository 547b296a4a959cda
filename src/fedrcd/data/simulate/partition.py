"""One table dealt out to sites: its rows (horizontal), its columns (vertical) or both (hybrid)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
from fedrcd.errors import ConfigError
from fedrcd.suggest import did_you_mean
from fedrcd.typing import IntVector

Scheme: TypeAlias = Literal["iid", "unequal", "sorted"]
Cover: TypeAlias = Literal["pairs", "none"]


class Part(NamedTuple):
    """The cells of the table that one site holds of one block of rows."""

    site: str
    block: str
    rows: IntVector
    columns: tuple[str, ...]


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


def vertical_split(
    variables: Sequence[str], sites: int, *, cover: Cover = "pairs", overlap: float = 0.0, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """Columns of every site, in the order of the variables; every variable is at some site.

    Parameters
    ----------
    variables : sequence of str
        Names of at least two variables.
    sites : int
        Number of sites; to cover pairs, 1 or at least 3: two sites that both lack a column never do.
    cover : {"pairs", "none"}
        "pairs": every pair of variables is together at some site. The variables are cut at random into the most
        groups g whose g (g - 1) / 2 pairs do not outnumber the sites, and each site holds one pair of groups; sites
        that are left over begin again. Three sites hold two thirds of the columns each, six hold half of them.
        "none": every variable is at one random site.
    overlap : float
        Probability of each further column of a site, in [0, 1].
    rng : numpy.random.Generator
        The source of randomness.
    """
    if cover not in get_args(Cover):
        raise ConfigError(f"no cover {cover!r}; known are pairs, none{did_you_mean(cover, get_args(Cover))}")
    if len(variables) < 2 or sites < 1:
        raise ConfigError(f"at least 2 variables and 1 site are needed, got {len(variables)} and {sites}")
    if not 0 <= overlap <= 1:
        raise ConfigError(f"overlap must be between 0 and 1, got {overlap!r}")
    shuffled = [variables[j] for j in rng.permutation(len(variables))]
    held = _pairs_of_groups(shuffled, sites) if cover == "pairs" else _one_site_each(shuffled, sites)
    further = rng.random((sites, len(variables))) < overlap
    return [
        tuple(name for name, more in zip(variables, also, strict=True) if more or name in columns)
        for columns, also in zip(held, further, strict=True)
    ]


def hybrid_split(n: int, variables: Sequence[str], sites: int, blocks: int, *, rng: np.random.Generator) -> list[Part]:
    """Parts of a table whose rows are cut into blocks and whose columns into the sites of a vertical split.

    A site has the same columns in all its blocks. Of every block some sites together hold all columns, so that no
    cell is lost; every site has a block, so that every pair of variables is together for some rows.

    Parameters
    ----------
    n : int
        Number of rows.
    variables : sequence of str
        Names of at least two variables.
    sites : int
        Number of sites, 1 or at least 3.
    blocks : int
        Number of blocks of rows, whose sizes differ by at most one.
    rng : numpy.random.Generator
        The source of randomness.
    """
    if not 1 <= blocks <= n:
        raise ConfigError(f"blocks must be between 1 and the number of rows, {n}, got {blocks}")
    columns = vertical_split(variables, sites, rng=rng)
    rows = split_rows(n, blocks, rng=rng)
    holders = [_sites_with_all_columns(columns, rng) for _ in rows]
    for k in set(range(sites)).difference(*holders):
        holders[rng.integers(blocks)].add(k)
    return [
        Part(site, block, rows[b], columns[k])
        for k, site in enumerate(_labels("site", sites))
        for b, block in enumerate(_labels("block", blocks))
        if k in holders[b]
    ]


def row_parts(rows: Sequence[IntVector], variables: Sequence[str]) -> list[Part]:
    """Parts of a horizontal split: every site has all columns and a block of its own."""
    labels = zip(_labels("site", len(rows)), _labels("block", len(rows)), rows, strict=True)
    return [Part(site, block, index, tuple(variables)) for site, block, index in labels]


def column_parts(n: int, columns: Sequence[tuple[str, ...]]) -> list[Part]:
    """Parts of a vertical split: every site has its columns of the same n rows."""
    labels = zip(_labels("site", len(columns)), columns, strict=True)
    return [Part(site, "block_1", np.arange(n), held) for site, held in labels]


def as_federation(
    parts: Sequence[Part], variables: Sequence[str], *, frame: Mapping[str, VariableFrame] | None = None
) -> Federation:
    """The federation that a split makes: sites in the order of the parts, blocks sorted by label."""
    sites: dict[str, SiteEntry] = {}
    rows: dict[str, IntVector] = {}
    for part in parts:
        site = sites.get(part.site, SiteEntry(part.site, part.columns, ()))
        if site.columns != part.columns:
            raise ConfigError(f"{part.site} must have the same columns in all its blocks")
        if not np.array_equal(rows.setdefault(part.block, part.rows), part.rows):
            raise ConfigError(f"{part.block} must have the same rows at all its sites")
        sites[part.site] = SiteEntry(part.site, part.columns, (*site.blocks, part.block))
    blocks = tuple(BlockEntry(label, len(index)) for label, index in sorted(rows.items()))
    return Federation(tuple(variables), tuple(sites.values()), blocks, frame or {})


def _pairs_of_groups(names: Sequence[str], sites: int) -> list[set[str]]:
    """Column sets that cover all pairs: two of g groups at each site."""
    if sites == 2:
        raise ConfigError("2 sites cover all pairs of columns only if one has all; take 1 or at least 3 sites")
    g = max(g for g in range(2, len(names) + 1) if comb(g, 2) <= sites)
    pairs = list(combinations(range(g), 2))
    chosen = [pairs[k % len(pairs)] for k in range(sites)]
    return [{*names[first::g], *names[second::g]} for first, second in chosen]


def _one_site_each(names: Sequence[str], sites: int) -> list[set[str]]:
    """Column sets of equal size that do not overlap; with more sites than names, sites begin again."""
    return [set(names[k::sites]) or {names[k % len(names)]} for k in range(sites)]


def _sites_with_all_columns(columns: Sequence[tuple[str, ...]], rng: np.random.Generator) -> set[int]:
    """Random sites that together hold all columns, none that adds nothing to those before it."""
    held: set[str] = set()
    sites = set()
    for k in rng.permutation(len(columns)).tolist():
        if not held.issuperset(columns[k]):
            held.update(columns[k])
            sites.add(k)
    return sites


def _labels(word: str, count: int) -> list[str]:
    """Numbered labels, zero padded so that they sort."""
    return [f"{word}_{k:0{len(str(count))}d}" for k in range(1, count + 1)]


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
