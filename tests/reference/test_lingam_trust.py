"""Prior knowledge, total effects and bootstrap queries against the lingam package."""

import warnings

import numpy as np
import pytest

from fedrcd import FedLiNGAM, make_prior_knowledge
from fedrcd.api.bootstrap_result import Bootstrap
from fedrcd.data import random_model
from fedrcd.errors import ConfigError
from fedrcd.graphs.knowledge.statements import Knowledge

pytestmark = pytest.mark.reference


def random_statements(p, rng):
    pairs = [tuple(int(k) for k in rng.choice(p, 2, replace=False)) for _ in range(4)]
    return {
        "exogenous_variables": [int(rng.integers(p))] if rng.random() < 0.4 else None,
        "sink_variables": [int(rng.integers(p))] if rng.random() < 0.4 else None,
        "paths": pairs[:1],
        "no_paths": pairs[1:3],
    }


def test_the_matrix_of_prior_knowledge_is_lingam_s():
    from lingam.utils import make_prior_knowledge as theirs

    rng = np.random.default_rng(0)
    for _ in range(50):
        statements = random_statements(6, rng)
        np.testing.assert_array_equal(make_prior_knowledge(6, **statements), theirs(6, **statements))


def test_orders_and_weights_under_a_matrix_are_lingam_s():
    import lingam

    compared = 0
    for seed in range(20):
        rng = np.random.default_rng([1, seed])
        model = random_model(5, noise="laplace", density=0.5, rng=rng)
        X = model.sample(400, rng)
        matrix = make_prior_knowledge(5, **random_statements(5, rng))
        try:
            Knowledge.from_matrix(matrix, model.names).constraints(model.names)
        except ConfigError:
            continue
        before = ((matrix == 0) & (matrix.T != 0)).T | (matrix == 1)
        if np.linalg.matrix_power(before.astype(int), 5).any():
            continue  # lingam has no order for statements that close a circle
        theirs = lingam.DirectLiNGAM(prior_knowledge=matrix).fit(X)
        ours = FedLiNGAM("direct-lingam", weights="bic", prior_knowledge=matrix).fit(X)
        assert ours.causal_order_ == [int(k) for k in theirs.causal_order_]
        path_only = (matrix == 1) & (theirs.adjacency_matrix_ == 0)
        if not path_only.any() and not ((matrix == 0) & (matrix.T == 0)).any():
            np.testing.assert_allclose(ours.adjacency_matrix_, theirs.adjacency_matrix_, atol=0.05)
            compared += 1
    assert compared >= 5


def test_total_effects_are_lingam_s():
    import lingam

    rng = np.random.default_rng(2)
    model = random_model(5, noise="exponential", density=0.6, rng=rng)
    X = model.sample(1000, rng)
    theirs, ours = lingam.DirectLiNGAM().fit(X), FedLiNGAM("direct-lingam", weights="bic").fit(X)
    order = ours.causal_order_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start, end in ((order[0], order[-1]), (order[1], order[3])):
            expected = theirs.estimate_total_effect(X, start, end)
            assert ours.estimate_total_effect(X, start, end) == pytest.approx(expected, rel=1e-6)


def test_queries_of_a_bootstrap_are_lingam_s():
    import lingam

    rng = np.random.default_rng(3)
    X = random_model(5, noise="laplace", density=0.5, rng=rng).sample(150, rng)
    ours = FedLiNGAM("fedrcd-s").bootstrap(X, 25, random_state=0, n_jobs=1)
    assert isinstance(ours, Bootstrap)
    theirs = lingam.BootstrapResult(ours.adjacency_matrices_, ours.total_effects_)
    np.testing.assert_allclose(ours.get_probabilities(0.1), theirs.get_probabilities(0.1))
    for query, arguments in (
        ("get_causal_direction_counts", {"split_by_causal_effect_sign": True}),
        ("get_causal_direction_counts", {"min_causal_effect": 0.2}),
        ("get_total_causal_effects", {"min_causal_effect": 0.05}),
    ):
        mine, other = (listed(getattr(one, query)(**arguments)) for one in (ours, theirs))
        assert mine == other
    for start in range(5):
        for end in range(5):
            if start != end and theirs.get_total_causal_effects():
                mine, other = (paths(one.get_paths(start, end)) for one in (ours, theirs))
                assert mine == other
    mine, other = (one.get_directed_acyclic_graph_counts() for one in (ours, theirs))
    assert sorted(mine["count"]) == sorted(other["count"])
    assert {str(dag) for dag in mine["dag"]} == {str(dag) for dag in other["dag"]}


def listed(columns):
    """Rows of a table of lists, in any order."""
    keys = sorted(columns)
    return sorted(
        tuple(round(float(value), 9) for value in row) for row in zip(*(columns[k] for k in keys), strict=True)
    )


def paths(found):
    return {
        tuple(path): (round(float(effect), 9), round(probability, 9))
        for path, effect, probability in zip(found["path"], found["effect"], found["probability"], strict=True)
    }
