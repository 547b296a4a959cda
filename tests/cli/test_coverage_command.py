"""`fedrcd coverage` and the files of `fedrcd simulate` that it reads."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fedrcd.cli.main import app
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, read_federation, write_federation
from fedrcd.errors import ConfigError, FileError

SIZE = ["--p", "6", "--rows", "50", "--sites", "3", "--seed", "1"]


def fedrcd(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception:
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module", params=["horizontal", "vertical", "hybrid"])
def simulated(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    fedrcd("simulate", "--out", folder, "--partition", request.param, *SIZE)
    return request.param, folder


@pytest.fixture(scope="module")
def vertical(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vertical")
    fedrcd("simulate", "--out", folder, "--partition", "vertical", *SIZE)
    return folder / "federation.toml"


def test_simulated_files_are_what_the_federation_file_says(simulated):
    partition, folder = simulated
    federation = read_federation(folder / "federation.toml")
    rows = {block.label: block.rows for block in federation.blocks}
    assert len(federation.sites) == 3
    for site in federation.sites:
        table = pd.read_csv(folder / f"{site.name}.csv")
        labels = [] if partition == "horizontal" else ["id", "block"]
        assert list(table.columns) == [*labels, *site.columns]
        assert len(table) == sum(rows[label] for label in site.blocks)
        if labels:
            assert table["block"].value_counts().to_dict() == {label: rows[label] for label in site.blocks}
            assert table["id"].is_unique


@pytest.mark.parametrize("simulated", ["vertical", "hybrid"], indirect=True)
def test_a_row_has_one_id_one_block_and_one_value_at_all_sites(simulated):
    _, folder = simulated
    tables = [pd.read_csv(path).set_index("id") for path in sorted(folder.glob("site_*.csv"))]
    cells = pd.concat([table.drop(columns="block").stack() for table in tables])
    assert cells.groupby(level=[0, 1]).nunique().max() == 1
    assert cells.index.nunique() == len(cells.index.get_level_values(0).unique()) * 6
    blocks = pd.concat([table["block"] for table in tables])
    assert blocks.groupby(level=0).nunique().max() == 1


def test_text_and_parquet_hold_the_same_rows(vertical, tmp_path):
    fedrcd("simulate", "--out", tmp_path, "--partition", "vertical", "--parquet", *SIZE)
    text, binary = pd.read_csv(vertical.parent / "site_2.csv"), pd.read_parquet(tmp_path / "site_2.parquet")
    np.testing.assert_array_equal(text.drop(columns=["id", "block"]), binary.drop(columns=["id", "block"]))
    assert text["id"].tolist() == binary["id"].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--partition", "vertcal"], "did you mean 'vertical'"),
        (["--partition", "vertical", "--scheme", "sorted"], "--scheme is for a horizontal split"),
        (["--partition", "vertical", "--blocks", "2"], "--blocks is for a hybrid split"),
        (["--partition", "hybrid", "--blocks", "0"], "blocks must be at least 1"),
        (["--partition", "vertical", "--sites", "2"], "at least 3 sites"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        fedrcd("simulate", "--out", tmp_path, "--rows", 10, *options)


def test_a_vertical_split_is_told_which_methods_run_and_what_is_missing(vertical):
    text = " ".join(fedrcd("coverage", vertical).split())
    assert "6 variables, 3 sites, 1 block, 50 rows" in text
    assert "pairs 15 15 50 50 50" in text
    assert "fedrcd-sp pairs 50 exact" in text
    assert "fedrcd-x all columns - impossible: no site holds all 6 columns" in text
    assert "one more column for quadruples: no single column is enough" in text
    assert "x6 ████████████" in text


def test_the_report_is_json_for_programs(vertical):
    report = json.loads(fedrcd("coverage", vertical, "--json"))
    assert report["complete_rows"] == 0
    assert np.array(report["pair_counts"]).tolist() == [[50] * 6] * 6
    words = {verdict["method"]: verdict["words"] for verdict in report["verdicts"]}
    assert words["fedhc"] == "exact"
    assert words["fedrcd-t"].startswith("impossible")
    assert {remedy["needs"] for remedy in report["remedies"]} == {"quadruples", "all columns"}


@pytest.fixture
def odd_names(tmp_path):
    """A federation whose names mean something to XML, to terminals and to rich."""
    names = ("a<b & 'c'", "[red]d", 'e"\x1b[2J\n', "a name that is much too long to print")
    sites = (SiteEntry("[bold]s", names[:3], ("one",)), SiteEntry("t", names[2:], ("two",)))
    path = tmp_path / "federation.toml"
    write_federation(path, Federation(names, sites, (BlockEntry("one", 8), BlockEntry("two", 800))))
    return path


def test_the_picture_has_a_square_per_pair_and_survives_odd_names(odd_names, tmp_path):
    picture = tmp_path / "pairs.svg"
    assert f"written: {picture}" in fedrcd("coverage", odd_names, "--picture", picture).replace("\n", "")
    squares = [one for one in ElementTree.parse(picture).iter() if one.tag.endswith("rect")][1:]
    told = [square[0].text for square in squares]
    assert len(told) == 16
    assert told[1] == "a<b & 'c', [red]d: 8 rows"
    assert [square.get("fill") for square in squares].count("#d62728") == 4


def test_odd_names_are_printed_as_they_are_and_move_no_cursor(odd_names):
    text = fedrcd("coverage", odd_names)
    assert "[red]d" in text
    assert "[bold]s" in text
    assert "\x1b" not in text
    assert "··" in text


def test_a_matrix_too_wide_for_the_terminal_is_left_to_the_picture(tmp_path):
    names = tuple(f"x{k}" for k in range(40))
    blocks = tuple(BlockEntry(f"b{k}", 10) for k in range(8))
    site = SiteEntry("s", names, tuple(block.label for block in blocks))
    write_federation(tmp_path / "f.toml", Federation(names, (site,), blocks))
    text = fedrcd("coverage", tmp_path / "f.toml")
    assert "--picture" in text
    assert "b3, b4 and 3 more" in text


def test_wrong_files_are_refused(vertical, tmp_path):
    with pytest.raises(ConfigError, match=r"ending must be \.svg"):
        fedrcd("coverage", vertical, "--picture", "pairs.png")
    with pytest.raises(FileError, match=r"cannot write .*pairs\.svg"):
        fedrcd("coverage", vertical, "--picture", tmp_path / "none" / "pairs.svg")
    with pytest.raises(FileError, match=r"cannot read .*none\.toml"):
        fedrcd("coverage", tmp_path / "none.toml")
