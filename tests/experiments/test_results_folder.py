"""Several experiments in one folder, as a user types it; small ones stand in for ours."""

import json
import re
import shlex
import shutil
import sys

import pyarrow.parquet as pq
import pytest
from experiments.__main__ import app, main
from experiments.harness import parallel, runner
from experiments.harness.cells import Scale
from experiments.harness.experiment import Experiment
from experiments.harness.store import ResultsStore
from experiments.pages import results_page

from experiments import studies
from tests.experiments.test_store import finished, some_cells

SIZES = {"small": 2, "larger": 3}


def text(frame):
    yield f"seeds {sorted(set(frame['seed']))}, {frame['robust'].count()} rows"


@pytest.fixture(autouse=True)
def small_experiments(monkeypatch):
    """Two experiments; all cells of the first are cells of the second. They are too small for a second worker."""
    for module in (parallel, runner):
        monkeypatch.setattr(module, "available_threads", lambda: 1)
    known = {
        name: Experiment(name=name, title=name, cells=lambda _, size=size: some_cells(size), text=text)
        for name, size in SIZES.items()
    }
    for module in (studies, results_page):
        monkeypatch.setattr(module, "EXPERIMENTS", known)


@pytest.fixture
def fedrcd(monkeypatch, capsys, tmp_path):
    """Run a command on the folder: the exit code, and what it said on stdout and stderr."""

    def run(*arguments):
        return typed(["python -m experiments", *arguments, "--results", str(tmp_path)], monkeypatch, capsys)

    return run


def typed(words, monkeypatch, capsys):
    """Run a command: the exit code, and what it said on stdout and stderr."""
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main(app)
    return end.value.code or 0, *capsys.readouterr()


def advice(said):
    """The last command that the last line advises."""
    return re.findall("`([^`]*)`", said.splitlines()[-1])[-1]


def arguments_of(command):
    """What follows `python -m experiments` in a command."""
    assert command.startswith("python -m experiments ")
    return shlex.split(command)[3:]


def rename(folder, old, new):
    """Give the results of an experiment the name of another."""
    for ending in (".parquet", ".seconds.parquet"):
        shutil.copy(folder / f"{old}{ending}", folder / f"{new}{ending}")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_of_no_experiment_are_not_looked_at(fedrcd, tmp_path):
    (tmp_path / "mine.parquet").write_text("not ours")
    (tmp_path / "mine.unfinished.jsonl").write_text("not ours")
    code, out, err = fedrcd("run", "small")
    assert code == 0
    assert "mine" not in err
    assert "2 cells measured" in out


def test_a_damaged_experiment_stops_no_other_and_the_line_says_how_to_mend_it(fedrcd, tmp_path):
    fedrcd("run", "small", "larger")
    (tmp_path / "larger.parquet").write_text("spoiled")
    ResultsStore(tmp_path, "small").clear()
    code, out, err = fedrcd("run", "small")
    assert code == 0
    assert "2 cells measured" in out
    (line,) = [line for line in err.splitlines() if line.startswith("skipped: ")]
    assert "larger.parquet is damaged" in line
    assert f"`python -m experiments run larger --results {tmp_path} --fresh`" in line
    assert fedrcd("run", "larger", "--fresh")[0] == 0
    assert fedrcd("show", "larger")[0] == 0


@pytest.mark.parametrize("command", [("show", "small"), ("report",)])
def test_commands_that_cannot_start_over_name_the_one_that_can(fedrcd, tmp_path, command):
    fedrcd("run", "small")
    (tmp_path / "small.parquet").write_text("spoiled")
    code, _, err = fedrcd(*command)
    assert code == 4
    assert err.endswith(f"or start over with `python -m experiments run small --results {tmp_path} --fresh`\n")


