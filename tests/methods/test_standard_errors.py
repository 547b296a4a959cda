import numpy as np
import pytest

from fedrcd.confidence.standard_errors import effect_errors
from fedrcd.data import random_model
from fedrcd.graphs.dag import total_effects
from fedrcd.methods.weights import refit

RNG = np.random.default_rng(0)
MODEL = random_model(5, noise="exponential", density=0.6, rng=RNG)
EDGES = MODEL.B != 0
ROWS = 1000


def sampled_cov(rng):
    return np.cov(MODEL.sample(ROWS, rng).T, bias=True)


@pytest.fixture(scope="module")
def refits():
    return np.stack([refit(sampled_cov(np.random.default_rng([1, k])), EDGES) for k in range(300)])


def test_direct_errors_are_those_of_a_regression():
    X = MODEL.sample(ROWS, RNG)
    errors = effect_errors(np.cov(X.T, bias=True), ROWS, EDGES)
    target = int(np.argmax(EDGES.sum(axis=1)))
    parents = np.flatnonzero(EDGES[target])
    design = np.column_stack([np.ones(ROWS), X[:, parents]])
    left = X[:, target] - design @ np.linalg.lstsq(design, X[:, target], rcond=None)[0]
    variance = left @ left / (ROWS - design.shape[1]) * np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(errors.direct[target, parents], np.sqrt(np.diagonal(variance))[1:], rtol=1e-8)


@pytest.mark.parametrize("kind", ["direct", "total"])
def test_errors_are_the_spread_over_data_sets(refits, kind):
    seen = refits if kind == "direct" else np.stack([total_effects(B) for B in refits])
    errors = getattr(effect_errors(sampled_cov(np.random.default_rng(2)), ROWS, EDGES), kind)
    there = seen.std(axis=0) > 0
    np.testing.assert_array_equal(errors > 0, there)
    np.testing.assert_allclose(errors[there], seen.std(axis=0)[there], rtol=0.25)


def test_no_edges_have_no_errors():
    errors = effect_errors(np.eye(3), 100, np.zeros((3, 3), dtype=bool))
    assert not errors.direct.any()
    assert not errors.total.any()
