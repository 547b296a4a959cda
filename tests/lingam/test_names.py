"""The classes of lingam: what they are constructed from, and what they give."""

import importlib
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import fedrcd
from fedrcd import lingam as ours
from fedrcd.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # few rows, and notes on them


def replicates(seed=3):
    """Effects in replicates of which no two agree, in edges of both signs; and their total effects."""
    rng = np.random.default_rng(seed)
    B = np.tril(rng.normal(size=(12, 4, 4)) * (rng.uniform(size=(12, 4, 4)) < 0.6), -1)
    return B, np.linalg.inv(np.eye(4) - B) - np.eye(4)


def test_a_model_is_of_its_class(lingam, frame):
    model = lingam.DirectLiNGAM()
    assert isinstance(model, lingam.DirectLiNGAM)
    assert isinstance(model.fit(frame), lingam.DirectLiNGAM)
    assert isinstance(model.bootstrap(frame.iloc[:, :3], n_sampling=2), lingam.BootstrapResult)


def test_there_is_a_version(lingam):
    assert lingam.__version__.count(".") == 2


def test_the_version_is_ours():
    assert ours.__version__ == fedrcd.__version__


def test_a_table_may_come_with_or_without_names(lingam, frame):
    rows = frame.to_numpy()
    with_names, without = lingam.DirectLiNGAM().fit(frame), lingam.DirectLiNGAM().fit(rows)
    once = with_names.estimate_total_effect(frame, 3, 1)
    assert with_names.estimate_total_effect(rows, 3, 1) == pytest.approx(once)
    assert without.estimate_total_effect(frame, 3, 1) == pytest.approx(once)
    few = frame[:200]
    p_values = with_names.get_error_independence_p_values(few)
    np.testing.assert_allclose(with_names.get_error_independence_p_values(few.to_numpy()), p_values)
    np.testing.assert_allclose(without.get_error_independence_p_values(few), p_values)


def test_prior_knowledge_may_be_a_frame_with_any_negative_numbers(lingam, frame):
    known = lingam.utils.make_prior_knowledge(6, sink_variables=[0, 1, 4], exogenous_variables=[3])
    once = lingam.DirectLiNGAM(prior_knowledge=known).fit(frame)
    for same in (pd.DataFrame(known), np.where(known < 0, -3.5, known), known.tolist()):
        again = lingam.DirectLiNGAM(prior_knowledge=same).fit(frame)
        assert again.causal_order_ == once.causal_order_
        np.testing.assert_array_equal(again.adjacency_matrix_, once.adjacency_matrix_)


def test_a_replicate_is_a_fit_of_its_rows(lingam, frame):
    rows = frame.to_numpy()[:200, :4]
    result = lingam.DirectLiNGAM(random_state=1).bootstrap(rows, n_sampling=3)
    assert len(result.resampled_indices_) == 3
    for drawn, B in zip(result.resampled_indices_, result.adjacency_matrices_, strict=True):
        assert len(drawn) == 200
        np.testing.assert_allclose(lingam.DirectLiNGAM().fit(rows[drawn]).adjacency_matrix_, B, atol=1e-9)


def test_rows_with_gaps_are_never_drawn(frame):
    gaps = frame.iloc[:300, :3].copy()
    gaps.iloc[::3, 1] = np.nan
    tables = [gaps[:100], gaps[100:]]
    result = ours.DirectLiNGAM(random_state=1).bootstrap(tables, n_sampling=2)
    for drawn, B in zip(result.resampled_indices_, result.adjacency_matrices_, strict=True):
        assert (drawn % 3 != 0).all()
        np.testing.assert_allclose(ours.DirectLiNGAM().fit(gaps.iloc[drawn]).adjacency_matrix_, B, atol=1e-9)


def test_replicates_of_one_seed_are_the_same_and_others_are_not(frame):
    def effects(**state):
        return ours.DirectLiNGAM(**state).bootstrap(frame[:200], n_sampling=2).adjacency_matrices_

    np.testing.assert_array_equal(effects(random_state=5), effects(random_state=5))
    assert not np.array_equal(effects(), effects())


def test_a_bootstrap_tells_more_than_lingams(frame):
    result = ours.DirectLiNGAM(random_state=0).bootstrap(frame, n_sampling=5)
    assert {"low", "high"} <= set(result.bootstrap_.intervals().columns)


def test_a_result_is_made_of_matrices(lingam):
    B, total = replicates()
    result = lingam.BootstrapResult(B, total)
    assert result.resampled_indices_ is None
    np.testing.assert_array_equal(result.adjacency_matrices_, B)
    np.testing.assert_array_equal(result.total_effects_, total)
    assert lingam.BootstrapResult(B, total, [[0, 1]]).resampled_indices_ == [[0, 1]]


def rows_of(counts):
    """Lists of one length as rows, whatever order they come in."""
    return sorted(json.dumps(row, default=int) for row in zip(*counts.values(), strict=True))


@pytest.mark.reference
@pytest.mark.parametrize("limit", [None, 0.5])
@pytest.mark.parametrize("query", ["get_causal_direction_counts", "get_directed_acyclic_graph_counts"])
def test_counts_are_those_of_lingam(query, limit):
    both = [module.BootstrapResult(*replicates()) for module in (ours, importlib.import_module("lingam"))]
    own, theirs = (getattr(one, query)(min_causal_effect=limit, split_by_causal_effect_sign=True) for one in both)
    assert own.keys() == theirs.keys()
    assert rows_of(own) == rows_of(theirs)


@pytest.mark.reference
@pytest.mark.parametrize("limit", [None, 0.5])
def test_probabilities_effects_and_paths_are_those_of_lingam(limit):
    both = [module.BootstrapResult(*replicates()) for module in (ours, importlib.import_module("lingam"))]
    np.testing.assert_array_equal(*(one.get_probabilities(limit) for one in both))
    effects = [pd.DataFrame(one.get_total_causal_effects(limit)).sort_values(["from", "to"]) for one in both]
    pd.testing.assert_frame_equal(*(one.reset_index(drop=True) for one in effects))
    paths = [pd.DataFrame(one.get_paths(0, 3, limit)).sort_values("path") for one in both]
    pd.testing.assert_frame_equal(*(one.reset_index(drop=True) for one in paths))


def test_matrices_that_make_no_result_are_refused():
    B, total = replicates()
    with pytest.raises(ConfigError, match="square matrices, one per replicate"):
        ours.BootstrapResult(B[0], total[0])
    with pytest.raises(ConfigError, match="the same shape"):
        ours.BootstrapResult(B, total[:3])
    with pytest.raises(ConfigError, match="without cycles"):
        ours.BootstrapResult(B + np.swapaxes(B, 1, 2), total)


def test_a_model_is_an_estimator_of_scikit_learn(frame):
    known = ours.make_prior_knowledge(6, exogenous_variables=[3])
    model = ours.DirectLiNGAM(random_state=7, prior_knowledge=known).fit(frame)
    check_is_fitted(model)
    copy = clone(model)
    np.testing.assert_array_equal(copy.get_params()["prior_knowledge"], known)
    assert copy.get_params()["random_state"] == 7
    assert not hasattr(copy, "causal_order_")
    assert pickle.loads(pickle.dumps(model)).causal_order_ == model.causal_order_


def test_a_model_that_is_not_fitted_says_so(frame):
    with pytest.raises(ConfigError, match="this DirectLiNGAM is not fitted yet"):
        ours.DirectLiNGAM().estimate_total_effect(frame, 0, 1)
