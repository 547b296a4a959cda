"""A page of all results in a folder, and their figures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb

import pandas as pd

from experiments.harness.cells import QUICK, Scale
from experiments.harness.experiment import Experiment
from experiments.harness.records import provenance
from experiments.harness.run_command import run_command
from experiments.harness.store import ResultsStore
from experiments.pages.claims import claims_table
from experiments.pages.figures import draw
from experiments.studies import EXPERIMENTS
from experiments.tasks.recovery import DATA
from fedrcd.errors import FileError

INTRODUCTION = """# Results

Written by `python -m experiments report`; do not edit. Every number is computed from the Parquet files in {folder},
which `python -m experiments run` wrote. Data seeds depend on data settings only, so all methods meet the same rows and
differences are paired. AncAcc is the share of true ancestral relations that an order respects; a difference within
two standard errors of zero is a tie.
"""


def nothing_finished(folder: Path, scale: Scale) -> FileError:
    """That a folder has nothing to show, and what to run: at the scale that was begun there, else at this one."""
    begun = {ResultsStore(folder, name).recorded for name in EXPERIMENTS} - {None}
    command = run_command("all", folder, (begun.pop() if len(begun) == 1 else None) or scale)
    return FileError(f"there are no finished results in {folder}; run {command} first")


def lack(experiment: Experiment, store: ResultsStore) -> str:
    """What keeps results from being shown, and what to do; results that are not the experiment's are refused."""
    if store.results.exists():
        _require_own(experiment, store)
    return store.lack()


def section(experiment: Experiment, store: ResultsStore) -> Iterator[str]:
    """What an experiment found: how much was run, and its text."""
    if problem := lack(experiment, store):
        raise FileError(problem)
    frame = store.frame()
    yield f"*{store.made_at.grid}, {measured_on(frame)}; {made_with(frame)}.*\n"
    for package, number in store.left_out.items():
        yield f"*Left out: {number} cells that need the package {package}, which was not installed.*\n"
    with _columns_of(store):
        yield from experiment.text(frame)


def _require_own(experiment: Experiment, store: ResultsStore) -> None:
    """Refuse the file of another experiment.

    Files do not name their experiment, but its cells. One that has changed since keeps some of them as a rule, and its
    older results can still be shown.
    """
    name, scale = experiment.name, store.made_at
    cells = list(experiment.cells(scale))
    if store.is_of(cells):
        store.require_settings(cells)
        return
    for other in EXPERIMENTS.values():
        if store.is_of(list(other.cells(scale))):
            raise FileError(f"{store.results} holds the results of {other.name}, not of {name}; {store.way_out}")
    if not store.holds_any(cells):
        raise FileError(
            f"{store.results} holds none of the cells of {name} ({scale.words}): it is another experiment's file, or "
            f"{name} has changed since; {store.way_out}"
        )


@contextmanager
def _columns_of(store: ResultsStore) -> Iterator[None]:
    """Call results damaged in which pandas does not find a column; other keys that are not found are bugs."""
    try:
        yield
    except KeyError as problem:
        *_, (innermost, _) = walk_tb(problem.__traceback__)
        if not innermost.f_globals["__name__"].startswith("pandas."):
            raise
        raise store.damaged(store.results, f"it lacks a column that is to be shown ({problem.args[0]})") from problem


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


def page(folder: Path, out: Path, figures: Path | None, scale: Scale = QUICK) -> Iterator[str]:
    """The page, line by line; figures are drawn on the way if a folder for them is given.

    `scale` is for advice on what to run where files do not say at which scale they were made.
    """
    stores = {name: ResultsStore(folder, name, scale).as_recorded() for name in EXPERIMENTS}
    finished = [one for one in EXPERIMENTS.values() if stores[one.name].results.exists()]
    if not finished:
        raise nothing_finished(folder, scale)
    # Before anything else is made of results: this refuses those that cannot be used.
    sections = {one.name: list(section(one, stores[one.name])) for one in finished}
    yield INTRODUCTION.format(folder=f"`{_from(out, folder)}`")
    yield "## What the paper says and what we find\n"
    yield from claims_table({one.name: stores[one.name].frame() for one in finished})
    for experiment in finished:
        repeats = f" ({experiment.paper} of the paper)" if experiment.paper else ""
        yield f"## {experiment.name}\n\n{experiment.title}{repeats}.\n"
        if figures is not None:
            for figure in experiment.figures(stores[experiment.name].frame()):
                yield f"![{experiment.title}]({_from(out, draw(figure, figures))})\n"
        yield from sections[experiment.name]


def _from(out: Path, target: Path) -> str:
    """A path as seen from the page."""
    return Path(os.path.relpath(target, out.parent)).as_posix()
