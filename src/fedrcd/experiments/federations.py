"""Sites that differ, rows with gaps, sites that lack columns: what it costs and what mends it.

`python -m fedrcd.experiments.federations` prints the tables and writes docs/federations.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.names import default_names
from fedrcd.data.noise import NOISE_FAMILIES
from fedrcd.data.simulate import random_model
from fedrcd.errors import FedrcdError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import build, find
from fedrcd.methods.within import choose_within
from fedrcd.protocol.driver import run
from fedrcd.protocol.embedded import LocalBlock, embed_blocks
from fedrcd.typing import Matrix, Vector


class Case(NamedTuple):
    """One data set, spoiled in one way, and how it is treated."""

    table: str
    spoiled: str
    method: str
    settings: tuple[tuple[str, Any], ...]
    p: int
    sites: int
    noise: str
    seed: int


def shifted(X: Matrix, rng: np.random.Generator) -> Matrix:
    """A site whose level of each variable is off by N(0, 1) standard deviations."""
    return X + rng.normal(size=X.shape[1])


def rescaled(X: Matrix, rng: np.random.Generator) -> Matrix:
    """A site whose unit of each variable is off by a factor U[0.5, 2]."""
    return X * rng.uniform(0.5, 2, X.shape[1])


def gappy(share: float) -> Callable[[Matrix, np.random.Generator], Matrix]:
    """A site that lacks a share of its values."""

    def spoil(X: Matrix, rng: np.random.Generator) -> Matrix:
        return np.where(rng.random(X.shape) < share, np.nan, X)

    return spoil


def lacking(X: Matrix, rng: np.random.Generator) -> Matrix:
    """A site without two of its columns."""
    holes = X.copy()
    holes[:, rng.choice(X.shape[1], 2, replace=False)] = np.nan
    return holes


SPOILERS: dict[str, Callable[[Matrix, np.random.Generator], Matrix]] = {
    "alike": lambda X, _: X,
    "shifted": shifted,
    "rescaled": rescaled,
    "5 % missing": gappy(0.05),
    "20 % missing": gappy(0.2),
    "40 % missing": gappy(0.4),
    "each site lacks 2 columns": lacking,
}


def accuracy(case: Case) -> float:
    """AncAcc of one case; nan where the method cannot run."""
    rng = np.random.default_rng([case.seed, NOISE_FAMILIES.index(case.noise), case.p])
    model = random_model(case.p, noise=case.noise, rng=rng)
    X = model.sample(20_000, rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = default_names(case.p)
    blocks = []
    for k, rows in enumerate(np.array_split(X, case.sites)):
        spoiled = SPOILERS[case.spoiled](rows, rng)
        held = np.isfinite(spoiled).sum(axis=0) > 0
        columns = tuple(name for name, has in zip(names, held.tolist(), strict=True) if has)
        blocks.append(LocalBlock(f"site {k}", f"block {k}", columns, spoiled[:, held]))
    settings = dict(case.settings)
    if find(case.method).one_table:
        blocks = [LocalBlock("all", "all", names, np.concatenate([block.rows for block in blocks]))]
    try:
        if settings.get("within") == "auto":
            settings["within"] = choose_within(embed_blocks(blocks, names)).within
        transport = embed_blocks(blocks, names, **settings)
        estimate = run(build(case.method).rounds(transport.setting), transport)
    except FedrcdError:
        return float("nan")
    return ancestral_accuracy(estimate.order, model.B)


def cases(seeds: int) -> Iterator[Case]:
    """All cases, table by table."""
    for noise in NOISE_FAMILIES:
        for seed in range(seeds):
            for spoiled in ("alike", "shifted", "rescaled"):
                for method in ("fedrcd-s", "fed-direct"):
                    for within in ("none", "centre", "standardise", "auto"):
                        yield Case("site effects", spoiled, method, (("within", within),), 15, 10, noise, seed)
                yield Case("site effects", spoiled, "direct-lingam", (("within", "none"),), 15, 10, noise, seed)
            for spoiled in ("5 % missing", "20 % missing", "40 % missing", "each site lacks 2 columns"):
                for missing in ("complete", "expected", "available"):
                    yield Case("missing values", spoiled, "fedrcd-s", (("missing", missing),), 20, 10, noise, seed)


def table(name: str, results: Sequence[tuple[Case, float]]) -> Iterator[str]:
    """Mean AncAcc, a row per method and setting, a column per way of spoiling."""
    own = [(case, value) for case, value in results if case.table == name]
    columns = list(dict.fromkeys(case.spoiled for case, _ in own))
    yield "| method | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for key in dict.fromkeys((case.method, case.settings) for case, _ in own):
        cells = []
        for column in columns:
            values = np.array([v for case, v in own if (case.method, case.settings) == key and case.spoiled == column])
            cells.append(_cell(values))
        settings = ", ".join(f"{option} {value}" for option, value in key[1])
        yield f"| {key[0]}, {settings} | " + " | ".join(cells) + " |"


def _cell(values: Vector) -> str:
    """Mean and standard error of what could run, and how many could not."""
    ran = values[~np.isnan(values)]
    if len(ran) == 0:
        return "cannot run"
    lost = f" ({len(values) - len(ran)} of {len(values)} cannot run)" if len(ran) < len(values) else ""
    return f"{ran.mean():.3f} ± {ran.std() / np.sqrt(len(ran)):.3f}{lost}"


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/federations.md"))
    arguments = parser.parse_args()
    todo = list(cases(arguments.seeds))
    with ProcessPoolExecutor() as pool:
        values = []
        for done, value in enumerate(pool.map(accuracy, todo, chunksize=4), 1):
            values.append(value)
            if done % 20 == 0:
                print(f"{done} of {len(todo)} cases", file=sys.stderr, flush=True)
    results = list(zip(todo, values, strict=True))
    sets = len(NOISE_FAMILIES) * arguments.seeds
    lines = [
        "# Federations that are not tidy\n",
        "Written by `python -m fedrcd.experiments.federations`; do not edit. AncAcc, mean ± standard error over "
        f"{sets} data sets of 20,000 rows at 10 sites, weights, density and noise of the paper, standardised.\n",
        "## Sites that differ\n\np = 15. Shifted: each site's level of each variable is off by N(0, 1) standard "
        "deviations. Rescaled: its unit by a factor U[0.5, 2].\n",
        *table("site effects", results),
        "\n## Values that are missing\n\np = 20. Values missing completely at random; or every site lacks 2 columns.\n",
        *table("missing values", results),
    ]
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
