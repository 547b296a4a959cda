import numpy as np
import pytest

from fedrcd.statistics.residual_sums import residual_sums
from fedrcd.statistics.residual_tests import (
    at_least_one,
    independence,
    linearity,
    non_gaussianity,
    sites_alike,
)

ORDER = np.array([2, 0, 1])


def sums_of(X, parts=1, order=ORDER):
    """Sums of the residuals along an order, over parts of the rows."""
    mean, cov = X.mean(axis=0), np.cov(X.T, bias=True)
    W = np.zeros_like(cov)
    W[order[:, None], order] = np.linalg.inv(np.linalg.cholesky(cov[np.ix_(order, order)]))
    pieces = [
        residual_sums([piece], W, W @ mean, mean, np.sqrt(np.diagonal(cov))) for piece in np.array_split(X, parts)
    ]
    total = pieces[0].finished()
    for piece in pieces[1:]:
        total = total + piece.finished()
    return total, (X - mean) @ W.T, (X - mean) / np.sqrt(np.diagonal(cov))


def valid(rng, n=3000):
    e = rng.uniform(-1, 1, size=(n, 3))
    X = e.copy()
    X[:, 0] += 0.8 * X[:, 2]
    X[:, 1] += 0.5 * X[:, 0] - 0.4 * X[:, 2]
    return X


def test_sums_are_those_of_the_rows_and_add_over_parts():
    sums, u, y = sums_of(valid(np.random.default_rng(0)), parts=3)
    np.testing.assert_allclose(sums.powers, [(u**k).sum(axis=0) for k in range(13)], rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(sums.c31, (u**3).T @ u, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sums.c22, (u**2).T @ u**2, rtol=1e-8)
    np.testing.assert_allclose(sums.squares, (y**2).T @ u, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sums.even, [(y**k).sum(axis=0) for k in (4, 6, 8)], rtol=1e-8)
    assert sums.site.sums[0].tolist() == [3, 3, 3]
    whole, _, _ = sums_of(valid(np.random.default_rng(0)))
    np.testing.assert_allclose((sums - sums).powers, 0)
    np.testing.assert_allclose(sums.c21, whole.c21, rtol=1e-8, atol=1e-8)


def test_residuals_are_uncorrelated_and_standardised():
    sums, _, _ = sums_of(valid(np.random.default_rng(1)))
    np.testing.assert_allclose(sums.powers[1] / sums.count, 0, atol=1e-10)
    np.testing.assert_allclose(sums.powers[2] / sums.count, 1, atol=1e-10)


@pytest.fixture(scope="module")
def simulated():
    """P-values of all tests over valid models."""
    edges = np.zeros((3, 3), dtype=bool)
    edges[0, 2] = edges[1, 0] = edges[1, 2] = True
    independent, linear, alike = [], [], []
    for k in range(400):
        sums, _, _ = sums_of(valid(np.random.default_rng([2, k]), 1500), parts=4)
        independent.append(independence(sums, ORDER).p_values[np.triu_indices(3, 1)])
        linear.append(linearity(sums, ORDER, edges).p_values[edges])
        alike.append(np.concatenate(sites_alike(sums.site)))
    return {"independence": np.array(independent), "linearity": np.array(linear), "sites": np.array(alike)}


@pytest.mark.parametrize("name", ["independence", "linearity", "sites"])
def test_p_values_are_uniform_on_valid_models(simulated, name):
    p_values = simulated[name].ravel()
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(p_values < level) - level) < 4 * np.sqrt(level / len(p_values))


def test_dependence_is_seen_where_it_is():
    rng = np.random.default_rng(3)
    X = valid(rng)
    hidden = rng.exponential(size=len(X)) - 1
    X[:, 0] += 0.6 * hidden
    X[:, 1] += 0.6 * hidden
    tests = independence(sums_of(X)[0], ORDER)
    assert np.unravel_index(np.argmin(tests.p_values), (3, 3)) == (0, 1)
    assert tests.p_values.min() < 1e-6
    np.testing.assert_array_equal(tests.p_values, tests.p_values.T)


def test_a_bent_edge_is_seen_where_it_is():
    rng = np.random.default_rng(4)
    X = valid(rng)
    X[:, 1] += 0.3 * X[:, 2] ** 2
    edges = np.array([[False, False, True], [True, False, True], [False, False, False]])
    p_values = linearity(sums_of(X)[0], ORDER, edges).p_values
    assert np.unravel_index(np.argmin(p_values), (3, 3)) == (1, 2)
    assert p_values[1, 2] < 1e-6
    assert (p_values[~edges] == 1).all()


def test_heavy_tails_withhold_the_verdict():
    rng = np.random.default_rng(5)
    X = valid(rng, 500) + 0.1 * rng.normal(size=(500, 3)) ** 5
    assert not independence(sums_of(X)[0], ORDER).tells[np.triu_indices(3, 1)].all()


def test_two_point_noise_leaves_out_what_does_not_vary():
    rng = np.random.default_rng(6)
    X = rng.choice([-1.0, 1.0], size=(2000, 3))
    p_values = independence(sums_of(X)[0], ORDER).p_values
    assert np.isfinite(p_values).all()
    assert p_values.min() > 1e-4


def test_non_gaussianity_has_its_sampling_error():
    rng = np.random.default_rng(7)
    seen = [non_gaussianity(sums_of(rng.beta(1, 4, size=(2000, 3)))[0]) for _ in range(150)]
    for value, error in (("skewness", "skewness_error"), ("kurtosis", "kurtosis_error")):
        spread = np.std([getattr(one, value) for one in seen])
        assert np.mean([getattr(one, error) for one in seen]) == pytest.approx(spread, rel=0.25)
    gaussian = np.concatenate([non_gaussianity(sums_of(rng.normal(size=(2000, 3)))[0]).p_values for _ in range(150)])
    assert abs(np.mean(gaussian < 0.05) - 0.05) < 0.035


def test_sites_that_differ_are_seen():
    rng = np.random.default_rng(8)
    X = valid(rng)
    X[:1000, 2] += 0.2
    X[1000:2000, 1] *= 1.3
    means, variances = sites_alike(sums_of(X, parts=3)[0].site)
    assert np.argmin(means) == 2
    assert np.argmin(variances) == 1
    alone = sites_alike(sums_of(X)[0].site)
    assert all((p_values == 1).all() for p_values in alone)


def test_the_smallest_of_many_p_values_is_corrected_for_their_number():
    assert at_least_one(np.array([0.01, 0.5])) == pytest.approx(1 - 0.99**2)
    assert at_least_one(np.array([])) == 1.0
    assert 0 < at_least_one(np.array([1e-300, 0.5])) < 1e-290 or at_least_one(np.array([1e-300])) == 0
