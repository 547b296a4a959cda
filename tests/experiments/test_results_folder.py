"""Several experiments in one folder, as a user types it; small ones stand in for ours."""

import sys

import pytest

from fedrcd.cli.main import main
from fedrcd.experiments import results_page, runner, studies
from fedrcd.experiments.cells import QUICK
from fedrcd.experiments.experiment import Experiment
from fedrcd.experiments.store import Store
from tests.experiments.test_store import some_cells

SIZES = {"small": 2, "larger": 3}


def text(frame):
    yield f"seeds {sorted(set(frame['seed']))}"


@pytest.fixture(autouse=True)
def small_experiments(monkeypatch):
    """Two experiments; all cells of the first are cells of the second."""
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
        monkeypatch.setattr(sys, "argv", ["fedrcd", "experiment", *arguments, "--results", str(tmp_path)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return run


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
    Store(tmp_path, "small").clear()
    code, out, err = fedrcd("run", "small")
    assert code == 0
    assert "2 cells measured" in out
    (line,) = [line for line in err.splitlines() if line.startswith("skipped: ")]
    assert "larger.parquet is damaged" in line
    assert "`fedrcd experiment run larger --fresh`" in line
    assert fedrcd("run", "larger", "--fresh")[0] == 0
    assert fedrcd("show", "larger")[0] == 0


@pytest.mark.parametrize("command", [("show", "small"), ("report",)])
def test_commands_that_cannot_start_over_name_the_one_that_can(fedrcd, tmp_path, command):
    fedrcd("run", "small")
    (tmp_path / "small.parquet").write_text("spoiled")
    code, _, err = fedrcd(*command)
    assert code == 4
    assert err.splitlines()[-1].endswith("or start over with `fedrcd experiment run small --fresh`")


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
    Store(tmp_path, "small").begin(some_cells(2), QUICK, fresh=True)
    assert "small: 2 cells measured; results" in fedrcd("run", "small")[1]


def test_an_interrupted_fresh_run_says_how_to_go_on(fedrcd, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_cells", interrupted)
    assert "finished cells are kept; run small again without --fresh to go on" in fedrcd("run", "small", "--fresh")[2]


def test_all_shows_what_is_finished_and_says_what_is_not(fedrcd, tmp_path):
    code, _, err = fedrcd("show", "all")
    assert code == 4
    assert "run `fedrcd experiment run all` first" in err
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
    assert Store(tmp_path, "larger").forget("any", {"ratios"}) == 3
    code, _, err = fedrcd(*command)
    assert code == 4
    assert "3 cells are missing from" in err
    assert err.endswith("run `fedrcd experiment run larger` again\n")
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
