"""What the rules of several rounds cost: on which data sets each method may run under masks; writes a table.

`python -m experiments.pages.rules_cost` writes docs/rules-cost.md. Every run is whole: sites with keys judge it by
their rules, as between machines.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.harness.parallel import in_order
from experiments.tasks.services import Services
from fedrcd.data.examples import hospitals, sachs_tables
from fedrcd.data.frame_draft import draft_frame
from fedrcd.data.simulate.noise import NOISE_FAMILIES
from fedrcd.data.table import Table
from fedrcd.errors import FedrcdError
from fedrcd.evaluation.evaluate import DataSetting
from fedrcd.federation.coordinator.gather import SiteLost

METHODS = ("fedrcd-s", "fedrcd-sp", "fedrcd-ni", "fedrcd-sx", "fedrcd-x", "fed-direct")
LEVELS = (2, 3, 5, 10)
SITES, ROWS = 3, 2000
REPORT = Path("docs/rules-cost.md")
RUNS = "runs"


class RunAsked(NamedTuple):
    """A data set by the group it belongs to, and which of the group it is."""

    group: str
    number: int
    method: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every method on every data set, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="data sets of each noise family, and of each few levels")
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args(arguments)
    asked = [
        RunAsked(group, number, method)
        for group, count in groups(given.seeds).items()
        for number in range(count)
        for method in METHODS
    ]
    outcomes = []
    for one, outcome in zip(asked, in_order(outcome_of, asked, processes=given.jobs), strict=True):
        print(*one, outcome, flush=True)
        outcomes.append(outcome)
    REPORT.write_text("\n".join(report(asked, outcomes, given.seeds)) + "\n", encoding="utf-8")
    print(f"written: {REPORT}")
    return 0


def groups(seeds: int) -> dict[str, int]:
    """How many data sets each group has."""
    grid = {f"grid, p = {p}": seeds * len(NOISE_FAMILIES) for p in (10, 20)}
    few = {f"{one} of 8 columns with {levels} levels": seeds for one in (1, 3) for levels in LEVELS}
    return {**grid, "three hospitals": 1, "proteins (sachs)": 1, **few}


def tables_of(group: str, number: int) -> list[Table]:
    """The tables of a data set, a table per site."""
    if group == "three hospitals":
        return list(hospitals())
    if group == "proteins (sachs)":
        return list(sachs_tables())
    if group.startswith("grid"):
        p, family = int(group.rpartition(" ")[2]), NOISE_FAMILIES[number % len(NOISE_FAMILIES)]
        _, rows = DataSetting(noise=family, seed=number // len(NOISE_FAMILIES), p=p, sites=SITES, rows=ROWS).draw()
        return [_table(one) for one in rows]
    few, levels = int(group.partition(" ")[0]), int(group.split()[-2])
    _, rows = DataSetting(noise="laplace", seed=number, p=8, sites=SITES, rows=ROWS).draw()
    cuts = np.quantile(np.concatenate(rows), np.arange(1, levels) / levels, axis=0)
    made = [one.copy() for one in rows]
    for one in made:
        for j in range(few):
            one[:, j] = np.searchsorted(cuts[:, j], one[:, j])
    return [_table(one) for one in made]


def _table(rows: np.ndarray) -> Table:
    return Table(rows, columns=tuple(f"x{j + 1}" for j in range(rows.shape[1])))


def outcome_of(asked: RunAsked) -> str:
    """`RUNS`, or the code of the first refusal."""
    tables = tables_of(asked.group, asked.number)
    everything = Table(np.concatenate([one.values for one in tables]), columns=tables[0].columns)
    with tempfile.TemporaryDirectory() as folder:
        here = Services.write(Path(folder) / "sites", tables, draft_frame(everything))
        try:
            here.run(asked.method, masked=True)
        except SiteLost as lost:
            return str(lost.refusal or "lost")
        except FedrcdError as problem:
            return type(problem).__name__
    return RUNS


def report(asked: Sequence[RunAsked], outcomes: Sequence[str], seeds: int) -> Iterator[str]:
    """The page."""
    yield "# What the rules cost"
    yield ""
    yield (
        f"Written by `python -m experiments.pages.rules_cost --seeds {seeds}`; do not edit. Share of data sets on "
        "which each method runs to its end under masks, at sites with the default rules that trust nobody; where it "
        "does not, the codes of what the first site refused (as in `fedrcd site log` there), and how often."
    )
    yield ""
    yield (
        f"The grid is that of [accuracy.md](accuracy.md), over {SITES} sites of {ROWS:,} rows. Columns with few levels "
        "are cut at quantiles. In several rounds, entropies need every combination of levels at a site to be empty or "
        "to hold 11 rows, residual pairs those of up to four columns; see [privacy.md](privacy.md#rules)."
    )
    yield ""
    yield f"| data sets | number | {' | '.join(METHODS)} |"
    yield f"|---|---|{'---|' * len(METHODS)}"
    for group, count in groups(seeds).items():
        cells = []
        for method in METHODS:
            own = Counter(outcome for one, outcome in zip(asked, outcomes, strict=True) if one[::2] == (group, method))
            refused = ", ".join(f"{code} {times}" for code, times in sorted(own.items()) if code != RUNS)
            cells.append(f"{own[RUNS] / count:.0%}" + (f" ({refused})" if refused else ""))
        yield f"| {group} | {count} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