COMMANDS = [
    ("show", "small"),
    ("report",),
    ("show", "all"),
    ("forget", "fedhc"),
    ("run", "small", "--full", "--seeds", "3"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_way_out_of_damage_works_as_printed(monkeypatch, capsys, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my results"

    def fedrcd(*words):
        return typed(["python -m experiments", *words], monkeypatch, capsys)

    fedrcd("run", "small")
    usual = contents(tmp_path / "results" / "quick")
    fedrcd("run", "small", "--full", "--seeds", "3", "--results", "my results")
    whole = contents(folder)
    (folder / "small.parquet").write_bytes(whole["small.parquet"][:-100])
    code, _, err = fedrcd(*command, "--results", "my results")
    assert code == 4
    assert advice(err) == "python -m experiments run small --full --seeds 3 --results 'my results' --fresh"
    assert fedrcd(*arguments_of(advice(err)))[0] == 0
    assert contents(folder)["small.parquet"] == whole["small.parquet"]
    assert contents(tmp_path / "results" / "quick") == usual


@pytest.mark.parametrize("full", [(), ("--full",)])
def test_where_nothing_is_finished_the_command_says_scale_and_folder(monkeypatch, capsys, tmp_path, full):
    monkeypatch.chdir(tmp_path)
    options = "".join(f" {word}" for word in full)
    for folder in ((), ("--results", "mine")):
        ending = "".join(f" {word}" for word in folder)
        for command, name in ((("show", "small"), "small"), (("show", "all"), "all"), (("report",), "all")):
            code, _, err = typed(["python -m experiments", *command, *full, *folder], monkeypatch, capsys)
            assert code == 4
            assert err.endswith(f"; run `python -m experiments run {name}{options}{ending}` first\n")


@pytest.mark.parametrize(
    ("command", "name"), [(("show", "small"), "small"), (("show", "all"), "all"), (("report",), "all")]
)
def test_what_was_begun_is_to_be_finished_at_its_scale(fedrcd, tmp_path, command, name):
    ResultsStore(tmp_path, "small", Scale(seeds=5)).begin(some_cells(2))
    assert advice(fedrcd(*command)[2]) == f"python -m experiments run {name} --seeds 5 --results {tmp_path}"


@pytest.mark.parametrize("command", [("show", "small"), ("show", "all"), ("report",)])
@pytest.mark.parametrize("kept", ["all", "some"])
def test_results_of_another_experiment_are_not_shown_under_this_name(fedrcd, tmp_path, command, kept):
    fedrcd("run", "larger")
    if kept == "some":
        ResultsStore(tmp_path, "larger").forget("any", {"ratios"})
    rename(tmp_path, "larger", "small")
    code, out, err = fedrcd(*command)
    assert (code, out) == (4, "")
    assert f"{tmp_path / 'small.parquet'} holds the results of larger, not of small; restore it, or start over" in err
    assert fedrcd(*arguments_of(advice(err)))[0] == 0
    assert "seeds [0, 1]" in fedrcd("show", "small")[1]


def test_results_of_no_cell_of_an_experiment_are_not_shown(fedrcd, tmp_path):
    finished(tmp_path, some_cells(2, rows=401), name="small")
    code, _, err = fedrcd("show", "small")
    assert code == 4
    assert "small.parquet holds none of the cells of small (the small grid, 2 seeds): it is another experiment's" in err
    assert advice(err) == f"python -m experiments run small --results {tmp_path} --fresh"


def test_results_of_an_experiment_that_has_changed_since_can_be_shown(fedrcd, tmp_path):
    finished(tmp_path, [*some_cells(1), *some_cells(1, rows=401)], name="small")
    code, out, _ = fedrcd("show", "small")
    assert code == 0
    assert "seeds [0]" in out


def test_a_run_over_the_file_of_another_experiment_says_that_cells_differ(fedrcd, tmp_path):
    fedrcd("run", "larger")
    rename(tmp_path, "larger", "small")
    code, _, err = fedrcd("run", "small")
    assert code == 2
    assert "small.parquet holds other cells than small has (the small grid, 2 seeds): it is another experiment's" in err
    assert advice(err) == f"python -m experiments run small --results {tmp_path} --fresh"


def without(path, column):
    """Take a column out of a file."""
    pq.write_table(pq.read_table(path).drop_columns([column]), path)


@pytest.mark.parametrize("command", [("show", "small"), ("report",)])
@pytest.mark.parametrize(
    ("column", "words"),
    [("skewness", "it lacks the column skewness"), ("robust", "it lacks a column that is to be shown (robust)")],
)
def test_results_without_a_column_are_damaged(fedrcd, tmp_path, command, column, words):
    fedrcd("run", "small")
    without(tmp_path / "small.parquet", column)
    code, _, err = fedrcd(*command)
    assert code == 4
    assert err.splitlines()[-1].startswith(f"error: {tmp_path / 'small.parquet'} is damaged: {words}; restore it, or ")
    assert advice(err) == f"python -m experiments run small --results {tmp_path} --fresh"


def test_a_text_that_does_not_find_its_own_key_is_a_bug_and_no_damage(tmp_path):
    def wrong(frame):
        yield {}[len(frame)]

    small = Experiment(name="small", title="", cells=lambda _: some_cells(2), text=wrong)
    with pytest.raises(KeyError):
        list(results_page.section(small, finished(tmp_path, some_cells(2))))


@pytest.mark.parametrize("command", [("show", "small"), ("report",), ("run", "small")])
def test_a_header_of_another_form_is_damage(fedrcd, tmp_path, command):
    fedrcd("run", "small")
    path = tmp_path / "small.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata({"fedrcd": json.dumps(["a", "list"])}), path)
    code, _, err = fedrcd(*command)
    assert code == 4
    assert "small.parquet is damaged: it does not say how it was made; restore it, or start over with" in err
    assert advice(err) == f"python -m experiments run small --results {tmp_path} --fresh"


@pytest.mark.parametrize("mistake", [("--processes", "0"), ("--seeds", "0"), ("larger", "smal")])
def test_a_mistake_beside_fresh_costs_no_results(fedrcd, tmp_path, mistake):
    fedrcd("run", "small")
    before = contents(tmp_path)
    assert fedrcd("run", "small", "--fresh", *mistake)[0] == 2
    assert contents(tmp_path) == before


def test_a_fresh_run_takes_nothing_over_from_earlier_results(fedrcd):
    fedrcd("run", "small", "larger")
    assert "larger: 3 cells measured; results" in fedrcd("run", "larger", "--fresh")[1]


def test_experiments_of_one_fresh_command_share_what_it_measures(fedrcd):
    fedrcd("run", "small", "larger")
    _, out, _ = fedrcd("run", "small", "larger", "--fresh")
    assert "small: 2 cells measured; results" in out
    assert "larger: 1 cells measured, 2 taken over from other experiments" in out


def test_going_on_with_a_fresh_run_takes_nothing_over_either(fedrcd, tmp_path):
    fedrcd("run", "larger")
    ResultsStore(tmp_path, "small").begin(some_cells(2), fresh=True)
    assert "small: 2 cells measured; results" in fedrcd("run", "small")[1]


def test_an_interrupted_fresh_run_says_how_to_go_on(fedrcd, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_cells", interrupted)
    assert "finished cells are kept; run small again without --fresh to go on" in fedrcd("run", "small", "--fresh")[2]


def test_all_shows_what_is_finished_and_says_what_is_not(fedrcd, tmp_path):
    code, _, err = fedrcd("show", "all")
    assert code == 4
    assert f"run `python -m experiments run all --results {tmp_path}` first" in err
    fedrcd("run", "larger")
    code, out, err = fedrcd("show", "all")
    assert code == 0
    assert "seeds [0, 1, 2]" in out
    assert "## small" not in out
    assert "small is not shown: there are no finished results" in err
    code, out, _ = fedrcd("show", "larger", "small")
    assert code == 4
    assert "## small" not in out


@pytest.mark.parametrize("command", [("show", "larger"), ("report",)])
def test_results_that_lack_cells_are_neither_shown_nor_reported(fedrcd, tmp_path, command):
    fedrcd("run", "small", "larger")
    assert ResultsStore(tmp_path, "larger").forget("any", {"ratios"}) == 3
    code, _, err = fedrcd(*command)
    assert code == 4
    assert "3 cells are missing from" in err
    assert err.endswith(f"run `python -m experiments run larger --results {tmp_path}` again\n")
    assert "larger is not shown: 3 cells are missing" in fedrcd("show", "all")[2]


def test_all_may_stand_beside_names(fedrcd):
    code, out, _ = fedrcd("run", "larger", "all")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == ["small", "larger"]
    code, _, err = fedrcd("run", "all", "smal")
    assert code == 2
    assert "there is no experiment 'smal'" in err


def test_an_experiment_that_is_named_twice_runs_once(fedrcd):
    assert fedrcd("run", "small", "small", "--fresh")[1].count("small: 2 cells measured") == 1
