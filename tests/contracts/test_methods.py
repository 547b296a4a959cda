"""What every method promises, whatever it is called and whoever adds it."""

import inspect
from functools import cache

import numpy as np
import pandas as pd
import pytest

from fedrcd import discover
from fedrcd.data import NOISE_FAMILIES, random_model, split_rows
from fedrcd.methods.registry import METHODS
from tests.strategies import estimate

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

NAMES = list(METHODS)
FEDERATED = [name for name in NAMES if not METHODS[name].one_table]
SCALE_FREE = [name for name in NAMES if METHODS[name].scale_free]
P, N = 6, 1201

every_method = pytest.mark.parametrize("method", NAMES)
every_federated_method = pytest.mark.parametrize("method", FEDERATED)
every_scale_free_method = pytest.mark.parametrize("method", SCALE_FREE)


@cache
def rows():
    """Rows of a model with skewed noise, which every method can order."""
    model = random_model(P, noise="exponential", density=0.5, rng=np.random.default_rng(7))
    X = model.sample(N, np.random.default_rng(8))
    X.setflags(write=False)
    return X


@cache
def on_one_table(method):
    return estimate(method, [rows()])


def parts(sites, scheme):
    X = rows()
    by = X[:, 0] if scheme == "sorted" else None
    rng = np.random.default_rng(sites)
    return [X[part] for part in split_rows(N, sites, scheme=scheme, by=by, rng=rng)]


@every_federated_method
@pytest.mark.parametrize("sites", [1, 3, 7])
@pytest.mark.parametrize("scheme", ["iid", "unequal", "sorted"])
def test_splitting_the_rows_changes_no_order(method, sites, scheme):
    assert estimate(method, parts(sites, scheme)).order.tolist() == on_one_table(method).order.tolist()


@every_federated_method
@pytest.mark.parametrize("sites", [1, 3, 7])
@pytest.mark.parametrize("scheme", ["iid", "unequal", "sorted"])
def test_splitting_the_rows_changes_no_effect(method, sites, scheme):
    np.testing.assert_allclose(estimate(method, parts(sites, scheme)).B, on_one_table(method).B, atol=1e-8)


@every_federated_method
@pytest.mark.parametrize("weights", ["bic", "none"])
def test_splitting_the_rows_changes_no_effect_however_edges_are_chosen(method, weights):
    split, whole = (estimate(method, tables, weights=weights) for tables in (parts(3, "unequal"), [rows()]))
    np.testing.assert_allclose(split.B, whole.B, atol=1e-8)


def test_every_method_for_one_table_has_its_federated_counterpart():
    counterparts = {name: METHODS[name].counterpart for name in NAMES if METHODS[name].one_table}
    expected = {"hc": "fedrcd-x", "hc-lingam": "fedrcd-ni", "direct-lingam": "fed-direct"}
    assert counterparts.items() >= expected.items()
    assert set(counterparts.values()) <= set(FEDERATED)


@pytest.mark.parametrize("method", [name for name in NAMES if METHODS[name].one_table])
@pytest.mark.parametrize("noise", NOISE_FAMILIES)
def test_the_federated_counterpart_gives_the_same_order(method, noise):
    rng = np.random.default_rng(11)
    X = random_model(5, noise=noise, density=0.5, rng=rng).sample(400, rng)
    shares = [X[part] for part in split_rows(len(X), 4, scheme="unequal", minimum=2, rng=rng)]
    assert estimate(METHODS[method].counterpart, shares).order.tolist() == estimate(method, [X]).order.tolist()


@every_method
def test_the_order_holds_every_variable_once(method):
    assert sorted(on_one_table(method).order.tolist()) == list(range(P))


@every_method
@pytest.mark.parametrize("weights", ["adaptive-lasso", "bic", "none"])
def test_effects_run_along_the_order(method, weights):
    found = estimate(method, [rows()], weights=weights)
    in_order = found.B[np.ix_(found.order, found.order)]
    assert not np.triu(in_order).any()


@every_method
def test_there_are_effects(method):
    assert on_one_table(method).B.any()


@every_scale_free_method
@pytest.mark.parametrize("seed", range(5))
def test_units_change_no_order_of_a_scale_free_method(method, seed):
    factor = 10 ** np.random.default_rng(seed).uniform(-6, 6, P)
    assert estimate(method, [rows() * factor]).order.tolist() == on_one_table(method).order.tolist()


