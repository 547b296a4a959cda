"""Reports and comparisons as a user asks for them."""

import json
import os
import pty
import subprocess
import sys

import pytest

import fedrcd
from fedrcd.cli.bootstrap import as_dict
from fedrcd.data.examples import example_paths
from tests.cli.commands import entered, last_line
from tests.report import results


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Results of two methods, and a page of the second."""
    folder = tmp_path_factory.mktemp("written")
    results.hospitals().to_json(folder / "one.json")
    outs = ["--out", folder / "two.json", "--out", folder / "two.svg", "--report", folder / "two.html"]
    done = entered("discover", *example_paths(), "--method", "fedrcd-x", *outs)
    assert done.returncode == 0, done.stderr
    assert f"written: {folder / 'two.html'}" in done.stdout
    return folder


def test_a_report_comes_with_the_order_of_standardised_data(written):
    assert "<title>Causal graph of 8 variables, fedrcd-x</title>" in (written / "two.html").read_text(encoding="utf-8")
    assert json.loads((written / "two.json").read_text())["standardised_order"]
    assert (written / "two.svg").read_text().startswith("<svg")


def test_a_saved_result_has_the_page_that_its_run_wrote(written):
    done = entered("report", written / "two.json", "--out", written / "again.html")
    assert (done.returncode, done.stdout) == (0, f"written: {written / 'again.html'}\n")
    assert (written / "again.html").read_text() == (written / "two.html").read_text()


def test_the_folder_of_a_run_has_intervals_and_checks_on_its_page(tmp_path):
    found = fedrcd.bootstrap(example_paths(), n_sampling=20, random_state=1)
    found.discovery.to_json(tmp_path / "discovery.json")
    (tmp_path / "bootstrap.json").write_text(json.dumps(as_dict(found, 0.95)))
    (tmp_path / "checks.json").write_text(json.dumps(fedrcd.check(example_paths()).to_dict()))
    units = example_paths()[0].with_name("federation.toml")
    for given in (tmp_path, tmp_path / "bootstrap.json"):
        done = entered("report", given, "--federation", units, "--out", tmp_path / "page.html")
        assert done.returncode == 0, done.stderr
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        for words in ("from 20 replicates of the bootstrap", "Checks of the assumptions", "mg/dL per kg/m²"):
            assert words in page


@pytest.mark.parametrize(
    ("content", "reason"),
    [("[]", "it is not what fedrcd wrote"), ("{", "it is not what fedrcd wrote"), (None, "there is no discovery.json")],
)
def test_a_folder_that_is_no_run_is_refused(tmp_path, content, reason):
    if content:
        results.chain().to_json(tmp_path / "discovery.json")
        (tmp_path / "checks.json").write_text(content)
    done = entered("report", tmp_path, "--out", tmp_path / "page.html")
    assert done.returncode == 4
    assert reason in last_line(done)
    assert not (tmp_path / "page.html").exists()


def test_units_of_a_federation_file_reach_table_figure_and_page(tmp_path):
    entered("example", "hospitals", "--out", tmp_path)
    tables = sorted(tmp_path.glob("*.csv"))
    outs = ["--out", tmp_path / "r.json", "--out", tmp_path / "r.svg", "--report", tmp_path / "r.html"]
    done = entered("discover", *tables, "--federation", tmp_path / "federation.toml", *outs)
    assert done.returncode == 0, done.stderr
    assert "µmol/L per mmHg" in done.stdout
    assert json.loads((tmp_path / "r.json").read_text())["units"]["age"] == "years"
    assert "age (years)" in (tmp_path / "r.svg").read_text(encoding="utf-8")
    assert "µmol/L per mmHg" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_results_are_compared_as_text_json_and_page(written):
    done = entered("compare", written / "one.json", written / "two.json", "--report", written / "changes.html")
    assert done.stdout.startswith("one -> two: edges: 12 added")
    assert "What changed: one → two" in (written / "changes.html").read_text(encoding="utf-8")
    told = json.loads(entered("compare", written / "one.json", written / "two.json", "--json").stdout)
    assert sum(edge["change"] == "added" for edge in told["edges"]) == 12


BROKEN = {
    "newer.json": ('{"format": "fedrcd-discovery/3"}', "newer version of fedrcd"),
    "broken.json": ('{"format": "fedrcd-disc', "broken JSON in line 1"),
    "other.json": ("[]", "not a discovery"),
    "empty.json": ("", "broken JSON in line 1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_result_that_cannot_be_read_is_named_with_the_reason(written, tmp_path, name):
    text, reason = BROKEN[name]
    (tmp_path / name).write_text(text)
    done = entered("compare", written / "one.json", tmp_path / name)
    assert done.returncode == 4
    assert last_line(done).startswith(f"error: {tmp_path / name}: ")
    assert reason in last_line(done)


def test_a_page_must_end_in_html(written):
    for arguments in (["compare", written / "one.json", written / "two.json"], ["discover", *example_paths()]):
        done = entered(*arguments, "--report", "page.pdf")
        assert (done.returncode, last_line(done)) == (2, "error: --report page.pdf: the ending must be .html")


def test_an_unknown_example_is_answered_with_the_nearest(tmp_path):
    done = entered("example", "sachss", "--out", tmp_path)
    assert (done.returncode, "sachs" in last_line(done)) == (2, True)


def test_an_example_prints_a_command_that_works(tmp_path):
    done = entered("example", "vertical", "--out", "v", cwd=tmp_path)
    (step,) = [line.removeprefix("next: ") for line in done.stdout.splitlines() if line.startswith("next: ")]
    environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(step, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "v" / "report.html").exists()


BAR = """
import time
from fedrcd.report.progress_bar import progress_bar
with progress_bar("adding [sums]", after=0.05) as bar:
    time.sleep(1)
    bar.say("round 2", 0.5)
    time.sleep(0.5)
print("done")
"""


def test_a_terminal_shows_a_bar_that_goes_away():
    main, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    running = subprocess.Popen([sys.executable, "-c", BAR], stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    assert running.wait() == 0
    text = shown.decode()
    assert "adding [sums]" in text
    assert "round 2" in text
    assert "━" in text
    assert text.rstrip().endswith("done")
