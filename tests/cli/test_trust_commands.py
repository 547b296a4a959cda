"""`fedrcd bootstrap`, `fedrcd check` and `--knowledge`, as a user types them."""

import json

import pytest

from fedrcd import Discovery
from fedrcd.data.examples import example_paths
from tests.cli.commands import entered, last_line

TABLES = example_paths()


def test_a_bootstrap_says_what_is_sent_and_how_sure_each_edge_is(tmp_path):
    out = tmp_path / "found.json"
    done = entered("bootstrap", *TABLES, "--replicates", 10, "--seed", 1, "--jobs", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("to be sent: 3 sites, ")
    assert "order stability" in done.stdout
    assert "without hospital_a.csv" in done.stdout
    assert Discovery.from_json(out).confidence.shape == (8, 8)


def test_a_plan_alone_runs_nothing():
    done = entered("bootstrap", *TABLES, "--plan", "--groups", 12)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "to be sent: 3 sites, 12 groups of rows each: at most 48.7 kB a site in 1 round\n"


def test_a_bootstrap_as_json_has_its_numbers():
    done = entered("bootstrap", *TABLES, "--replicates", 5, "--seed", 1, "--jobs", 1, "--json")
    found = json.loads(done.stdout)
    assert found["format"] == "fedrcd-bootstrap/1"
    assert (found["replicates"], len(found["names"]), len(found["leave_one_site_out"])) == (5, 8, 3)
    assert {"cause", "effect", "estimate", "low", "high", "probability"} == set(found["total_effects"][0])


def test_checks_are_told_to_people_and_to_programs():
    done = entered("check", *TABLES)
    assert done.returncode == 0, done.stderr
    assert "independence" in done.stdout
    assert "cost: 1 round" in done.stdout
    told = json.loads(entered("check", *TABLES, "--method", "fedrcd-ni", "--json").stdout)
    assert [check["name"] for check in told["checks"]][-1] == "scale"


def test_knowledge_is_read_from_a_file_and_kept(tmp_path):
    known = tmp_path / "known.toml"
    known.write_text('tiers = [["length_of_stay"], ["age"]]\nforbidden = [["bmi", "glucose"]]\n')
    done = entered("discover", *TABLES, "--knowledge", known, "--json")
    found = Discovery.from_json(done.stdout)
    assert found.order.index("length_of_stay") < found.order.index("age")
    assert found.adjacency.loc["glucose", "bmi"] == 0


@pytest.mark.parametrize(
    ("command", "arguments", "code", "word"),
    [
        ("bootstrap", ["--replicates", "1"], 2, "--replicates must be at least 2, got 1"),
        ("bootstrap", ["--seed", "-1"], 2, "--seed must be at least 0, got -1"),
        ("bootstrap", ["--resample", "rows", "--groups", "20"], 2, "with --resample rows there are none"),
        ("bootstrap", ["--level", "2"], 2, "level must be a number between 0 and 1"),
        ("bootstrap", ["--plan", "--resample", "rows"], 2, "with --resample rows nothing is sent"),
        ("bootstrap", ["--groups", "3"], 2, "groups must be a whole number of at least 10"),
        ("bootstrap", ["--method", "fed-direct"], 2, "cannot be resampled"),
        ("bootstrap", ["--out", "x.csv"], 2, "the ending must be .json"),
        ("check", ["--level", "2"], 2, "level must be a number between 0 and 1"),
        ("discover", ["--knowledge", "absent.toml"], 4, "absent.toml"),
        ("discover", ["--knowledge", "clash.toml"], 2, "requires a cycle: age -> bmi -> age"),
        ("discover", ["--knowledge", "typo.toml"], 2, "did you mean 'age'?"),
    ],
)
def test_a_mistake_gets_one_line_and_its_exit_code(command, arguments, code, word, tmp_path):
    (tmp_path / "clash.toml").write_text('required = [["age", "bmi"], ["bmi", "age"]]')
    (tmp_path / "typo.toml").write_text('exogenous = ["agee"]')
    done = entered(command, *TABLES, *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert last_line(done).startswith("error: ")
    assert word in last_line(done)
