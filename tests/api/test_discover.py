from functools import cache

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd import discover
from fedrcd.data import random_model, write_table
from fedrcd.data.names import default_names
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError, FileError, StatisticError
from fedrcd.methods.registry import METHODS
from tests.strategies import estimate

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

NAMES = ["age", "dose", "pain", "sleep", "score"]
ONE_TABLE = [name for name, card in METHODS.items() if card.one_table]


@cache
def rows():
    rng = np.random.default_rng(4)
    X = random_model(5, noise="exponential", density=0.5, rng=rng).sample(600, rng)
    X.setflags(write=False)
    return X


def frames():
    """Three sites' tables."""
    return [pd.DataFrame(part, columns=NAMES) for part in np.split(rows(), [100, 350])]


def assert_same(found, expected):
    assert found.order == expected.order
    np.testing.assert_allclose(found.B, expected.B, atol=1e-9)


@cache
def from_frames():
    return discover(frames(), "fedrcd-x")


def test_tables_may_be_data_frames():
    order = estimate("fedrcd-x", np.split(rows(), [100, 350])).order
    assert from_frames().order == tuple(NAMES[i] for i in order)


def test_tables_may_be_in_a_tuple():
    assert_same(discover(tuple(frames()), "fedrcd-x"), from_frames())


def test_tables_may_be_arrays_whose_columns_get_names():
    found = discover([frame.to_numpy() for frame in frames()], "fedrcd-x")
    assert found.names == default_names(5)
    assert [found.names.index(name) for name in found.order] == [NAMES.index(name) for name in from_frames().order]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_tables_may_be_paths(ending, tmp_path):
    paths = [tmp_path / f"site{k}{ending}" for k in range(3)]
    for path, frame in zip(paths, frames(), strict=True):
        write_table(path, Table(frame.to_numpy(), columns=tuple(NAMES), source=path.name))
    assert_same(discover(paths, "fedrcd-x"), from_frames())
    assert_same(discover([str(path) for path in paths], "fedrcd-x"), from_frames())


def test_tables_may_be_of_different_kinds(tmp_path):
    first, second, third = frames()
    second.to_csv(tmp_path / "second.csv", index=False)
    found = discover(
        [first, tmp_path / "second.csv", Table(third.to_numpy(), columns=tuple(NAMES), source="third")], "fedrcd-x"
    )
    assert_same(found, from_frames())


@pytest.mark.parametrize("kind", ["frame", "array", "path", "text", "table"])
def test_a_single_table_need_not_be_in_a_list(kind, tmp_path):
    whole = pd.concat(frames())
    whole.to_csv(tmp_path / "whole.csv", index=False)
    table = {
        "frame": whole,
        "array": whole.to_numpy(),
        "path": tmp_path / "whole.csv",
        "text": str(tmp_path / "whole.csv"),
        "table": Table(whole.to_numpy(), columns=tuple(NAMES), source="whole"),
    }[kind]
    found = discover(table, "fedrcd-x")
    assert found.sites == 1
    np.testing.assert_allclose(found.B, from_frames().B, atol=1e-9)


def test_a_method_need_not_be_named():
    assert discover(frames()).method in METHODS


def test_rows_that_sites_share_count_once_for_the_choice():
    whole, part = pd.DataFrame(rows()[:150], columns=NAMES), pd.DataFrame(rows()[:150, :2], columns=NAMES[:2])
    shared = [fedrcd.Table(whole, site="a", block="b"), fedrcd.Table(part, site="b", block="b")]
    assert discover(shared).method == discover(whole).method == "fedrcd-se"


def test_variables_may_come_as_the_columns_of_a_frame():
    wanted = frames()[0].columns[::-1]
    assert discover(frames(), "fedrcd-ni", variables=wanted).names == tuple(NAMES[::-1])


def test_no_tables_are_refused():
    with pytest.raises(ConfigError, match="one table per site"):
        discover([])


def test_something_else_than_a_table_is_refused():
    with pytest.raises(DataError, match="table 2 must be a DataFrame"):
        discover([frames()[0], {"age": [1, 2]}])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match=r"nowhere\.csv"):
        discover(tmp_path / "nowhere.csv")


def test_other_columns_are_named():
    first, second, _ = frames()
    with pytest.raises(DataError, match="table 2 lacks column 'dose' and has column 'Dose' in addition"):
        discover([first, second.rename(columns={"dose": "Dose"})])


def test_wrong_options_are_found_before_tables_are_read(tmp_path):
    with pytest.raises(ConfigError, match="penalty"):
        discover(tmp_path / "nowhere.csv", penalty=-1)


