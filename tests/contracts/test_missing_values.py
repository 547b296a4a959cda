"""Rows with gaps, and sites that lack columns."""

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.data.simulate.partition import column_parts, vertical_split
from fedrcd.errors import ConfigError, CoverageWarning, DataError
from fedrcd.graphs.metrics import ancestral_accuracy
from fedrcd.methods.registry import METHODS
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.expectation import Gaussian, expected_pair_sums, expected_tensor_sums
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_index import pair_index
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.statistics.tensor_sums import tensor_sums
from tests.contracts.federations import (
    FEDERATED,
    labelled,
    simulated,
    with_gaps,
)

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


def test_rows_with_missing_values_are_left_out_and_counted():
    _, X = simulated(4, 500)
    holes = with_gaps(X, 0.05)
    complete = holes[~np.isnan(holes).any(axis=1)]
    with pytest.warns(CoverageWarning, match="lack values"):
        found = fedrcd.discover(holes)
    assert found.rows == len(complete)
    assert pytest.approx(fedrcd.discover(complete).B, abs=1e-9) == found.B


@pytest.mark.parametrize("method", [name for name in FEDERATED if METHODS[name].coverage != "all columns"])
def test_available_values_of_a_table_without_gaps_are_all_of_it(method):
    _, X = simulated(4, 500)
    assert pytest.approx(fedrcd.discover(X, method).B, abs=1e-8) == fedrcd.discover(X, method, missing="available").B


def test_pair_sums_with_gaps_are_over_the_rows_that_have_both():
    _, X = simulated(3, 200)
    holes = with_gaps(X, 0.3)
    sums = PairQuestion(("a", "b", "c"), Frame.identity(3), 4)
    pooled = sums.answer([holes], gaps=True)
    both = ~np.isnan(holes[:, 0]) & ~np.isnan(holes[:, 2])
    assert pooled.count[0, 2] == both.sum()
    assert pooled.at(1, 3)[0, 2] == pytest.approx(np.sum(X[both, 0] * X[both, 2] ** 3))
    assert pooled.at(2, 0)[0, 2] == pytest.approx(np.sum(X[both, 0] ** 2))


def test_tensor_sums_with_gaps_are_over_the_rows_that_have_all():
    _, X = simulated(3, 200)
    holes = with_gaps(X, 0.3)
    pooled = TensorQuestion(("a", "b", "c"), Frame.identity(3))
    sums = pooled.answer([holes], gaps=True)
    rows = ~np.isnan(holes).any(axis=1)
    number = pair_index(4).number
    direct = np.mean(X[rows, 0] * X[rows, 1] * X[rows, 2] ** 2)
    assert sums.mean_moments()[number[1, 2], number[3, 3]] == pytest.approx(direct)


def test_methods_that_need_complete_rows_refuse_available_values():
    _, X = simulated(4, 500)
    with pytest.raises(ConfigError, match="complete rows"):
        fedrcd.discover(with_gaps(X, 0.1), "fedrcd-x", missing="available")


def test_declared_codes_are_missing_values():
    _, X = simulated(4, 500)
    holes = with_gaps(X, 0.05)
    coded = np.where(np.isnan(holes), -999.0, holes)
    assert pytest.approx(fedrcd.discover(holes).B) == fedrcd.discover(coded, missing_codes=[-999]).B


def test_complete_kernels_agree_with_those_for_gaps():
    _, X = simulated(3, 100)
    rows = PairQuestion(("a", "b", "c"), Frame.identity(3), 4)
    plain, gaps = pair_sums([X], 3, 4), rows.answer([X], gaps=True)
    assert gaps.at(3, 1) == pytest.approx(plain.at(3, 1))
    assert TensorQuestion(("a", "b", "c"), rows.frame).answer([X], gaps=True).packed == pytest.approx(
        tensor_sums([X], 3).packed
    )


