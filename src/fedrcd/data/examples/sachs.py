"""Proteins in single human T cells, measured under nine conditions: each condition is a site.

Source: K. Sachs, O. Perez, D. Pe'er, D. A. Lauffenburger and G. P. Nolan, Causal protein-signaling networks derived
from multiparameter single-cell data, Science 308 (2005) 523-529, supporting material. The authors attached no licence
to the measurements; they have been passed on freely, by the bnlearn repository among others, for teaching and
comparison, and are passed on here unchanged for the same purpose. Whoever uses them should cite the article. They are
not covered by the licence of this package.

What the true graph is, is disputed. `sachs_truths` has the two graphs that most comparisons use, which contradict each
other in the direction between PIP3 and Plcg and differ in four more edges.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from fedrcd.data.examples.three_hospitals import FEDERATION, TRUTH, bundled
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, write_federation
from fedrcd.data.read import read_table, write_table
from fedrcd.data.table import Table
from fedrcd.typing import Matrix

CELLS = {
    "cd3cd28": 853,
    "cd3cd28_icam2": 902,
    "cd3cd28_aktinhib": 911,
    "cd3cd28_g0076": 723,
    "cd3cd28_psitect": 810,
    "cd3cd28_u0126": 799,
    "cd3cd28_ly294002": 848,
    "pma": 913,
    "b2camp": 707,
}
"""Conditions in the order of the file, named after the reagents, and their numbers of cells; the first is without
intervention."""

SHARED_EDGES = (
    "Erk Akt, PKA Akt, Mek Erk, PKA Erk, PKA Jnk, PKC Jnk, PKA Mek, PKC Mek, Raf Mek, PKA P38, PKC P38, PIP3 PIP2, "
    "Plcg PIP2, PKC PKA, PKA Raf, PKC Raf"
)
TRUTHS = {
    "bnlearn": f"{SHARED_EDGES}, Plcg PIP3",
    "consensus": f"{SHARED_EDGES}, PIP3 Plcg, PIP2 PKC, PIP3 Akt, Plcg PKC",
}
"""Cause and effect of each edge: 17 of the network in the bnlearn repository; 20 of the article's Figure 2, what
biologists of the time agreed on."""


def sachs_tables() -> tuple[Table, ...]:
    """The cells of each condition, 7466 in all."""
    everything = read_table(bundled("sachs.csv.gz"))
    ends = np.cumsum(list(CELLS.values()))
    parts = np.split(everything.values, ends[:-1])
    return tuple(
        Table(np.ascontiguousarray(rows), name, name, columns=everything.columns, source=f"{name}.csv")
        for name, rows in zip(CELLS, parts, strict=True)
    )


def sachs_truths(names: tuple[str, ...]) -> dict[str, Matrix]:
    """The two graphs, as matrices over the named proteins: 1 where column causes row."""
    graphs = {}
    for title in TRUTHS:
        graphs[title] = np.zeros((len(names), len(names)))
        for cause, effect in _edges(title):
            graphs[title][names.index(effect), names.index(cause)] = 1.0
    return graphs


def write_sachs(folder: Path) -> tuple[Path, ...]:
    """Write a table per condition, the federation, the two graphs and where the data are from; return the paths."""
    tables = sachs_tables()
    for table in tables:
        write_table(folder / table.source, table)
    truths = {title: [{"cause": cause, "effect": effect} for cause, effect in _edges(title)] for title in TRUTHS}
    (folder / TRUTH).write_text(json.dumps(truths, indent=1) + "\n", encoding="utf-8", newline="\n")
    (folder / "SOURCE.txt").write_text((__doc__ or "").partition("\n\n")[2], encoding="utf-8", newline="\n")
    variables = tables[0].columns
    federation = Federation(
        variables=variables,
        sites=tuple(SiteEntry(name, variables, (name,)) for name in CELLS),
        blocks=tuple(BlockEntry(name, cells) for name, cells in CELLS.items()),
    )
    write_federation(folder / FEDERATION, federation)
    return tuple(folder / name for name in (*(f"{name}.csv" for name in CELLS), TRUTH, "SOURCE.txt", FEDERATION))


def _edges(title: str) -> list[tuple[str, str]]:
    return [(cause, effect) for cause, effect in (edge.split() for edge in TRUTHS[title].split(","))]
