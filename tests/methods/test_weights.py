import numpy as np
import pytest
from hypothesis import given
from sklearn.linear_model import LassoLarsIC, LinearRegression

from fedrcd.data import random_model
from fedrcd.errors import ConfigError
from fedrcd.methods.weights import Weights
from tests.strategies import random_cov, seeds

ROWS = 500


def case(seed, p=6):
    """An order, and the covariance of rows of a sparse model."""
    rng = np.random.default_rng(seed)
    X = random_model(p, density=0.4, rng=rng).sample(ROWS, rng)
    return rng.permutation(p), np.cov(X.T, ddof=0)


def least_squares(order, cov):
    """Every variable regressed on all that precede it."""
    B = np.zeros_like(cov)
    for position in range(1, len(order)):
        j, P = order[position], order[:position]
        B[j, P] = np.linalg.solve(cov[np.ix_(P, P)], cov[P, j])
    return B


def adaptive_lasso(gram, s, penalty, sweeps=20_000):
    """Minimiser of b'Gb/2 - b's + penalty sum |b_k| / |b_k^ols|, by coordinate descent on the objective as stated."""
    price = penalty / np.abs(np.linalg.solve(gram, s))
    b = np.zeros(len(s))
    for _ in range(sweeps):
        before = b.copy()
        for k in range(len(s)):
            pull = s[k] - gram[k] @ b + gram[k, k] * b[k]
            b[k] = np.sign(pull) * max(abs(pull) - price[k], 0) / gram[k, k]
        if np.abs(b - before).max() < 1e-14:
            break
    return b, price


def selected_by_hand(order, cov, penalty):
    """Edges of the adaptive lasso along an order, as a boolean matrix like B."""
    kept = np.zeros(cov.shape, dtype=bool)
    for position in range(1, len(order)):
        j, P = order[position], order[:position]
        b, price = adaptive_lasso(cov[np.ix_(P, P)], cov[P, j], penalty)
        gradient = cov[np.ix_(P, P)] @ b - cov[P, j]  # of the smooth part; KKT says where it must lie
        assert np.allclose(gradient[b != 0], -price[b != 0] * np.sign(b[b != 0]), atol=1e-9)
        assert (np.abs(gradient[b == 0]) <= price[b == 0] + 1e-9).all()
        kept[j, P] = b != 0
    return kept


@given(seeds)
def test_no_selection_is_least_squares_along_the_order(seed):
    rng = np.random.default_rng(seed)
    cov, order = random_cov(5, rng), rng.permutation(5)
    np.testing.assert_allclose(Weights(selection="none").along(order, cov, ROWS), least_squares(order, cov), rtol=1e-9)


@pytest.mark.parametrize("correlation", [False, True])
@given(seed=seeds)
def test_no_penalty_is_least_squares_along_the_order(correlation, seed):
    order, cov = case(seed)
    found = Weights(penalty=0.0, correlation=correlation).along(order, cov, ROWS)
    np.testing.assert_allclose(found, least_squares(order, cov), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_no_penalty_is_least_squares_in_any_unit(unit):
    order, cov = case(1)
    found = Weights(penalty=0.0).along(order, unit**2 * cov, ROWS)
    np.testing.assert_allclose(found, least_squares(order, cov), atol=1e-9)


@pytest.mark.parametrize("penalty", [0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_edges_are_those_of_the_stated_objective(penalty, seed):
    order, cov = case(seed)
    lam = penalty * np.sqrt(np.diagonal(cov)).mean()
    found = Weights(penalty=penalty).along(order, cov, ROWS)
    np.testing.assert_array_equal(found != 0, selected_by_hand(order, cov, lam))


@pytest.mark.parametrize("penalty", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_edges_of_a_scale_free_method_are_those_of_the_correlation_matrix(penalty, seed):
    order, cov = case(seed)
    sd = np.sqrt(np.diagonal(cov))
    found = Weights(penalty=penalty, correlation=True).along(order, cov, ROWS)
    np.testing.assert_array_equal(found != 0, selected_by_hand(order, cov / np.outer(sd, sd), penalty))


def test_a_penalty_removes_edges():
    order, cov = case(0)
    edges = [np.count_nonzero(Weights(penalty=penalty).along(order, cov, ROWS)) for penalty in (0, 0.01, 1, 1e3)]
    assert edges == sorted(edges, reverse=True)
    assert edges[0] > edges[1] > edges[2] > edges[3] == 0


@pytest.mark.parametrize("weights", [Weights(penalty=0.05), Weights(penalty=0.05, correlation=True), Weights("bic")])
@pytest.mark.parametrize("seed", range(5))
def test_kept_edges_are_refitted_by_least_squares(weights, seed):
    order, cov = case(seed)
    B = weights.along(order, cov, ROWS)
    for j in range(len(cov)):
        parents = np.flatnonzero(B[j])
        if len(parents):
            expected = np.linalg.solve(cov[np.ix_(parents, parents)], cov[parents, j])
            np.testing.assert_allclose(B[j, parents], expected, rtol=1e-8)


@pytest.mark.parametrize("weights", [Weights("bic"), Weights("none"), Weights(correlation=True)])
@pytest.mark.parametrize("seed", range(5))
def test_units_rescale_the_effects(weights, seed):
    order, cov = case(seed)
    factor = 10 ** np.random.default_rng(seed).uniform(-6, 6, len(cov))
    rescaled = weights.along(order, cov * np.outer(factor, factor), ROWS)
    np.testing.assert_allclose(rescaled / factor[:, None] * factor, weights.along(order, cov, ROWS), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_bic_is_that_of_scikit_learn_on_the_rows(seed):
    """As `lingam` does it: standardise, weigh by least squares, choose by LassoLarsIC, fit again."""
    rng = np.random.default_rng(seed)
    X = random_model(6, density=0.4, rng=rng).sample(ROWS, rng)
    order, cov = rng.permutation(6), np.cov(X.T, ddof=0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = np.zeros((6, 6), dtype=bool)
    for position in range(1, 6):
        j, P = order[position], order[:position]
        weight = np.abs(LinearRegression().fit(Z[:, P], Z[:, j]).coef_)
        expected[j, P] = LassoLarsIC(criterion="bic").fit(Z[:, P] * weight, Z[:, j]).coef_ != 0
    np.testing.assert_array_equal(Weights("bic").along(order, cov, ROWS) != 0, expected)


def test_uncorrelated_variables_have_no_effects():
    for weights in (Weights(), Weights("bic"), Weights(correlation=True), Weights("none")):
        assert not weights.along(np.arange(3), np.diag([1.0, 4.0, 9.0]), ROWS).any()


@pytest.mark.parametrize("selection", ["ridge", "bootstrap"])
def test_an_unknown_selection_is_refused_with_all_there_are_and_who_takes_them(selection):
    with pytest.raises(ConfigError) as caught:
        Weights(selection=selection)
    assert str(caught.value) == (
        "weights must be one of adaptive-lasso, bic, guarded, none, "
        "or bootstrap (only discover and FedLiNGAM take it), "
        f"got '{selection}'"
    )


@pytest.mark.parametrize("penalty", [-0.1, np.nan, np.inf])
def test_impossible_penalties_are_refused(penalty):
    with pytest.raises(ConfigError, match="penalty must be"):
        Weights(penalty=penalty)
