import warnings

import numpy as np
import pytest

import fedrcd
from fedrcd.data.simulate.models import random_model
from fedrcd.errors import ConfigError, FedrcdWarning, ModelWarning, OutlierWarning, ScaleWarning
from fedrcd.graphs.metrics import ancestral_accuracy


@pytest.fixture(scope="module")
def simulated():
    rng = np.random.default_rng(2)
    model = random_model(8, density=0.5, noise_sd=(1.0, 1.0), rng=rng)
    return model, model.sample(4000, rng)


def accuracy(found, model):
    return ancestral_accuracy([model.names.index(name) for name in found.order], model.B)


def test_an_order_that_is_the_sort_by_variance_is_warned_of(simulated):
    _, X = simulated
    with pytest.warns(ScaleWarning, match="fedrcd-s"):
        found = fedrcd.discover(X[:, np.argsort(X.var(axis=0))], "fedrcd-ni")
    assert found.variance_agreement >= 0.9
    assert "scale may have decided" in found.notes[0]


def test_a_scale_free_method_is_not_suspected(simulated):
    _, X = simulated
    with warnings.catch_warnings():
        warnings.simplefilter("error", FedrcdWarning)
        assert fedrcd.discover(X, "fedrcd-s").notes == ()


def test_auto_tells_what_it_chose_and_why(simulated):
    _, X = simulated
    found = fedrcd.discover(X)
    assert found.method == "fedrcd-se"
    assert "rounds cost nothing" in found.chosen
    assert fedrcd.discover(X, "fedrcd-s").chosen == ""


def test_auto_takes_no_options_of_single_methods(simulated):
    with pytest.raises(ConfigError, match="negentropy"):
        fedrcd.discover(simulated[1], negentropy="edgeworth")


def test_gross_errors_are_pointed_out_and_trimming_mends_them(simulated):
    model, X = simulated
    rng = np.random.default_rng(0)
    spoiled = X.copy()
    cells = rng.random(X.shape) < 0.001
    spoiled[cells] = 200 * X.std() * rng.choice([-1, 1], cells.sum())
    with pytest.warns(OutlierWarning, match="trim=8"):
        wrong = fedrcd.discover(spoiled, "fedrcd-s")
    with pytest.warns(OutlierWarning, match="fedrcd-r"):
        robust = fedrcd.discover(spoiled)
    with pytest.warns(OutlierWarning, match="left out"):
        trimmed = fedrcd.discover(spoiled, trim=8)
    assert accuracy(trimmed, model) > max(0.99, accuracy(wrong, model))
    assert trimmed.rows < 4000
    assert robust.method == "fedrcd-r"
    assert "stand far apart" in robust.chosen
    assert accuracy(robust, model) > max(0.99, accuracy(wrong, model))


def test_trimming_spares_a_site_with_units_of_its_own(simulated):
    _, X = simulated
    tables = [X[:2000], 50 * X[2000:]]
    whole = fedrcd.discover(tables, within="standardise")
    trimmed = fedrcd.discover(tables, within="standardise", trim=20)
    assert trimmed.rows == whole.rows == 4000
    assert trimmed.order == whole.order


@pytest.mark.parametrize("trim", [0, -1, float("nan")])
def test_an_impossible_trim_is_refused(simulated, trim):
    with pytest.raises(ConfigError, match="trim"):
        fedrcd.discover(simulated[1], trim=trim)


@pytest.mark.parametrize("tables", ["second.csv", np.ones((3, 2))], ids=["path", "array"])
def test_several_tables_without_a_list_are_told_to_go_in_one(simulated, tables):
    with pytest.raises(ConfigError, match="go in one list"):
        fedrcd.discover(simulated[1], tables)


def test_the_trace_explains_the_order_before_refinement(simulated):
    found = fedrcd.discover(simulated[1], "fedrcd-sp")
    assert found.start[:-1] == tuple(step.chosen for step in found.trace)


def test_rare_values_are_not_called_gross_errors(simulated):
    X = simulated[1].copy()
    X[:, 0] = 0
    X[:5, 0] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutlierWarning)
        fedrcd.discover(X)


def test_whether_sites_differ_is_judged_before_rows_are_lost_for_it():
    rows = np.random.default_rng(0).laplace(size=(1000, 3))
    found = fedrcd.discover([rows[:500], 50 * rows[500:] + 1000], "fedrcd-s", within="auto", trim=20)
    assert "within='standardise'" in found.chosen
    assert found.rows == 1000


def coded(simulated):
    """A table with a binary and an ordinal column."""
    _, X = simulated
    Y = X.copy()
    Y[:, 0] = X[:, 0] > np.median(X[:, 0])
    Y[:, 3] = np.digitize(X[:, 3], np.quantile(X[:, 3], [0.3, 0.6, 0.9]))
    return Y


def test_variables_of_few_levels_are_noted_with_what_that_does_to_arrows(simulated):
    Y = coded(simulated)
    [note] = [note for note in fedrcd.discover([Y[:1500], Y[1500:]], "fedrcd-s").notes if "few levels" in note]
    assert "'x1' (binary), 'x4' (4 levels)" in note
    assert "exogenous" in note


def test_a_column_of_few_levels_at_one_site_only_is_not(simulated):
    _, X = simulated
    rows = X.copy()
    rows[:1500, 0] = X[:1500, 0] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedrcdWarning)
        notes = fedrcd.discover([rows[:1500], rows[1500:]], "fedrcd-s").notes
    assert not [note for note in notes if "few levels" in note]


def test_the_note_on_few_levels_is_no_warning(simulated):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FedrcdWarning)
        warnings.simplefilter("ignore", ModelWarning)
        fedrcd.discover(coded(simulated), "fedrcd-s")
