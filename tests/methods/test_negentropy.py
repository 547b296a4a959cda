import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.methods.scores.negentropy import (
    NEGENTROPIES,
    NegentropyGap,
    beyond_chance,
    boundary,
    chance_of_third,
    edgeworth,
    gap,
    negentropy_of,
)
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


def negentropy_of_column(x, name):
    """J of a column, from its own standardised cumulants."""
    z = (x - x.mean()) / x.std()
    return float(negentropy_of(name, np.mean(z**3), np.mean(z**4) - 3, len(z)))


@every_negentropy
@given(seed=seeds)
def test_the_gap_is_that_of_the_residuals_themselves(name, seed):
    X = rows(seed)
    Z = X - X.mean(axis=0)
    found = gap(cumulants_of(X), name)
    for i in range(4):
        for j in set(range(4)) - {i}:
            of_j = Z[:, j] - (Z[:, j] @ Z[:, i]) / (Z[:, i] @ Z[:, i]) * Z[:, i]
            of_i = Z[:, i] - (Z[:, j] @ Z[:, i]) / (Z[:, j] @ Z[:, j]) * Z[:, j]
            x_i, r_j, x_j, r_i = (negentropy_of_column(x, name) for x in (Z[:, i], of_j, Z[:, j], of_i))
            assert found[i, j] == pytest.approx((x_i + r_j - x_j - r_i) / (x_i + r_j + x_j + r_i), abs=1e-6)


@every_negentropy
@given(seed=seeds)
def test_the_gap_is_antisymmetric(name, seed):
    found = gap(cumulants_of(rows(seed)), name)
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
    found = gap(cumulants_of(np.stack([x, 2 * x, other], axis=1)), name)
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


@pytest.mark.parametrize(("noise", "k4"), [("normal", 0.0), ("laplace", 3.0)])
def test_third_cumulants_vary_over_samples_as_is_said(noise, k4):
    n, scale = 1000, {"normal": 1.0, "laplace": np.sqrt(0.5)}[noise]
    X = getattr(np.random.default_rng(0), noise)(scale=scale, size=(4000, n))
    third = np.mean((X - X.mean(axis=1, keepdims=True)) ** 3, axis=1)
    assert n * third.var() == pytest.approx(chance_of_third(k4), rel=0.1)


@given(k3=st.floats(-9, 9), k4=st.floats(-2, 50), n=st.integers(2, 10**6))
def test_third_cumulants_only_shrink_and_many_rows_leave_them_alone(k3, k4, n):
    shrunk = beyond_chance(k3, k4, n)
    assert abs(shrunk) <= abs(k3)
    assert shrunk * k3 >= 0
    assert beyond_chance(k3, k4, 2**60) == pytest.approx(k3, abs=1e-6)


def test_a_third_cumulant_that_chance_explains_counts_little():
    expected = np.sqrt(chance_of_third(3.0) / 100)
    assert beyond_chance(expected, 3.0, 100) == pytest.approx(expected / 2)
    assert beyond_chance(10 * expected, 3.0, 100) > 9.8 * expected
