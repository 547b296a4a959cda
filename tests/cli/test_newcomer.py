"""The first quarter of an hour of somebody with three files: from an empty folder to a report."""

import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fedrcd.data.examples import example_paths
from tests.cli.commands import entered

MOST_COMMANDS, MOST_LINES = 4, 80


@pytest.fixture
def folder(tmp_path):
    """Three files as hospitals export them: an identifier, a date, a text column, a unit in a name, gaps."""
    rng = np.random.default_rng(0)
    for path in example_paths():
        rows = pd.read_csv(path)
        n = len(rows)
        rows.insert(0, "patient_id", [f"P{k:05d}" for k in range(n)])
        rows.insert(1, "visit", pd.date_range("2026-01-01", periods=n, freq="h").strftime("%Y-%m-%d"))
        rows["remark"] = rng.choice(["as usual", "see letter", ""], n)
        rows.loc[rng.choice(n, 20, replace=False), "glucose"] = np.nan
        rows.rename(columns={"glucose": "glucose (mg/dL)"}).to_csv(tmp_path / path.name, index=False)
    return tmp_path


def test_three_files_come_to_a_report_and_no_command_fails(folder):
    files = sorted(path.name for path in folder.glob("*.csv"))
    lines = []

    def typed(*words):
        done = entered(*words, cwd=folder)
        assert done.returncode == 0, done.stderr
        lines.append((done.stdout + done.stderr).splitlines())
        return done

    looked = typed("frame", "propose", files[0])
    advice = re.search(r"^next: fedrcd discover .*?(--drop .*)$", looked.stderr, re.MULTILINE)[1]
    typed("discover", *files, *shlex.split(advice), "--out", "result.json")
    typed("report", "result.json")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "glucose (mg/dL)" in page
    assert "Rows left out" in page
    assert len(lines) <= MOST_COMMANDS
    assert sum(map(len, lines)) <= MOST_LINES, list(map(len, lines))


def test_who_begins_with_discover_is_told_everything_at_once(folder):
    """One message names all columns, and what it says to type works."""
    files = sorted(path.name for path in folder.glob("*.csv"))
    refused = entered("discover", *files, cwd=folder)
    assert refused.returncode == 3
    (message,) = refused.stderr.splitlines()
    assert "columns 'patient_id', 'remark': text; column 'visit': dates" in message
    advice = message.partition("leave them out: ")[2]
    assert entered("discover", *files, *shlex.split(advice), "--report", "page.html", cwd=folder).returncode == 0


def test_a_column_that_is_constant_at_one_site_only_is_named_with_the_others(folder):
    path = folder / "hospital_c.csv"
    rows = pd.read_csv(path)
    rows.assign(crp=1.0).to_csv(path, index=False)
    files = sorted(one.name for one in folder.glob("*.csv"))
    assert "column 'crp': one value; leave them out:" in entered("discover", *files, cwd=folder).stderr


def test_notes_stand_out_from_the_table(folder):
    said = entered("discover", *example_paths(), "--method", "fedrcd-x").stdout.splitlines()
    notes = [k for k, line in enumerate(said) if line.startswith("NOTE  ")]
    assert notes
    assert all(said[k - 1] == "" for k in notes)


def test_the_walk_needs_no_python(folder):
    """In a process of its own, as it is typed."""
    files = sorted(path.name for path in folder.glob("*.csv"))
    drop = ["--drop", "patient_id", "--drop", "visit", "--drop", "remark"]
    command = [sys.executable, "-m", "fedrcd", "discover", *files, *drop, "--report", "report.html"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").exists()
