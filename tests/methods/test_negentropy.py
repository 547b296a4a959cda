import numpy as np
import pytest
from hypothesis import given

from fedrcd.methods.scores.negentropy import NEGENTROPIES, NegentropyGap, boundary, edgeworth, gap
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from tests.strategies import seeds, sums_of

every_negentropy = pytest.mark.parametrize("name", NEGENTROPIES)


def cumulants_of(X):
    Z = X - X.mean(axis=0)
    return pair_cumulants(sums_of(Z), Frame.identity(X.shape[1]))


def rows(seed, n=40):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(n, 4)) @ rng.normal(size=(4, 4))


def negentropy_of(x, J):
    """J of a column, from its own standardised cumulants."""
    z = (x - x.mean()) / x.std()
    return float(J(np.mean(z**3), np.mean(z**4) - 3))


@every_negentropy
@given(seed=seeds)
def test_the_gap_is_that_of_the_residuals_themselves(name, seed):
    X, J = rows(seed), NEGENTROPIES[name]
    Z = X - X.mean(axis=0)
    found = gap(cumulants_of(X), J)
    for i in range(4):
        for j in set(range(4)) - {i}:
            of_j = Z[:, j] - (Z[:, j] @ Z[:, i]) / (Z[:, i] @ Z[:, i]) * Z[:, i]
            of_i = Z[:, i] - (Z[:, j] @ Z[:, i]) / (Z[:, j] @ Z[:, j]) * Z[:, j]
            x_i, r_j, x_j, r_i = (negentropy_of(x, J) for x in (Z[:, i], of_j, Z[:, j], of_i))
            assert found[i, j] == pytest.approx((x_i + r_j - x_j - r_i) / (x_i + r_j + x_j + r_i), abs=1e-6)


@every_negentropy
@given(seed=seeds)
def test_the_gap_is_antisymmetric(name, seed):
    found = gap(cumulants_of(rows(seed)), NEGENTROPIES[name])
    np.testing.assert_allclose(found, -found.T, atol=1e-12)


@every_negentropy
@given(seed=seeds)
def test_scores_do_not_depend_on_units(name, seed):
    X, factor = rows(seed), 10 ** np.random.default_rng(seed).uniform(-4, 4, 4)
    score = NegentropyGap(name)
    np.testing.assert_allclose(score(cumulants_of(X * factor)), score(cumulants_of(X)), atol=1e-8)


@every_negentropy
@pytest.mark.parametrize("noise", ["laplace", "uniform", "exponential"])
def test_the_cause_of_two_scores_higher(name, noise):
    rng = np.random.default_rng(0)
    cause, error = getattr(rng, noise)(size=(2, 20_000))
    score = NegentropyGap(name)(cumulants_of(np.stack([0.8 * cause + error, cause], axis=1)))
    assert np.argmax(score) == 1


@every_negentropy
def test_collinear_pairs_say_nothing(name):
    x, other = np.random.default_rng(0).exponential(size=(2, 50))
    found = gap(cumulants_of(np.stack([x, 2 * x, other], axis=1)), NEGENTROPIES[name])
    assert found[0, 1] == found[1, 0] == 0
    assert np.isfinite(found).all()


@pytest.mark.parametrize("J", [edgeworth, boundary])
def test_a_gaussian_has_no_negentropy(J):
    assert J(np.float64(0), np.float64(0)) == 0


@pytest.mark.parametrize(("k3", "k4"), [(0.01, 0.0), (0.0, 0.01), (0.01, -0.01)])
def test_both_negentropies_agree_near_the_gaussian(k3, k4):
    assert boundary(np.float64(k3), np.float64(k4)) == pytest.approx(edgeworth(k3, k4), rel=0.02)


def test_the_boundary_negentropy_of_a_laplace_variable_is_near_the_true_one():
    truth = np.log(2 * np.pi * np.e) / 2 - (1 + np.log(np.sqrt(2)))
    assert boundary(np.float64(0), np.float64(3)) == pytest.approx(truth, rel=0.05)