@every_scale_free_method
@pytest.mark.parametrize("seed", range(5))
def test_units_rescale_the_effects_of_a_scale_free_method(method, seed):
    factor = 10 ** np.random.default_rng(seed).uniform(-6, 6, P)
    found = estimate(method, [rows() * factor])
    np.testing.assert_allclose(found.B / factor[:, None] * factor, on_one_table(method).B, atol=1e-8)


@every_method
@pytest.mark.parametrize("weights", ["bic", "none"])
def test_one_factor_for_all_columns_changes_nothing(method, weights):
    """Even a method that is not scale-free may not depend on the unit of all variables together."""
    found = estimate(method, [rows() * 1e-3], weights=weights)
    whole = estimate(method, [rows()], weights=weights)
    assert found.order.tolist() == whole.order.tolist()
    np.testing.assert_allclose(found.B, whole.B, atol=1e-8)


@every_method
@pytest.mark.parametrize("seed", range(3))
def test_columns_in_another_order_give_the_same_result(method, seed):
    permutation = np.random.default_rng(seed).permutation(P)
    found = estimate(method, [np.ascontiguousarray(rows()[:, permutation])])
    assert permutation[found.order].tolist() == on_one_table(method).order.tolist()
    expected = on_one_table(method).B[np.ix_(permutation, permutation)]
    np.testing.assert_allclose(found.B, expected, atol=1e-8)


@every_method
def test_rows_in_another_order_give_the_same_result(method):
    found = estimate(method, [rows()[::-1].copy()])
    assert found.order.tolist() == on_one_table(method).order.tolist()
    np.testing.assert_allclose(found.B, on_one_table(method).B, atol=1e-8)


@every_method
def test_constants_added_to_columns_change_nothing(method):
    shift = np.array([0.0, 1.0, -1.0, 100.0, -1e4, 1e4])
    found = estimate(method, [rows() + shift])
    assert found.order.tolist() == on_one_table(method).order.tolist()
    np.testing.assert_allclose(found.B, on_one_table(method).B, atol=1e-8)


@every_method
def test_the_same_tables_give_the_same_bits(method):
    first, second = (estimate(method, [rows().copy()]) for _ in range(2))
    np.testing.assert_array_equal(first.order, second.order)
    np.testing.assert_array_equal(first.B, second.B)
    for one, other in zip(first.steps, second.steps, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)


@every_method
def test_names_survive(method):
    names = ["age", "dose", "blood pressure", "größe", "0", "x1"]
    frame = pd.DataFrame(rows(), columns=names)
    found = discover(frame, method)
    assert found.names == tuple(names)
    assert found.order == tuple(names[i] for i in on_one_table(method).order)


@every_method
def test_columns_are_matched_by_name(method):
    names = [f"v{i}" for i in range(P)]
    whole = pd.DataFrame(rows(), columns=names)
    top, bottom = whole.iloc[:500], whole.iloc[500:][names[::-1]]
    found = discover([top, bottom], method, stack=METHODS[method].one_table)
    assert found.order == tuple(names[i] for i in on_one_table(method).order)


@every_method
def test_two_variables_are_enough(method):
    assert sorted(estimate(method, [rows()[:, :2].copy()]).order.tolist()) == [0, 1]


@every_method
def test_options_are_given_by_name_and_have_defaults(method):
    for parameter in inspect.signature(METHODS[method].recipe).parameters.values():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default is not inspect.Parameter.empty


@every_method
def test_every_step_chooses_the_best_candidate(method):
    for step in on_one_table(method).steps:
        assert step.chosen == step.candidates[int(np.argmax(step.scores))]


@every_method
def test_a_margin_is_the_distance_to_the_runner_up(method):
    for step in on_one_table(method).steps:
        best, runner_up = np.sort(step.scores)[::-1][:2]
        assert step.margin == best - runner_up


@every_method
def test_candidates_are_those_not_yet_chosen(method):
    steps = on_one_table(method).steps
    chosen = [step.chosen for step in steps]
    assert [set(step.candidates) for step in steps] == [set(range(P)) - set(chosen[:k]) for k in range(P - 1)]
