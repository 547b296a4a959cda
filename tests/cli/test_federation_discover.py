import pytest

from fedrcd import Discovery
from tests.cli.commands import entered, last_line


@pytest.fixture(scope="module")
def vertical(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vertical")
    done = entered("simulate", "--out", folder, "--p", 6, "--rows", 500, "--sites", 3, "--partition", "vertical")
    assert done.returncode == 0, done.stderr
    return folder


def test_a_simulated_vertical_federation_is_discovered(vertical):
    files = sorted(vertical.glob("*.csv"))
    done = entered("discover", *files, "--federation", vertical / "federation.toml", "--json")
    assert done.returncode == 0, done.stderr
    found = Discovery.from_json(done.stdout)
    assert (found.method, found.sites, found.rows) == ("fedrcd-sp", 3, 500)


def test_a_hybrid_federation_is_discovered(tmp_path):
    entered("simulate", "--out", tmp_path, "--p", 6, "--rows", 300, "--sites", 4, "--partition", "hybrid")
    done = entered("discover", *sorted(tmp_path.glob("*.csv")), "--federation", tmp_path / "federation.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert Discovery.from_json(done.stdout).rows > 0


def test_a_site_without_a_file_is_named(vertical):
    done = entered("discover", vertical / "site_1.csv", "--federation", vertical / "federation.toml")
    assert done.returncode == 2
    assert "site_2" in last_line(done)


def test_a_file_without_a_site_is_named(vertical, tmp_path):
    stray = tmp_path / "hospital.csv"
    stray.write_bytes((vertical / "site_1.csv").read_bytes())
    done = entered("discover", *sorted(vertical.glob("*.csv")), stray, "--federation", vertical / "federation.toml")
    assert done.returncode == 2
    assert "hospital" in last_line(done)


def test_rows_that_are_not_what_the_file_says_are_named(vertical, tmp_path):
    for path in vertical.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    lines = (tmp_path / "site_1.csv").read_text().splitlines()
    (tmp_path / "site_1.csv").write_text("\n".join(lines[:-3]) + "\n")
    done = entered("discover", *sorted(tmp_path.glob("*.csv")), "--federation", tmp_path / "federation.toml")
    assert done.returncode == 3
    assert "497 rows" in last_line(done)


def test_a_missing_pair_is_named_before_any_table_is_read(tmp_path):
    (tmp_path / "federation.toml").write_text(
        'variables = ["a", "b", "c"]\n'
        '[[site]]\nname = "one"\ncolumns = ["a", "b"]\nblocks = ["x"]\n'
        '[[site]]\nname = "two"\ncolumns = ["b", "c"]\nblocks = ["x"]\n'
        '[[block]]\nlabel = "x"\nrows = 10\n'
    )
    done = entered("discover", tmp_path / "one.csv", tmp_path / "two.csv", "--federation", tmp_path / "federation.toml")
    assert done.returncode == 3
    assert "'a' and 'c' together" in last_line(done)
