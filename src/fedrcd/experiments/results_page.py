"""A page of all results in a folder, and their figures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from fedrcd.errors import FileError
from fedrcd.experiments.claims import claims_table
from fedrcd.experiments.experiment import Experiment
from fedrcd.experiments.figures import draw
from fedrcd.experiments.recovery import DATA
from fedrcd.experiments.store import Store, provenance
from fedrcd.experiments.studies import EXPERIMENTS

INTRODUCTION = """# Results

Written by `fedrcd experiment report`; do not edit. Every number is computed from the Parquet files in {folder},
which `fedrcd experiment run` wrote. Data seeds depend on data settings only, so all methods meet the same rows and
differences are paired. AncAcc is the share of true ancestral relations that an order respects; a difference within
two standard errors of zero is a tie.
"""

NOTHING_FINISHED = "there are no finished results in {folder}; run `fedrcd experiment run all` first"


def section(experiment: Experiment, folder: Path) -> Iterator[str]:
    """What an experiment found: how much was run, and its text."""
    store = Store(folder, experiment.name)
    frame = store.frame()
    yield f"*{store.grid}, {measured_on(frame)}; {made_with(frame)}.*\n"
    for package, number in store.left_out.items():
        yield f"*Left out: {number} cells that need the package {package}, which was not installed.*\n"
    yield from experiment.text(frame)


def measured_on(frame: pd.DataFrame) -> str:
    """How many seeds settings have, and how many data sets there are in all."""
    # Rows without p are about pairs of variables that are drawn many times over, not about a data set.
    data = frame.reindex(columns=list(DATA)).dropna(subset=["p"])
    # However a table is cut into sites, it is the same data set.
    data = data.assign(rows=data["sites"] * data["rows"]).drop(columns="sites").drop_duplicates()
    setting = [name for name in data if name not in ("noise", "seed")]
    seeds = sorted(set(data.groupby(setting, dropna=False)["seed"].nunique()))
    counts = " or ".join(map(str, seeds)) or "no"
    return f"{counts} seed{'s' * (seeds != [1])}, {len(data)} data set{'s' * (len(data) != 1)}"


def made_with(frame: pd.DataFrame) -> str:
    """Versions and machine behind results; several where they were made in several places."""
    parts = []
    for name in provenance():
        values = sorted(set(frame[name]))
        parts.append(" or ".join(values) if name == "machine" else f"{name} {' or '.join(values)}")
    return ", ".join(parts)


def page(folder: Path, out: Path, figures: Path | None) -> Iterator[str]:
    """The page, line by line; figures are drawn on the way if a folder for them is given."""
    finished = [one for one in EXPERIMENTS.values() if Store(folder, one.name).results.exists()]
    if not finished:
        raise FileError(NOTHING_FINISHED.format(folder=folder))
    yield INTRODUCTION.format(folder=f"`{_from(out, folder)}`")
    yield "## What the paper says and what we find\n"
    yield from claims_table({one.name: Store(folder, one.name).frame() for one in finished})
    for experiment in finished:
        repeats = f" ({experiment.paper} of the paper)" if experiment.paper else ""
        yield f"## {experiment.name}\n\n{experiment.title}{repeats}.\n"
        if figures is not None:
            for figure in experiment.figures(Store(folder, experiment.name).frame()):
                yield f"![{experiment.title}]({_from(out, draw(figure, figures))})\n"
        yield from section(experiment, folder)


def _from(out: Path, target: Path) -> str:
    """A path as seen from the page."""
    return Path(os.path.relpath(target, out.parent)).as_posix()
