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
    fitted = FedLiNGAM("fedrcd-x").fit(Table(rows(), columns=tuple(NAMES), source="rows"))
    np.testing.assert_array_equal(fitted.feature_names_in_, NAMES)


def test_arrays_have_no_names_of_columns():
    assert not hasattr(FedLiNGAM("fedrcd-x").fit(rows()), "feature_names_in_")


def test_fitting_again_forgets_the_names_of_the_first_table():
    assert not hasattr(FedLiNGAM("fedrcd-x").fit(frame()).fit(rows()), "feature_names_in_")


def test_numbers_of_columns_are_no_names():
    fitted = FedLiNGAM("fedrcd-x").fit(pd.DataFrame(rows()))
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.estimate_total_effect(rows(), 0, 1) == fitted.estimate_total_effect(pd.DataFrame(rows()), 0, 1)


@pytest.mark.parametrize(
    ("first", "then"),
    [(frame, rows), (rows, frame), (lambda: pd.DataFrame(rows()), frame)],
    ids=["names-first", "array-first", "numbers-first"],
)
def test_columns_are_found_by_position_where_one_table_has_no_names(first, then):
    fitted = FedLiNGAM("fedrcd-x").fit(first())
    start, *_, end = fitted.causal_order_
    assert fitted.estimate_total_effect(then(), start, end) == fitted.estimate_total_effect(first(), start, end)
    np.testing.assert_array_equal(
        fitted.get_error_independence_p_values(then()), fitted.get_error_independence_p_values(first())
    )


def test_columns_of_several_tables_are_found_by_position():
    fitted = FedLiNGAM("fedrcd-x").fit([rows()[:200], rows()[200:]])
    start, *_, end = fitted.causal_order_
    once = fitted.estimate_total_effect([rows()[:200], rows()[200:]], start, end)
    assert fitted.estimate_total_effect([frame()[:200], frame()[200:]], start, end) == once


def test_a_name_that_an_array_would_get_does_not_reorder_columns():
    fitted = FedLiNGAM("fedrcd-x").fit(rows())
    start, *_, end = fitted.causal_order_
    reversed_names = pd.DataFrame(rows(), columns=["x5", "x4", "x3", "x2", "x1"])
    once = fitted.estimate_total_effect(rows(), start, end)
    assert fitted.estimate_total_effect(reversed_names, start, end) == once


def test_columns_are_found_by_name_where_both_tables_have_names():
    fitted = FedLiNGAM("fedrcd-x").fit(frame())
    start, *_, end = fitted.causal_order_
    once = fitted.estimate_total_effect(frame(), start, end)
    assert fitted.estimate_total_effect(frame()[NAMES[::-1]], start, end) == pytest.approx(once)
    with pytest.raises(ConfigError, match="columns of the tables"):
        fitted.estimate_total_effect(frame().rename(columns={"age": "years"}), start, end)


def test_columns_without_names_must_be_as_many_as_were_fitted():
    with pytest.raises(ConfigError, match="the table has 4 columns, but 5 were fitted"):
        FedLiNGAM("fedrcd-x").fit(frame()).estimate_total_effect(rows()[:, :4], 0, 1)


def with_site_effects():
    shifted = frame()
    shifted.loc[300:] += 100.0
    return [shifted[:300], shifted[300:]]


def with_gaps():
    table = frame()
    table.iloc[::7, 0] = -9.0
    table.iloc[3::11, 2] = np.nan
    return table


READINGS = {
    "drop": (frame, {"drop": ["age"]}),
    "within": (with_site_effects, {"within": "centre"}),
    "within-auto": (with_site_effects, {"within": "auto"}),
    "missing": (with_gaps, {"missing": "expected", "missing_codes": [-9.0]}),
    "missing-available": (with_gaps, {"missing": "available", "missing_codes": [-9.0]}),
    "arithmetic": (frame, {"arithmetic": "exact"}),
    "trim": (frame, {"trim": 8.0}),
}


@pytest.mark.parametrize("name", READINGS)
def test_tables_are_read_alike_by_all_methods(name):
    table, parameters = READINGS[name]
    estimator = FedLiNGAM("fedrcd-sp", **parameters).fit(table())
    found = discover(table(), "fedrcd-sp", **parameters)
    np.testing.assert_array_equal(estimator.adjacency_matrix_, found.B)
    start, *_, end = estimator.causal_order_
    total = estimator.estimate_total_effect(table(), start, end)
    expected = found.total_effects().to_numpy()[end, start]
    assert total == pytest.approx(expected, abs=0.2)
    assert estimator.get_error_independence_p_values(table()).shape == estimator.adjacency_matrix_.shape


@pytest.mark.parametrize("name", ["drop", "within", "arithmetic"])
def test_a_bootstrap_reads_tables_as_fit_does(name):
    table, parameters = READINGS[name]
    estimator = FedLiNGAM("fedrcd-t", **parameters)
    assert estimator.bootstrap(table(), 3, 0, n_jobs=1).names == estimator.fit(table()).discovery_.names


@pytest.mark.parametrize(
    "name", ["drop", "within", "missing", "missing_codes", "trim", "arithmetic", "stack", "weights", "method"]
)
def test_a_parameter_among_the_options_is_named(name):
    assert name in FedLiNGAM().get_params()
    with pytest.raises(ConfigError, match=f"set the parameter {name} of FedLiNGAM"):
        FedLiNGAM(options={name: "x"}).fit(frame())