def test_expected_tensor_sums_are_the_means_of_many_fillings():
    rng = np.random.default_rng(0)
    given = Gaussian(np.array([0.5, -1.0, 0.2]), np.array([[1.0, 0.5, 0.2], [0.5, 2.0, -0.3], [0.2, -0.3, 1.5]]))
    row = np.array([[np.nan, 0.7, np.nan]])
    lost, seen = [0, 2], [1]
    C = given.cov[np.ix_(lost, lost)] - given.cov[np.ix_(lost, seen)] @ given.cov[np.ix_(seen, lost)] / given.cov[1, 1]
    mean = given.mean[lost] + given.cov[np.ix_(lost, seen)][:, 0] / given.cov[1, 1] * (0.7 - given.mean[1])
    fillings = np.empty((400_000, 3))
    fillings[:, 1] = 0.7
    fillings[:, lost] = rng.multivariate_normal(mean, C, 400_000)
    expected = expected_tensor_sums([row], given).packed
    drawn = tensor_sums([fillings], 3).packed / 400_000
    np.testing.assert_allclose(expected, drawn, atol=0.05 * np.abs(expected).max())
    pairs = expected_pair_sums([row], given, 4)
    direct = pair_sums([fillings], 3, 4)
    np.testing.assert_allclose(pairs.at(3, 1), direct.at(3, 1) / 400_000, atol=0.05)
    np.testing.assert_allclose(pairs.at(2, 2), direct.at(2, 2) / 400_000, atol=0.05)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_filling_gaps_by_pooled_moments_keeps_the_order(share):
    model, X = simulated(8, 10_000, seed=4)
    found = fedrcd.discover(np.array_split(with_gaps(X, share), 4), missing="expected")
    assert ancestral_accuracy([int(name[1:]) - 1 for name in found.order], model.B) >= 0.95
    assert found.rounds > 2


def test_filling_gaps_does_not_depend_on_how_rows_are_split():
    _, X = simulated(5, 1200)
    holes = with_gaps(X, 0.2)
    one = fedrcd.discover(holes, "fedrcd-s", missing="expected")
    many = fedrcd.discover(np.array_split(holes, 7), "fedrcd-s", missing="expected")
    assert one.order == many.order
    assert pytest.approx(one.B, abs=1e-8) == many.B


def test_sites_that_lack_columns_are_filled_where_rows_are_not_shared():
    model, X = simulated(6, 6000, seed=3)
    names = list(model.names)
    tables = []
    for k, rows in enumerate(np.array_split(X, 6)):
        kept = [name for name in names if name != names[k]]
        tables.append(fedrcd.Table(pd.DataFrame(rows, columns=names)[kept], f"site {k}"))
    found = fedrcd.discover(tables, "fedrcd-s", missing="expected")
    assert ancestral_accuracy([names.index(name) for name in found.order], model.B) >= 0.95


def test_gaps_of_shared_rows_are_not_filled():
    model, X = simulated(6, 300)
    parts = column_parts(300, vertical_split(model.names, 3, rng=np.random.default_rng(0)))
    with pytest.raises(ConfigError, match="several sites share"):
        fedrcd.discover(labelled(X, model.names, parts), "fedrcd-sp", missing="expected")


def test_a_site_without_a_usable_row_is_named():
    _, X = simulated(3, 200)
    empty = X[:50].copy()
    empty[np.arange(50), np.arange(50) % 3] = np.nan
    with pytest.raises(DataError, match="table 2 has no row without missing values"):
        fedrcd.discover([X[50:], empty])


def test_entries_from_different_rows_are_warned_of():
    model, X = simulated(6, 3000, seed=3)
    names = list(model.names)
    tables = [
        fedrcd.Table(pd.DataFrame(rows, columns=names).drop(columns=names[k]), f"site {k}")
        for k, rows in enumerate(np.array_split(X, 6))
    ]
    with pytest.warns(CoverageWarning, match="missing='expected'"):
        fedrcd.discover(tables, "fedrcd-s")
