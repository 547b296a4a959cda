"""`python -m experiments`, as a user types it."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from experiments.__main__ import app

from tests.cli.commands import entered, last_line

ROOT = Path(__file__).parents[2]
PAPERS = {"complexity", "noise", "ablation", "scalability", "invariance", "stratification", "per-noise", "bnlearn"}
OURS = {"sample-size", "when-scale-suffices", "coefficient", "site-effects", "contamination", "hidden", "privacy"}


def experiments(*arguments, cwd=None):
    """Type `python -m experiments` in a folder; what came of it."""
    return entered(*arguments, cwd=cwd, commands=app)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    done = experiments("run", "ablation", "--seeds", 1, "--processes", 1, "--results", folder)
    assert done.returncode == 0, done.stderr
    assert "99 cells measured" in done.stdout
    return folder


def test_all_experiments_are_listed():
    command = [sys.executable, "-m", "experiments", "list", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    assert {one["name"] for one in listed} == PAPERS | OURS
    assert all(one["paper"] for one in listed if one["name"] in PAPERS)
    assert all(0 < one["cells"] <= one["cells_full"] for one in listed)


def test_results_are_shown_beside_the_papers(ran):
    done = experiments("show", "ablation", "--results", ran)
    assert done.returncode == 0, done.stderr
    assert "| method | paper | ours | difference | data sets |" in done.stdout
    assert "0.802" in done.stdout


def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # jobs in the background ignore it
    start = f"{heed}; from experiments.__main__ import app, main; main(app)"
    command = [sys.executable, "-c", start, "run", "ablation"]
    running = subprocess.Popen([*command, "--results", str(tmp_path)], stderr=subprocess.PIPE, text=True, cwd=ROOT)
    journal = tmp_path / "ablation.unfinished.jsonl"
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") > 3):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=240)
    assert running.returncode == 130
    assert "finished cells are kept; run the same command again to go on" in said.splitlines()
    assert "Traceback" not in said
    assert journal.exists()


def test_a_second_run_measures_nothing(ran):
    done = experiments("run", "ablation", "--seeds", 1, "--results", ran)
    assert "0 cells measured, 99 found done" in done.stdout


def test_a_method_that_has_changed_is_measured_anew_and_nothing_else(ran, tmp_path):
    folder = shutil.copytree(ran, tmp_path / "copy")
    done = experiments("forget", "fedhc", "--results", folder)
    assert done.stdout == "ablation: 11 cells of fedhc dropped; run it again to measure them\n"
    assert (folder / "ablation.parquet").read_bytes() != (ran / "ablation.parquet").read_bytes()
    again = experiments("run", "ablation", "--seeds", 1, "--processes", 1, "--results", folder)
    assert "11 cells measured, 88 found done" in again.stdout
    assert (folder / "ablation.parquet").read_bytes() == (ran / "ablation.parquet").read_bytes()
    assert "no experiment" in experiments("forget", "fed-direct", "--results", folder).stdout


def test_a_method_is_forgotten_with_its_variants_and_with_what_runs_its_parts(ran, tmp_path):
    folder = shutil.copytree(ran, tmp_path / "copy")
    done = experiments("forget", "fedrcd-def", "--results", folder)
    assert done.stdout == "ablation: 33 cells of fedrcd-def dropped; run it again to measure them\n"
    frame = pd.read_parquet(folder / "ablation.parquet")
    assert "drift" not in set(frame["task"])
    assert not frame["method"].str.startswith("fedrcd-def").any()


@pytest.mark.parametrize("name", ["ablation", "noise"])
def test_nothing_is_forgotten_while_a_run_is_unfinished(ran, tmp_path, name):
    folder = shutil.copytree(ran, tmp_path / "copy")
    (folder / f"{name}.unfinished.jsonl").touch()
    done = experiments("forget", "fedhc", "--results", folder)
    assert done.returncode == 2
    command = f"python -m experiments run {name}{' --seeds 1' * (name == 'ablation')} --results {folder}"
    assert last_line(done).endswith(f"run it to the end first with `{command}`, or start over with `{command} --fresh`")
    assert (folder / "ablation.parquet").read_bytes() == (ran / "ablation.parquet").read_bytes()


def test_an_unfinished_run_without_the_method_is_no_reason_to_refuse(ran, tmp_path):
    folder = shutil.copytree(ran, tmp_path / "copy")
    (folder / "invariance.unfinished.jsonl").touch()
    assert "11 cells" in experiments("forget", "fedishc-tau4", "--results", folder).stdout


def test_nothing_is_forgotten_beside_a_damaged_file(ran, tmp_path):
    folder = shutil.copytree(ran, tmp_path / "copy")
    (folder / "stratification.parquet").touch()
    done = experiments("forget", "fedhc", "--results", folder)
    assert done.returncode == 4
    command = f"python -m experiments run stratification --results {folder} --fresh"
    assert last_line(done).endswith(f"or start over with `{command}`")
    assert (folder / "ablation.parquet").read_bytes() == (ran / "ablation.parquet").read_bytes()


def test_a_page_with_figures_is_written(ran, tmp_path):
    done = experiments("report", "--results", ran, "--out", tmp_path / "results.md")
    assert done.returncode == 0, done.stderr
    assert "figures/ablation.svg" in (tmp_path / "results.md").read_text()
    assert "AncAcc" in (tmp_path / "figures" / "ablation.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", "ablatoin"), 2, "did you mean 'ablation'?"),
        (("show", "everything"), 2, "the experiments are complexity, noise"),
        (("run", "ablation", "--seeds", 0), 2, "seeds must be at least 1"),
        (("run", "ablation", "--processes", 0), 2, "processes must be at least 1"),
        (
            ("show", "ablation", "--results", "nowhere"),
            4,
            "run `python -m experiments run ablation --results nowhere` first",
        ),
        (("forget", "fedrcd-y"), 2, "did you mean"),
        (("forget", "fedhc", "--results", "nowhere"), 4, "there are no finished results in nowhere"),
        (("report", "--results", "nowhere"), 4, "run `python -m experiments run all --results nowhere` first"),
    ],
)
def test_mistakes_are_answered_in_one_line(arguments, code, words, tmp_path):
    done = experiments(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert words in last_line(done)
    assert "Traceback" not in done.stderr


def test_other_settings_over_old_results_are_refused(ran):
    done = experiments("run", "ablation", "--seeds", 2, "--results", ran)
    assert done.returncode == 2
    assert "the small grid, 1 seed" in last_line(done)
    assert "--fresh" in last_line(done)


def test_damaged_results_are_refused(ran, tmp_path):
    (tmp_path / "ablation.parquet").write_bytes((ran / "ablation.parquet").read_bytes()[:-100])
    shutil.copy(ran / "ablation.seconds.parquet", tmp_path)
    for command in (("run", "ablation", "--seeds", 1), ("show", "ablation")):
        done = experiments(*command, "--results", tmp_path)
        assert done.returncode == 4
        assert "damaged" in last_line(done)
        assert f"`python -m experiments run ablation --seeds 1 --results {tmp_path} --fresh`" in last_line(done)


@pytest.mark.parametrize("command", [("show", "noise"), ("report",)])
def test_the_file_of_another_experiment_is_not_shown(ran, tmp_path, command):
    for ending in ("parquet", "seconds.parquet"):
        shutil.copy(ran / f"ablation.{ending}", tmp_path / f"noise.{ending}")
    done = experiments(*command, "--results", tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert last_line(done) == (
        f"error: {tmp_path / 'noise.parquet'} holds the results of ablation, not of noise; restore it, or start over "
        f"with `python -m experiments run noise --seeds 1 --results {tmp_path} --fresh`"
    )