@pytest.mark.parametrize("method", ONE_TABLE)
def test_a_method_for_one_table_names_its_counterpart_when_given_several(method):
    with pytest.raises(ConfigError, match=f"3 were given; use {METHODS[method].counterpart}.*stack=True"):
        discover(frames(), method)


@pytest.mark.parametrize("method", ONE_TABLE)
def test_a_method_for_one_table_may_be_allowed_to_stack(method):
    assert_same(discover(frames(), method, stack=True), discover(pd.concat(frames()), method))


@pytest.mark.parametrize("method", ONE_TABLE)
def test_a_method_for_one_table_takes_one_table_in_a_list(method):
    assert discover([pd.concat(frames())], method).rows == 600


def test_allowing_to_stack_changes_nothing_for_a_federated_method():
    found = discover(frames(), "fedrcd-x", stack=True)
    assert found.sites == 3
    assert_same(found, from_frames())


def test_rows_sites_rounds_and_bytes_are_told():
    found = from_frames()
    numbers = sum(4 * u * u + 4 * u + 1 for u in range(2, 6))  # as arrays, of which symmetric ones repeat
    assert (found.rows, found.sites, found.rounds) == (600, 3, 4)
    assert 3 * 8 * numbers < found.bytes_sent < 3 * 8 * numbers + 12 * 500  # and a header for each of twelve answers


def test_the_method_and_all_its_options_are_told():
    found = discover(frames(), "fedishc", coefficient="corrected", penalty=0.02)
    assert found.method == "fedishc"
    assert found.options == {
        "weights": "adaptive-lasso",
        "penalty": 0.02,
        "coefficient": "corrected",
        "update": "all",
        "estimator": "plug-in",
    }


def test_options_reach_the_method():
    assert len(discover(frames(), "fedrcd-x", weights="none").edges()) == 5 * 4 // 2
    assert not discover(frames(), "fedrcd-x", penalty=1e6).edges()


def test_the_estimators_differ():
    plug_in, unbiased = (
        discover(frames(), "fedrcd-ni", estimator=estimator).trace[0].scores for estimator in ("plug-in", "unbiased")
    )
    assert plug_in != unbiased
    assert plug_in == pytest.approx(unbiased, rel=0.5)


def test_progress_is_told():
    seen = []
    discover(frames(), "fedrcd-x", progress=lambda traffic: seen.append((traffic.rounds, traffic.bytes_sent)))
    assert [rounds for rounds, _ in seen] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    assert seen == sorted(seen)


def test_extreme_values_are_blamed_on_their_table_and_column():
    first, second, third = frames()
    second.iloc[3, 1] = 1e200
    with pytest.raises(StatisticError, match=r"table 2.*column 'dose'"):
        discover([first, second, third], "fedrcd-x")


def test_tables_are_left_alone():
    tables = frames()
    discover(tables, "fedrcd-x")
    for table, untouched in zip(tables, frames(), strict=True):
        pd.testing.assert_frame_equal(table, untouched)


def test_integer_columns_are_numbers():
    counts = pd.DataFrame(np.random.default_rng(0).poisson(1, (500, 3)), columns=list("abc"))
    assert discover(counts, "fedrcd-x").order == discover(counts.astype(float), "fedrcd-x").order


@pytest.mark.parametrize("method", METHODS)
def test_the_expected_answers_are_those_that_come(method):
    seen = []
    tables = frames()[:1] if METHODS[method].one_table else frames()
    discover(tables, method, progress=lambda traffic: seen.append((traffic.answers, traffic.share)))
    assert seen[-1][0] == len(seen)
    assert seen[-1][1] == 1.0 or METHODS[method].rounds.at_most


def test_a_discovery_tells_who_holds_what_and_the_spread_of_the_variables():
    found = discover(frames(), "fedrcd-ni")
    assert [holding.rows for holding in found.holdings] == [len(frame) for frame in frames()]
    np.testing.assert_allclose(found.variances, pd.concat(frames()).var(ddof=0)[list(found.names)])
    assert set(found.versions) >= {"fedrcd", "python", "numpy"}


@pytest.mark.parametrize("method", ["fedrcd-x", "fedrcd-t", "hc"])
def test_the_order_of_standardised_data_is_that_of_a_run_on_them(method):
    whole = pd.concat(frames())
    found = discover(whole, method, check_scale=True)
    assert found.standardised_order == discover(whole / whole.std(ddof=0), method).order


def test_the_order_of_standardised_data_is_known_for_free_only_of_scale_free_methods():
    assert discover(frames(), "fedrcd-x").standardised_order == ()
    scale_free = discover(frames(), "fedrcd-s")
    assert scale_free.standardised_order == scale_free.order


def test_progress_can_be_asked_for_with_true():
    assert discover(frames(), "fedrcd-ni", progress=True).order == discover(frames(), "fedrcd-ni").order
