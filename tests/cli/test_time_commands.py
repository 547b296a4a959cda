"""Commands over rows with a past: tables are simulated, discovered in, and checked against the federation file."""

import json

import pytest

from tests.cli.commands import entered


def run(*arguments):
    result = entered(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("simulated")
    run("simulate", "--lags", 1, "--subjects", 300, "--visits", 5, "--p", 3, "--sites", 2, "--degree", 1, "--out", out)
    return out


def test_simulated_panels_are_discovered_by_the_federation_file(folder, tmp_path):
    tables = [folder / "site_1.csv", folder / "site_2.csv"]
    out = tmp_path / "found.json"
    run("discover", *tables, "--federation", folder / "federation.toml", "--out", out)
    by_hand = tmp_path / "by_hand.json"
    run("discover", *tables, "--lags", 1, "--time", "visit", "--subject", "id", "--out", by_hand)
    found, other = (json.loads(path.read_text()) for path in (out, by_hand))
    truth = json.loads((folder / "truth.json").read_text())
    assert found["rows"] == other["rows"] == 2 * 300 * 4
    assert found["order"] == other["order"]
    names = found["names"]
    for edge in truth["lagged"]["1"]:
        assert found["lagged"]["1"][names.index(edge["effect"])][names.index(edge["cause"])] != 0


def test_what_a_past_costs_is_said_before_anything_is_asked(folder):
    told = " ".join(run("coverage", folder / "federation.toml").split())
    assert "3 variables become 6 columns" in told
    assert "rows are counted by subjects" in told
    how = ["--name", "site_1", "--federation", folder / "federation.toml", "--data", folder / "site_1.csv"]
    checked = run("site", "check", *how, "--state", folder / "state")
    assert "1,200 rows of 300 series have their past; 300 open a series" in checked
    assert "a subject has up to 4 rows" in checked


def test_what_a_simulation_over_time_has_not_is_refused(tmp_path):
    result = entered("simulate", "--lags", 1, "--partition", "vertical", "--out", tmp_path)
    assert result.returncode != 0
    assert "--lags goes with" in result.stderr


def test_the_report_shows_effects_by_lag_and_the_graph_over_time(folder, tmp_path):
    page = tmp_path / "report.html"
    how = ["--federation", folder / "federation.toml", "--report", page]
    run("discover", folder / "site_1.csv", folder / "site_2.csv", *how)
    text = page.read_text(encoding="utf-8")
    assert "Heat map of effects 1 steps later" in text
    assert "x1[t-1]" in text