def test_knowledge_among_the_options_is_told_its_name():
    with pytest.raises(ConfigError, match="set the parameter prior_knowledge"):
        FedLiNGAM(options={"knowledge": None}).fit(frame())


def test_how_tables_are_read_survives_a_clone():
    estimator = FedLiNGAM(drop=["age"], within="centre", missing="available", missing_codes=[-9.0], arithmetic="exact")
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.set_params(drop=["dose"]).fit(frame()).discovery_.names == ("age", "pain", "sleep", "score")


def known_matrix():
    known = np.full((5, 5), -1)
    known[1, 0] = 1
    known[:, 4] = 0
    return known


def fitted_with(prior_knowledge):
    return FedLiNGAM("fedrcd-x", prior_knowledge=prior_knowledge).fit(frame()).adjacency_matrix_


def test_any_number_below_zero_in_prior_knowledge_means_unknown():
    known = known_matrix()
    np.testing.assert_array_equal(fitted_with(np.where(known < 0, -7.5, known)), fitted_with(known))


@pytest.mark.parametrize("labels", [None, NAMES, list("abcde")], ids=["numbers", "names", "other names"])
def test_prior_knowledge_may_be_a_frame(labels):
    known = pd.DataFrame(known_matrix(), index=labels, columns=labels)
    np.testing.assert_array_equal(fitted_with(known), fitted_with(known_matrix()))


def test_a_frame_of_prior_knowledge_is_read_by_the_names_of_variables():
    known = pd.DataFrame(known_matrix(), index=NAMES, columns=NAMES).loc[NAMES[::-1], sorted(NAMES)]
    np.testing.assert_array_equal(fitted_with(known), fitted_with(known_matrix()))


@pytest.mark.parametrize("wrong", [[["a"]], np.full((5, 5), 0.5), np.full((5, 5), np.nan), [[1], [1, 0]]])
def test_a_matrix_of_prior_knowledge_holds_three_numbers(wrong):
    with pytest.raises(ConfigError, match="a matrix of prior knowledge"):
        fitted_with(wrong)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_misspelt_label_of_prior_knowledge_is_refused_not_read_by_position(axis):
    known = pd.DataFrame(known_matrix(), index=NAMES, columns=NAMES).rename({"pain": "Pain"}, axis=axis)
    with pytest.raises(ConfigError, match=r"label of the (rows|columns).* no variable 'Pain'; did you mean 'pain'"):
        fitted_with(known)


def test_labels_of_prior_knowledge_count_by_position_where_columns_have_no_names():
    labels = [f"x{i}" for i in range(5)]  # lingam's, of which some are ours for other columns
    known = pd.DataFrame(known_matrix(), index=labels, columns=labels)
    fitted = FedLiNGAM("fedrcd-x", prior_knowledge=known).fit(rows()).adjacency_matrix_
    np.testing.assert_array_equal(fitted, fitted_with(known_matrix()))


def by_bootstrap(seed, **options):
    model = FedLiNGAM("fedrcd-ni", weights="bootstrap", random_state=seed, options={"n_sampling": 9, **options})
    return model.fit(frame()).discovery_


def test_edges_by_bootstrap_have_the_seed_of_the_estimator():
    assert np.array_equal(by_bootstrap(3).confidence, by_bootstrap(3).confidence)
    assert not np.array_equal(by_bootstrap(3).confidence, by_bootstrap(4).confidence)
    assert by_bootstrap(3).settings["bootstrap"]["random_state"] == 3
    assert by_bootstrap(3, random_state=5).settings["bootstrap"]["random_state"] == 5


def test_the_selection_within_replicates_is_that_of_the_estimator():
    settings = {"n_sampling": 8, "random_state": 1, "n_jobs": 1}
    by_bic = FedLiNGAM("fedrcd-ni", weights="bic").bootstrap(frame(), **settings)
    model = FedLiNGAM("fedrcd-ni", weights="bootstrap", options={"base": "bic", "groups": 12})
    np.testing.assert_array_equal(model.bootstrap(frame(), **settings).adjacency_matrices_, by_bic.adjacency_matrices_)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"random_state": "a"}, "random_state must be a whole number"),
        ({"options": {"variables": NAMES[::-1]}}, r"options\['variables'\]: no method has"),
        ({"options": {"n_jobs": 1}}, r"options\['n_jobs'\]: no method has"),
        ({"options": "x"}, "options must be a dict"),
        ({"weights": "bootstrap", "options": {"base": "x"}}, "base must be one of adaptive-lasso"),
        ({"options": {"progress": 3}}, "progress must be a function"),
        ({"missing_codes": "x"}, "missing_codes must be a list of numbers"),
    ],
)
def test_wrong_parameters_are_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        FedLiNGAM(**changes).fit(frame())


def test_a_single_missing_code_needs_no_list():
    coded = frame()
    coded.iloc[3, 2] = -9
    one, several = (FedLiNGAM("fedrcd-ni", missing_codes=codes).fit(coded).discovery_ for codes in (-9, [-9]))
    assert one.settings == several.settings == {"missing_codes": [-9]}
    assert one.rows == 599


@pytest.mark.parametrize("index", [True, 5, "a"])
def test_effects_are_asked_for_by_number(index):
    with pytest.raises(ConfigError, match="from_index must be the number of a variable"):
        FedLiNGAM("fedrcd-ni").fit(frame()).estimate_total_effect(frame(), index, 3)
