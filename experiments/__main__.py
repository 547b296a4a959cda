"""`python -m experiments`: list, run and show the experiments, and report on them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.main import main
from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FileError

if TYPE_CHECKING:
    from experiments.harness.cells import Scale
    from experiments.harness.experiment import Experiment
    from experiments.harness.runner import CellCounts, CellProgress

app = typer.Typer(
    name="python -m experiments",
    help="The paper's tables and figures and the questions it leaves open.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ALL = "all"
"""In place of the names of all experiments."""

Names = Annotated[list[str], typer.Argument(help="Experiments, or all; `python -m experiments list` shows them.")]
Full = Annotated[bool, typer.Option("--full", help="The paper's whole grid, 10 seeds.")]
Results = Annotated[Path | None, typer.Option(help="Folder of the results; results/quick or results/full by default.")]


@app.command(name="list")
def list_experiments(
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """Show what there is to run."""
    import json as json_text

    from rich.console import Console
    from rich.table import Table

    from experiments.harness.cells import FULL, QUICK
    from experiments.studies import EXPERIMENTS

    lines = [
        {
            "name": one.name,
            "paper": one.paper,
            "title": one.title,
            "cells": len(list(one.cells(QUICK))),
            "cells_full": len(list(one.cells(FULL))),
        }
        for one in EXPERIMENTS.values()
    ]
    if json:
        print(json_text.dumps(lines, indent=1))
        return
    table = Table("experiment", "in the paper", "what it measures", "cells", "with --full")
    for line in lines:
        table.add_row(*(str(value) for value in line.values()))
    Console(width=120).print(table)


@app.command()
def run(
    names: Names,
    full: Full = False,
    seeds: Annotated[
        int | None, typer.Option(help="Data sets per setting, instead of 2, or of 10 with --full.")
    ] = None,
    results: Results = None,
    processes: Annotated[int | None, typer.Option(help="Worker processes; one per processor by default.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results first.")] = False,
) -> None:
    """Run experiments, or go on with what was interrupted; finished cells are never lost."""
    from experiments.harness.runner import run_cells
    from experiments.harness.store import ResultsStore
    from experiments.studies import EXPERIMENTS

    if processes is not None and processes < 1:
        raise ConfigError(f"processes must be at least 1, got {processes}")
    scale = _scale(full=full, seeds=seeds)
    folder = _folder(results, scale)
    anew: list[ResultsStore] = []
    for one in _chosen(names):
        store = ResultsStore(folder, one.name, scale)
        others = [ResultsStore(folder, name, scale).as_recorded() for name in EXPERIMENTS if name != one.name]
        if fresh or store.is_fresh:  # what was there before is of no use
            others = list(anew)
            anew.append(store)
        with progress_bar(f"{one.name}: starting") as bar:

            def say(progress: CellProgress, name: str = one.name) -> None:
                bar.say(f"{name}: {progress.done} of {progress.total} cells, {_left(progress)}")

            try:
                counts = run_cells(
                    list(one.cells(scale)),
                    store,
                    others=others,
                    fresh=fresh,
                    processes=processes,
                    progress=say,
                    warn=_warn,
                )
            except KeyboardInterrupt:
                again = f"run {one.name} again without --fresh" if fresh else "run the same command again"
                print(f"finished cells are kept; {again} to go on", file=sys.stderr)
                raise
        _tell(one.name, store.results, counts)


@app.command()
def show(names: Names, full: Full = False, results: Results = None) -> None:
    """Show what experiments found, as tables in Markdown."""
    from experiments.harness.store import ResultsStore
    from experiments.pages.results_page import lack, nothing_finished, section

    scale, chosen = _scale(full=full), _chosen(names)
    folder = _folder(results, scale)
    stores = {one.name: ResultsStore(folder, one.name, scale).as_recorded() for one in chosen}
    if ALL in names:
        lacks = {one.name: lack(one, stores[one.name]) for one in chosen}
        chosen = [one for one in chosen if not lacks[one.name]]
        if not chosen:
            raise nothing_finished(folder, scale)
        for name, problem in lacks.items():
            if problem:
                print(f"{name} is not shown: {problem}", file=sys.stderr)
    for one in chosen:
        lines = list(section(one, stores[one.name]))
        print(f"## {one.name}: {one.title}\n")
        for line in lines:
            print(line)


@app.command()
def forget(
    method: Annotated[str, typer.Argument(help="A method that has changed.")],
    full: Full = False,
    results: Results = None,
) -> None:
    """Drop what was measured with a method, in every finished experiment; the next run measures just that anew."""
    from experiments.harness.store import ResultsStore
    from experiments.studies import EXPERIMENTS
    from fedrcd.methods.registry import find

    name, scale = find(method).name, _scale(full=full)
    folder = _folder(results, scale)
    tasks = {ResultsStore(folder, one.name, scale).as_recorded(): one.tasks_with(name) for one in EXPERIMENTS.values()}
    for store, affected in tasks.items():
        if affected:
            store.require_finished()  # its journal would bring the cells back
    stores = [store for store in tasks if store.results.exists()]
    if not stores:
        raise FileError(f"there are no finished results in {folder}; choose another folder with --results")
    for store in stores:
        store.tables()  # all are readable, or none is changed
    dropped = {store.name: store.forget(name, tasks[store]) for store in stores}
    for experiment_name, number in dropped.items():
        if number:
            print(f"{experiment_name}: {number} cells of {name} dropped; run it again to measure them")
    if not any(dropped.values()):
        print(f"no experiment in {folder} has cells of {name}")


@app.command()
def report(
    full: Full = False,
    results: Results = None,
    out: Annotated[Path | None, typer.Option(help="Page to write; results.md in the folder by default.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for the figures; `figures` beside the page by default.")
    ] = None,
) -> None:
    """Write a page of all finished results, the paper's figures beside ours, with figures."""
    from experiments.pages.results_page import page

    scale = _scale(full=full)
    folder = _folder(results, scale)
    target = out or folder / "results.md"
    with progress_bar("drawing"):
        text = "\n".join(page(folder, target, figures or target.parent / "figures", scale))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    except OSError as problem:
        raise FileError(f"cannot write {target}: {problem.strerror}") from None
    print(f"wrote {target}")


