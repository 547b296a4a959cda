"""Results survive kills, and files that are not what they should be are refused."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pyarrow.parquet as pq
import pytest
from experiments.harness.cells import FULL, QUICK, Cell, Scale
from experiments.harness.records import record
from experiments.harness.run_command import run_command
from experiments.harness.runner import elsewhere, run_cells
from experiments.harness.store import ResultsStore
from experiments.pages.ratios import ratios

from fedrcd.errors import ConfigError, FileError

KILLED_AT_HALF = """
import os, signal, sys
from pathlib import Path
from unittest.mock import patch
from tests.experiments.test_store import some_cells
from experiments.harness.runner import run_cells
from experiments.harness.store import ResultsStore
kept = []
def add(self, record, add=ResultsStore.add):
    add(self, record)
    kept.append(record)
    if len(kept) == 40:
        os.kill(os.getpid(), signal.SIGKILL)
ResultsStore.add = add
run_cells(some_cells(80), ResultsStore(Path(sys.argv[1]), "small"), processes=2)
"""


def some_cells(number, rows=400):
    return [
        Cell(ratios, {"skewness": 1.0, "rows": rows, "repetitions": 20 + 20 * (seed % 3), "seed": seed})
        for seed in range(number)
    ]


def finished(folder, cells, name="small"):
    """Results of cells, measured in this process."""
    store = ResultsStore(folder, name)
    store.begin(cells)
    for cell in cells:
        store.add(record(cell, cell.measure(), seconds=0.5))
    store.finish(cells, store.open(cells))
    return store


def way_out(store):
    """How a message ends about a file that cannot be used, where the folder has a name without blanks."""
    seeds = f" --seeds {store.scale.seeds}" if store.scale != QUICK else ""
    return f"start over with `python -m experiments run small{seeds} --results {store.folder} --fresh`$"


def test_a_killed_run_goes_on_and_gives_the_identical_file(tmp_path):
    command = [sys.executable, "-c", KILLED_AT_HALF, str(tmp_path / "killed")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    journal = tmp_path / "killed" / "small.unfinished.jsonl"
    assert journal.read_bytes().count(b"\n") == 1 + 40  # the settings, then a line a cell
    assert not (tmp_path / "killed" / "small.parquet").exists()
    outcome = run_cells(some_cells(80), ResultsStore(tmp_path / "killed", "small"), processes=2)
    assert (outcome.found, outcome.measured) == (40, 40)
    assert not journal.exists()
    whole = finished(tmp_path / "whole", some_cells(80))
    assert (tmp_path / "killed" / "small.parquet").read_bytes() == whole.results.read_bytes()


def test_results_are_tidy_and_say_what_they_were_made_with(tmp_path):
    frame = finished(tmp_path, some_cells(2)).frame()
    assert len(frame) == 6
    assert {"task", "seed", "rows", "coefficient", "robust", "seconds", "fedrcd", "numpy", "machine"} <= set(frame)
    plain = pd.read_parquet(tmp_path / "small.parquet")
    assert "seconds" not in plain
    assert sorted(plain["seed"].unique()) == [0, 1]


def test_finished_results_are_not_measured_again(tmp_path):
    store = finished(tmp_path, some_cells(3))
    before = store.results.read_bytes()
    outcome = run_cells(some_cells(3), store)
    assert (outcome.found, outcome.measured) == (3, 0)
    assert store.results.read_bytes() == before


def test_cells_of_other_experiments_are_taken_over(tmp_path):
    finished(tmp_path, some_cells(3), name="other")
    outcome = run_cells(some_cells(2), ResultsStore(tmp_path, "small"), others=[ResultsStore(tmp_path, "other")])
    assert (outcome.taken_over, outcome.measured) == (2, 0)
    alone = finished(tmp_path / "alone", some_cells(2))
    assert (tmp_path / "small.parquet").read_bytes() == alone.results.read_bytes()


def test_cells_of_unfinished_runs_are_taken_over_and_their_journal_is_left_alone(tmp_path):
    cells, running = some_cells(3), ResultsStore(tmp_path, "running")
    running.begin(cells)
    running.add(record(cells[0], cells[0].measure(), seconds=0.1))
    with running.journal.open("a") as file:
        file.write("half a li")
    outcome = run_cells(cells[:1], ResultsStore(tmp_path, "small"), others=[running])
    assert (outcome.taken_over, outcome.measured) == (1, 0)
    assert running.journal.read_text().endswith("half a li")


@pytest.mark.parametrize("which", ["results", "times", "journal"])
def test_an_unreadable_file_of_another_experiment_is_skipped_with_a_line(tmp_path, which):
    spoiled, good = finished(tmp_path, some_cells(2), name="spoiled"), finished(tmp_path, some_cells(1), name="good")
    getattr(spoiled, which).write_bytes(b"something else\n")
    said = []
    found = elsewhere([spoiled, good], some_cells(2), said.append)
    assert len(said) == 1
    assert f"skipped: {getattr(spoiled, which)} is damaged" in said[0]
    assert len(found) == (2 if which == "journal" else 1)


def test_a_journal_line_without_rows_is_refused(tmp_path):
    store, cells = ResultsStore(tmp_path, "small"), some_cells(2)
    store.begin(cells)
    with store.journal.open("a") as file:
        file.write(json.dumps({"cell": cells[0].key}) + "\n")
    with pytest.raises(FileError, match="damaged"):
        store.open(cells)


def test_a_fresh_run_that_cannot_start_forgets_nothing(tmp_path):
    cells, store = some_cells(2), finished(tmp_path, some_cells(2))
    store.begin(cells)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with store.claimed(), pytest.raises(ConfigError, match="another run of small is under way"):
        run_cells(cells, ResultsStore(tmp_path, "small"), fresh=True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_two_runs_at_once_are_refused(tmp_path):
    store, cells = ResultsStore(tmp_path, "small"), some_cells(2)
    store.begin(cells)
    with store.claimed(), pytest.raises(ConfigError, match="another run of small is under way"):
        run_cells(cells, ResultsStore(tmp_path, "small"))
    assert run_cells(cells, store, processes=1).measured == 2


def test_a_torn_last_line_is_cut_off(tmp_path):
    store, cells = ResultsStore(tmp_path, "small"), some_cells(3)
    store.begin(cells)
    store.add(record(cells[0], cells[0].measure(), seconds=0.1))
    with store.journal.open("a") as file:
        file.write('{"cell": "abc", "ro')
    assert list(store.open(cells)) == [cells[0].key]
    store.add(record(cells[1], cells[1].measure(), seconds=0.1))
    assert len(store.open(cells)) == 2


def test_other_settings_are_refused_with_a_way_out(tmp_path):
    store = finished(tmp_path, some_cells(2))
    wanted = ResultsStore(tmp_path, "small", Scale(seeds=3))
    with pytest.raises(ConfigError, match=r"\(the small grid, 2 seeds\) than those wanted \(the small grid, 3 seeds\)"):
        wanted.open(some_cells(3))
    with pytest.raises(ConfigError, match=f"other folder with --results, or {way_out(wanted)}"):
        wanted.open(some_cells(3))
    assert wanted.as_recorded() == store


@pytest.mark.parametrize("which", ["results", "journal"])
def test_other_cells_of_the_same_settings_are_told_from_other_settings(tmp_path, which):
    store = finished(tmp_path, some_cells(2))
    if which == "journal":
        store.clear()
        store.begin(some_cells(2))
    words = "holds other cells than small has .*another experiment's file, or small has changed since"
    with pytest.raises(ConfigError, match=f"{getattr(store, which)} {words}.*{way_out(store)}"):
        store.open(some_cells(2, rows=401))


@pytest.mark.parametrize("spoil", [b"", b"PAR1 and then something else", b"{}"])
@pytest.mark.parametrize("which", ["results", "times"])
def test_damaged_results_are_refused_with_a_way_out(tmp_path, spoil, which):
    store = finished(tmp_path, some_cells(2))
    getattr(store, which).write_bytes(spoil)
    with pytest.raises(FileError, match=f"damaged.*{way_out(store)}"):
        store.open(some_cells(2))
    with pytest.raises(FileError, match="damaged"):
        store.frame()


def test_parquet_files_that_we_did_not_write_are_refused(tmp_path):
    store = finished(tmp_path, some_cells(2))
    pd.DataFrame({"cell": ["a"]}).to_parquet(store.results)
    with pytest.raises(FileError, match="does not say how it was made"):
        store.open(some_cells(2))


def rewrite(store, header=None, without=()):
    """Results and times with another header, or without some columns."""
    for path in (store.results, store.times):
        table = pq.read_table(path)
        table = table.drop_columns([name for name in without if name in table.column_names])
        if header is not None:
            table = table.replace_schema_metadata({"fedrcd": header})
        pq.write_table(table, path)


WHOLE = {"fingerprint": "abc", "scale": "the small grid, 2 seeds", "cells": 2, "left_out": {}}


@pytest.mark.parametrize(
    "header",
    [[], "text", 3, {}, *({**WHOLE, **change} for change in ({"scale": "much"}, {"cells": "2"}, {"left_out": ["a"]}))],
)
def test_a_header_of_another_form_is_damage(tmp_path, header):
    store = finished(tmp_path, some_cells(2))
    rewrite(store, json.dumps(header))
    for use in (store.frame, store.lack, lambda: store.open(some_cells(2))):
        with pytest.raises(FileError, match=f"damaged: it does not say how it was made; .*{way_out(store)}"):
            use()


@pytest.mark.parametrize("column", ["cell", "task", "machine"])
def test_results_without_a_column_that_all_have_are_damaged(tmp_path, column):
    store = finished(tmp_path, some_cells(2))
    rewrite(store, without=[column])
    with pytest.raises(FileError, match=f"damaged: it lacks the column {column}; .*{way_out(store)}"):
        store.frame()


def test_results_whose_cells_have_no_keys_are_damaged(tmp_path):
    store = finished(tmp_path, some_cells(2))
    table = pq.read_table(store.results)
    numbers = table.set_column(table.column_names.index("cell"), "cell", [[0] * len(table)])
    pq.write_table(numbers.replace_schema_metadata(table.schema.metadata), store.results)
    with pytest.raises(FileError, match="damaged: its column cell does not hold text"):
        store.frame()


def test_the_scale_is_taken_from_any_file_that_says_it(tmp_path):
    cells, made = some_cells(2), ResultsStore(tmp_path, "small", Scale(full=True, seeds=3))
    asked = ResultsStore(tmp_path, "small")
    assert asked.recorded is None
    assert asked.as_recorded() == asked
    made.begin(cells)
    assert asked.as_recorded() == made
    made.finish(cells, {cell.key: record(cell, cell.measure(), seconds=0.1) for cell in cells})
    assert asked.as_recorded() == made
    made.results.write_bytes(b"spoiled")
    assert asked.as_recorded() == made


@pytest.mark.parametrize(
    ("folder", "scale", "options"),
    [
        ("results/quick", QUICK, []),
        ("results/full", FULL, ["--full"]),
        ("results/full", QUICK, ["--results", "results/full"]),
        ("results/quick", Scale(full=True), ["--full", "--seeds", "2", "--results", "results/quick"]),
        ("it's mine", Scale(seeds=10), ["--seeds", "10", "--results", "it's mine"]),
    ],
)
def test_a_command_says_what_is_not_usual_in_the_words_of_a_shell(folder, scale, options):
    typed = run_command("small", Path(folder), scale)
    assert shlex.split(typed.strip("`")) == ["python", "-m", "experiments", "run", "small", *options]
    assert run_command("small", Path(folder), scale, fresh=True) == f"{typed[:-1]} --fresh`"


@pytest.mark.parametrize("scale", [QUICK, FULL, Scale(seeds=1), Scale(full=True, seeds=12)])
def test_a_scale_is_read_back_from_its_words(scale):
    assert Scale.parse(scale.words) == scale


@pytest.mark.parametrize("line", ["nonsense\n", json.dumps(["a", "list"]) + "\n", "{}\n"])
def test_a_damaged_journal_is_refused(tmp_path, line):
    store, cells = ResultsStore(tmp_path, "small"), some_cells(2)
    store.begin(cells)
    with store.journal.open("a") as file:
        file.write(line)
    with pytest.raises(FileError, match="damaged"):
        store.open(cells)


def test_a_fresh_start_forgets_everything(tmp_path):
    store = finished(tmp_path, some_cells(2))
    store.clear()
    assert store.open(some_cells(5)) == {}
    assert list(tmp_path.iterdir()) == []


def measured_with(**settings):
    """A stand-in for tasks that measure methods."""
    return [{"accuracy": float(len(settings))}]


def cells_with_methods():
    methods = ("fedishc", "fedishc[coefficient=corrected]", "fedishc-tau4", "fedrcd-x")
    return [Cell(measured_with, {"method": method, "seed": 0}) for method in methods]


def test_a_method_is_forgotten_with_its_variants(tmp_path):
    store = finished(tmp_path, cells_with_methods())
    assert store.forget("fedishc", {"measured_with"}) == 2
    assert sorted(store.open(cells_with_methods())) == sorted(cell.key for cell in cells_with_methods()[2:])
    assert store.forget("fedishc", {"measured_with"}) == 0


def test_tasks_that_run_parts_of_a_method_are_forgotten_with_it(tmp_path):
    store = finished(tmp_path, [*cells_with_methods(), *some_cells(2)])
    assert store.forget("fedrcd-x", {"measured_with"}) == 1
    assert store.forget("fedrcd-x", {"measured_with", "ratios"}) == 2
    alone = finished(tmp_path, some_cells(2), name="alone")
    assert alone.forget("fedrcd-x", {"ratios"}) == 2


def die_after(self, target, replace=Path.replace):
    """Stands for a kill right after a file took its place."""
    replace(self, target)
    raise KeyboardInterrupt


def test_forgetting_that_is_killed_between_its_files_leaves_both_readable(tmp_path):
    cells = cells_with_methods()
    store = finished(tmp_path, cells)
    times = store.times.read_bytes()
    with patch.object(Path, "replace", die_after), pytest.raises(KeyboardInterrupt):
        store.forget("fedrcd-x", ())
    assert store.times.read_bytes() == times
    assert sorted(store.open(cells)) == sorted(cell.key for cell in cells[:-1])
    assert store.forget("fedishc-tau4", ()) == 1
    assert len(store.open(cells)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.parquet", "small.seconds.parquet"]


def test_a_run_that_is_killed_between_its_files_goes_on(tmp_path):
    with patch.object(Path, "replace", die_after), pytest.raises(KeyboardInterrupt):
        finished(tmp_path, some_cells(2))
    store = ResultsStore(tmp_path, "small")
    outcome = run_cells(some_cells(2), store)
    assert (outcome.found, outcome.measured) == (2, 0)
    assert list(store.frame()["seconds"]) == [0.5] * 6
    assert not store.journal.exists()


def test_results_that_lack_cells_are_refused_until_they_are_measured(tmp_path):
    store, cells = ResultsStore(tmp_path, "small"), cells_with_methods()
    finished(tmp_path, cells)
    store.forget("fedishc", ())
    with pytest.raises(
        FileError, match=f"2 cells are missing .*run `python -m experiments run small --results {tmp_path}`"
    ):
        store.frame()
    run_cells(cells, store, processes=1)
    assert len(store.frame()) == 4


def test_cells_whose_package_is_missing_are_left_out_and_said_so(tmp_path):
    lame = Cell(ratios, {**some_cells(1)[0].settings, "seed": 99}, "no_such_package")
    store = ResultsStore(tmp_path, "small")
    outcome = run_cells([*some_cells(1), lame], store, processes=1)
    assert outcome.left_out == store.left_out == {"no_such_package": 1}
    assert set(store.frame()["seed"]) == {0}
