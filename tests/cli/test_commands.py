"""The commands as a user types them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

from fedrcd import Discovery
from fedrcd.cli.main import app
from fedrcd.data.examples import example_paths
from tests.cli.commands import entered, in_a_process, last_line


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    done = entered("simulate", "--out", folder, "--p", 6, "--rows", 400, "--sites", 3, "--seed", 7)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_example_is_discovered_and_written_in_every_format(tmp_path):
    assert entered("example", "hospitals", "--out", tmp_path).returncode == 0
    tables = sorted(tmp_path.glob("*.csv"))
    outs = [tmp_path / f"result{ending}" for ending in (".json", ".dot", ".gml")]
    done = entered("discover", *tables, *(part for out in outs for part in ("--out", out)))
    assert done.returncode == 0, done.stderr
    assert "order" in done.stdout
    assert set(Discovery.from_json(outs[0]).order) == set(pd.read_csv(tables[0]).columns)
    assert "->" in outs[1].read_text()
    assert "directed 1" in outs[2].read_text()


def test_json_output_is_a_discovery(simulated):
    done = entered("discover", *sorted(simulated.glob("*.csv")), "--method", "fedrcd-ni", "--json")
    found = Discovery.from_json(done.stdout)
    assert (found.method, found.rounds, found.rows, found.sites) == ("fedrcd-ni", 1, 1200, 3)


def test_simulated_tables_come_with_their_truth(simulated):
    truth = json.loads((simulated / "truth.json").read_text())
    table = pd.read_csv(simulated / "site_1.csv")
    assert list(table.columns) == truth["variables"]
    assert table.shape == (400, 6)
    assert {edge["cause"] for edge in truth["edges"]} <= set(truth["variables"])


def test_the_same_seed_simulates_the_same_bytes(simulated, tmp_path):
    entered("simulate", "--out", tmp_path, "--p", 6, "--rows", 400, "--sites", 3, "--seed", 7)
    assert (tmp_path / "site_2.csv").read_bytes() == (simulated / "site_2.csv").read_bytes()


def test_a_topology_is_simulated_with_its_names_as_parquet(tmp_path):
    done = entered("simulate", "--out", tmp_path, "--topology", "asia", "--rows", 50, "--sites", 1, "--parquet")
    assert done.returncode == 0, done.stderr
    assert "dysp" in pd.read_parquet(tmp_path / "site_1.parquet").columns


def test_methods_are_listed_for_people_and_for_programs():
    assert "fedrcd-x" in in_a_process("methods").stdout
    listed = json.loads(entered("methods", "--json").stdout)
    assert {"name", "rounds", "payload", "coverage", "scale_free", "erasable", "options"} <= set(listed[0])


def test_evaluate_prints_one_row_per_method_and_every_score_as_json():
    arguments = ["evaluate", "--methods", "fedrcd-ni,fedrcd-x", "--noise", "laplace,gamma", "--seeds", 1]
    arguments += ["--p", 5, "--sites", 2, "--rows", 300]
    shown = entered(*arguments)
    assert shown.returncode == 0, shown.stderr
    assert "fedrcd-ni" in shown.stdout
    assert "0.940 / 0.942" not in shown.stdout
    scores = json.loads(entered(*arguments, "--json").stdout)
    assert len(scores) == 4
    assert all(0 <= score["ancestral_accuracy"] <= 1 for score in scores)


def test_the_figures_of_the_paper_stand_beside_its_own_setting():
    shown = entered("evaluate", "--methods", "fedrcd-ni", "--noise", "laplace", "--seeds", 1)
    assert "0.940 / 0.942" in shown.stdout


@pytest.fixture
def good():
    return pd.DataFrame(np.random.default_rng(0).laplace(size=(100, 3)), columns=["a", "b", "c"])


def spoiled(good, what):
    table = good.copy()
    if what == "missing":
        table.loc[3, "b"] = np.nan
    elif what == "infinite":
        table.loc[3, "b"] = np.inf
    elif what == "constant":
        table["b"] = 1.0
    elif what == "words":
        table["b"] = "text"
    elif what == "twins":
        table["b"] = table["a"]
    elif what == "collinear":
        table["b"] = table["a"] + 2 * table["c"]
    elif what == "one column":
        table = table[["b"]]
    elif what == "few rows":
        table = table.head(4)
    return table


@pytest.mark.parametrize(
    ("what", "code", "words"),
    [
        ("missing", 3, ["99 of 100 rows", "missing value", "missing='expected'"]),
        ("infinite", 3, ["'b'", "t.csv", "infinite"]),
        ("constant", 3, ["'b'", "t.csv", "one value"]),
        ("words", 3, ["'b'", "t.csv", "text"]),
        ("twins", 3, ["'a'", "'b'", "t.csv"]),
        ("collinear", 5, ["linear combination", "'a'", "'c'"]),
        ("one column", 3, ["t.csv", "2 variables"]),
        ("few rows", 3, ["8 rows", "4"]),
    ],
)
def test_a_bad_table_is_refused_in_one_line_that_names_it(good, tmp_path, what, code, words):
    spoiled(good, what).to_csv(tmp_path / "t.csv", index=False)
    done = entered("discover", tmp_path / "t.csv")
    assert done.returncode == code
    assert last_line(done).startswith("error: ")
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_a_column_can_be_left_out(good, tmp_path):
    good.assign(patient="text").to_csv(tmp_path / "t.csv", index=False)
    assert "'patient'" in entered("discover", tmp_path / "t.csv").stderr
    done = entered("discover", tmp_path / "t.csv", "--drop", "patient", "--json")
    assert set(Discovery.from_json(done.stdout).names) == {"a", "b", "c"}
    assert "did you mean 'patient'" in entered("discover", tmp_path / "t.csv", "--drop", "patent").stderr


def test_mismatched_columns_are_named(good, tmp_path):
    good.to_csv(tmp_path / "one.csv", index=False)
    good.rename(columns={"c": "d"}).to_csv(tmp_path / "two.csv", index=False)
    done = entered("discover", tmp_path / "one.csv", tmp_path / "two.csv")
    assert done.returncode == 3
    assert "'c'" in done.stderr
    assert "two.csv" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["discover", "no-such.csv"], 4, "no-such.csv"),
        (["discover", "TABLE", "--method", "fedrcd-y"], 2, "fedrcd-x"),
        (["discover", "TABLE", "--option", "colour=red"], 2, "colour"),
        (["discover", "TABLE", "--weights", "ridge"], 2, "adaptive-lasso"),
        (["discover", "TABLE", "--option", "weights=bic"], 2, "--weights"),
        (["discover", "TABLE", "--within", "median"], 2, "standardise"),
        (["discover", "TABLE", "--out", "result.pdf"], 2, ".json"),
        (["discover", "TABLE", "--out", "nowhere/result.json"], 4, "nowhere"),
        (["discover", "TABLE", "OTHER", "--method", "hc"], 2, "fedrcd-x"),
        (["discover", "TABLE", "TABLE"], 2, "given twice"),
        (["simulate", "--noise", "laplce"], 2, "laplace"),
        (["simulate", "--density", "0.2", "--degree", "2"], 2, "density"),
        (["evaluate", "--methods", "fedrcd-y"], 2, "fedrcd-x"),
        (["evaluate", "--seeds", "0"], 2, "seeds"),
        (["evaluate", "--p", "1"], 2, "p must be at least 2"),
        (["evaluate", "--rows", "-5"], 2, "rows must be at least 1"),
        (["evaluate", "--noise", "laplace,typo"], 2, "typo"),
        (["example", "planets"], 2, "hospitals"),
    ],
)
def test_a_mistake_gets_one_line_and_its_exit_code(arguments, code, word, tmp_path):
    tables = dict(zip(("TABLE", "OTHER"), example_paths(), strict=False))
    done = entered(*(tables.get(part, part) for part in arguments), cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert last_line(done).startswith("error: ")
    assert "Traceback" not in done.stderr
    assert word in done.stderr


def test_a_process_ends_with_the_line_and_the_code():
    done, here = in_a_process("discover", "no-such.csv"), entered("discover", "no-such.csv")
    assert (done.returncode, last_line(done)) == (here.returncode, last_line(here)) == (4, last_line(done))


def test_gaussian_data_are_answered_with_a_note_that_the_order_is_not_identified(tmp_path):
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(2000, 3)), columns=["a", "b", "c"])
    rows.to_csv(tmp_path / "t.csv", index=False)
    done = entered("discover", tmp_path / "t.csv")
    assert done.returncode == 0
    assert "arbitrary" in " ".join(done.stdout.split())


def every_command(command, names=()):
    below = getattr(command, "commands", {})
    yield names, command
    for name, one in below.items():
        yield from every_command(one, (*names, name))


def test_the_help_of_every_command_tells_what_its_arguments_are_for_and_escapes_nothing():
    told = 0
    for names, command in every_command(get_command(app)):
        said = entered(*names, "--help").stdout
        assert "\\[" not in said
        arguments = said.partition("\nArguments:\n")[2].partition("\n\n")[0]
        for argument in (one for one in command.params if one.param_type_name == "argument"):
            assert re.search(rf"^  \[?{argument.name.upper()}[\].]* +[A-Za-z`]", arguments, re.MULTILINE), (
                names,
                argument,
            )
            told += 1
        assert said.count("rguments:\n") == (1 if arguments else 0)
    assert told > 20
