"""Small tables for golden runs, and how they are dealt out to sites: arithmetic only, so the same bits anywhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Part(NamedTuple):
    """The cells that one site holds of one block of rows."""

    site: str
    block: str
    rows: Any
    columns: tuple[str, ...]


def names_of(p: int) -> tuple[str, ...]:
    return tuple(f"v{k}" for k in range(p))


def make_table(*, p: int, n: int, seed: int, gaps: float = 0.0, spoil: str = "") -> pd.DataFrame:
    """Rows of a linear model with skewed noise, from uniform numbers by sums and products alone."""
    rng = np.random.default_rng([seed, p, n])
    u = rng.random((n, p))
    noise = (1 + rng.random(p)) * 4 * (u * u * u - 0.25)
    B = np.where(rng.random((p, p)) < 0.5, 0.4 + rng.random((p, p)), 0.0) * np.where(rng.random((p, p)) < 0.5, 1, -1)
    place = rng.permutation(p)
    X = noise.copy()
    for i in range(p):
        for j in range(i):
            X[:, i] = X[:, i] + B[i, j] * X[:, j]
    X = np.ascontiguousarray(X[:, place]) + np.arange(p)
    if gaps:
        X[rng.random((n, p)) < gaps] = np.nan
    return spoiled(pd.DataFrame(X, columns=list(names_of(p))), spoil, rng)


def spoiled(table: pd.DataFrame, how: str, rng: np.random.Generator) -> pd.DataFrame:
    """The table with something in it that methods must stand, or refuse."""
    n = len(table)
    columns = {
        "collinear": 2 * table["v0"],
        "constant": 3.0,
        "text": np.where(np.arange(n) % 2, "a", "b"),
        "infinite": table["v0"].where(table.index != 3, np.inf),
        "huge": 1e200 * table["v0"] * table["v0"],
        "rare level": (table.index < 5).astype(float),
    }
    if how in columns:
        return table.assign(v1=columns[how])
    if how == "named":
        table.insert(0, "person", [f"person {k}" for k in range(n)])
    elif how == "no complete row":
        table.loc[::2, "v0"] = np.nan
        table.loc[1::2, "v1"] = np.nan
    elif how == "wrong points":
        for column in table.columns:
            table.loc[rng.integers(n, size=n // 100), column] *= 1e4
    elif how == "codes":
        for column in table.columns:
            table.loc[rng.integers(n, size=n // 40), column] = -9.0
    else:
        assert not how, how
    return table


def site(number: int) -> str:
    return f"site-{number}"


def split_table(names: tuple[str, ...], n: int, *, kind: str, sites: int = 1) -> list[Part]:
    """Parts of a table, by a rule that needs no chance; the same block at several sites holds the same rows."""
    rows = np.arange(n)
    if kind == "horizontal":  # sizes grow: 1 : 2 : 3 ...
        cuts = np.cumsum([n * k // (sites * (sites + 1) // 2) for k in range(1, sites)])
        return [Part(site(k), f"block-{k}", part, names) for k, part in enumerate(np.split(rows, cuts))]
    if kind == "interleaved":
        return [Part(site(k), f"block-{k}", rows[k::sites], names) for k in range(sites)]
    if kind == "vertical":  # three sites lack a third of the columns each
        return [Part(site(k), "block", rows, lacking(names, k)) for k in range(3)]
    if kind == "everything besides":
        return [Part("whole", "block", rows, names), *split_table(names, n, kind="vertical")]
    if kind == "hybrid":  # two blocks, and in each two sites that hold all columns together, each pair somewhere
        first, second, third = np.array_split(rows, 3)
        return [
            Part(site(0), "block-0", first, lacking(names, 0)),
            Part(site(0), "block-2", third, lacking(names, 0)),
            Part(site(1), "block-0", first, lacking(names, 1)),
            Part(site(1), "block-1", second, lacking(names, 1)),
            Part(site(2), "block-1", second, lacking(names, 2)),
            Part(site(2), "block-2", third, lacking(names, 2)),
        ]
    if kind == "overlapping":  # one site has all columns of two blocks, others parts of a third
        first, second, third = np.array_split(rows, 3)
        return [
            Part(site(0), "block-0", first, names),
            Part(site(0), "block-1", second, names),
            Part(site(1), "block-2", third, lacking(names, 0)),
            Part(site(2), "block-2", third, lacking(names, 1)),
        ]
    if kind == "triples":  # rows of their own, one column lacking each
        parts = np.array_split(rows, len(names))
        return [
            Part(site(k), f"block-{k}", part, tuple(one for one in names if one != names[k]))
            for k, part in enumerate(parts)
        ]
    assert kind == "apart", kind  # no column of one site is ever seen with one of the other
    half = len(names) // 2
    return [Part(site(0), "block", rows, names[:half]), Part(site(1), "block", rows, names[half:])]


def lacking(names: tuple[str, ...], k: int) -> tuple[str, ...]:
    return tuple(name for j, name in enumerate(names) if j % 3 != k)


def cells(table: pd.DataFrame, part: Part, effects: str = "") -> pd.DataFrame:
    """What a site holds of a table; with effects of the site on its levels or units."""
    held = table.iloc[part.rows][list(part.columns)].reset_index(drop=True)
    number = int(part.site.rpartition("-")[2]) if "-" in part.site else 0
    if effects == "levels":
        return held + 2.0 * number
    if effects == "units":
        return held * float(2**number) + number
    return held