def _chosen(names: list[str]) -> list[Experiment]:
    """The experiments named, each once."""
    from experiments.studies import EXPERIMENTS, find_experiment

    named = [find_experiment(name) for name in dict.fromkeys(names) if name != ALL]
    return list(EXPERIMENTS.values()) if ALL in names else named


def _scale(*, full: bool, seeds: int | None = None) -> Scale:
    from experiments.harness.cells import FULL, QUICK, Scale

    if seeds is not None and seeds < 1:
        raise ConfigError(f"seeds must be at least 1, got {seeds}")
    return Scale(full=full, seeds=seeds or (FULL if full else QUICK).seeds)


def _folder(results: Path | None, scale: Scale) -> Path:
    from experiments.harness.run_command import usual_folder

    return results or usual_folder(scale)


def _left(progress: CellProgress) -> str:
    """The time that remains, for people."""
    if progress.remaining is None:
        return "no estimate yet"
    minutes, seconds = divmod(round(progress.remaining), 60)
    return f"about {minutes} min left" if minutes else f"about {seconds} s left"


def _warn(line: str) -> None:
    print(line, file=sys.stderr)


def _tell(name: str, path: Path, counts: CellCounts) -> None:
    """Say what a run did."""
    parts = [f"{counts.measured} cells measured"]
    if counts.found:
        parts.append(f"{counts.found} found done")
    if counts.taken_over:
        parts.append(f"{counts.taken_over} taken over from other experiments")
    print(f"{name}: {', '.join(parts)}; results in {path}")
    for package, number in counts.left_out.items():
        print(
            f"{name}: {number} cells left out, they need the package {package} (`make setup-reference`)",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main(app)
