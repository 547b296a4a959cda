import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from fedrcd import Discovery, FedLiNGAM, discover
from fedrcd.data import random_model
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

NAMES = ["age", "dose", "pain", "sleep", "score"]


def rows():
    rng = np.random.default_rng(4)
    return random_model(5, noise="exponential", density=0.5, rng=rng).sample(600, rng)


def frame():
    return pd.DataFrame(rows(), columns=NAMES)


def test_order_and_adjacency_are_those_of_discover():
    fitted, found = FedLiNGAM("fedrcd-x").fit(frame()), discover(frame(), "fedrcd-x")
    assert [NAMES[i] for i in fitted.causal_order_] == list(found.order)
    np.testing.assert_array_equal(fitted.adjacency_matrix_, found.B)


def test_several_tables_are_several_sites():
    tables = [frame()[:200], frame()[200:]]
    fitted, found = FedLiNGAM("fed-direct").fit(tables), discover(tables, "fed-direct")
    assert fitted.discovery_.sites == 2
    assert [NAMES[i] for i in fitted.causal_order_] == list(found.order)
    np.testing.assert_array_equal(fitted.adjacency_matrix_, found.B)


def test_fit_returns_the_estimator():
    estimator = FedLiNGAM("fedrcd-x")
    assert estimator.fit(frame()) is estimator


def test_everything_else_is_in_the_discovery():
    assert isinstance(FedLiNGAM("fedrcd-x").fit(frame()).discovery_, Discovery)


def test_the_order_is_a_list_of_column_indices():
    order = FedLiNGAM("fedrcd-x").fit(rows()).causal_order_
    assert isinstance(order, list)
    assert all(type(i) is int for i in order)
    assert sorted(order) == list(range(5))


def test_options_reach_discover():
    options = {"method": "fedishc", "weights": "bic", "penalty": 0.5, "options": {"coefficient": "corrected"}}
    told = FedLiNGAM(**options).fit(frame()).discovery_.options
    assert told == {
        "weights": "bic",
        "penalty": 0.5,
        "coefficient": "corrected",
        "update": "all",
        "estimator": "plug-in",
    }


def test_stacking_reaches_discover():
    tables = [frame()[:200], frame()[200:]]
    assert FedLiNGAM("direct-lingam", stack=True).fit(tables).discovery_.sites == 1
    with pytest.raises(ConfigError, match="fed-direct"):
        FedLiNGAM("direct-lingam").fit(tables)


def test_wrong_options_are_found_when_fitting():
    estimator = FedLiNGAM("fedrcd-xx", penalty=-1)
    with pytest.raises(ConfigError, match="fedrcd-x"):
        estimator.fit(frame())


def test_a_clone_has_the_same_parameters_and_is_not_fitted():
    estimator = FedLiNGAM("fedrcd-ni", weights="bic", options={"estimator": "unbiased"}).fit(frame())
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


def test_parameters_can_be_got():
    parameters = FedLiNGAM("fedhc", penalty=0.5).get_params()
    assert parameters.keys() == inspect.signature(FedLiNGAM).parameters.keys()
    assert (parameters["method"], parameters["penalty"], parameters["stack"]) == ("fedhc", 0.5, False)


def test_parameters_can_be_set():
    assert FedLiNGAM().set_params(method="fedhc", penalty=0.5).get_params()["method"] == "fedhc"


def test_unknown_parameters_cannot_be_set():
    with pytest.raises(ValueError, match="penalti"):
        FedLiNGAM().set_params(penalti=1)


def test_a_fitted_estimator_is_fitted():
    check_is_fitted(FedLiNGAM("fedrcd-x").fit(frame()))


def test_names_of_columns_are_kept():
    fitted = FedLiNGAM("fedrcd-x").fit(frame())
    np.testing.assert_array_equal(fitted.feature_names_in_, NAMES)
    assert fitted.n_features_in_ == 5


def test_names_of_columns_of_several_tables_are_kept():
    fitted = FedLiNGAM("fedrcd-x").fit([frame()[:200], frame()[200:]])
    np.testing.assert_array_equal(fitted.feature_names_in_, NAMES)


def test_names_of_columns_of_a_file_are_kept(tmp_path):
    frame().to_csv(tmp_path / "rows.csv", index=False)
    np.testing.assert_array_equal(FedLiNGAM("fedrcd-x").fit(tmp_path / "rows.csv").feature_names_in_, NAMES)


def test_names_of_columns_of_a_table_are_kept():
    fitted = FedLiNGAM("fedrcd-x").fit(Table(rows(), tuple(NAMES), "rows"))
    np.testing.assert_array_equal(fitted.feature_names_in_, NAMES)


def test_arrays_have_no_names_of_columns():
    assert not hasattr(FedLiNGAM("fedrcd-x").fit(rows()), "feature_names_in_")


def test_fitting_again_forgets_the_names_of_the_first_table():
    assert not hasattr(FedLiNGAM("fedrcd-x").fit(frame()).fit(rows()), "feature_names_in_")
