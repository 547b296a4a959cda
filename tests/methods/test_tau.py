import numpy as np
import pytest
from hypothesis import given

from fedrcd.data import random_model
from fedrcd.graphs import topological_order
from fedrcd.methods.scores.charge import least_charge
from fedrcd.methods.scores.tau import tau3, tau3_matrix, tau4, tau4_matrix
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from tests.strategies import population, seeds, sums_of


def cumulants_of(X, order=4):
    return pair_cumulants(sums_of(X, order), Frame.identity(X.shape[1]))


def cumulant(X, *copies):
    """Joint cumulant of up to four centred columns, written out."""
    z = X - X.mean(axis=0)
    columns = [z[:, c] for c in copies]
    moment = np.mean(np.prod(columns, axis=0))
    if len(columns) < 4:
        return moment
    a, b, c, d = columns
    pairs = [((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c))]
    return moment - sum(np.mean(x * y) * np.mean(u * v) for (x, y), (u, v) in pairs)


def rows(seed):
    return np.random.default_rng(seed).exponential(size=(25, 4)) @ np.random.default_rng([seed, 1]).normal(size=(4, 4))


@given(seeds)
def test_tau4_is_its_formula(seed):
    X = rows(seed)
    expected = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            first = cumulant(X, i, i, i, i) * cumulant(X, i, j, j, j)
            expected[i, j] = abs(first - cumulant(X, i, i, j, j) * cumulant(X, i, i, i, j))
    np.testing.assert_allclose(tau4_matrix(cumulants_of(X)), expected, rtol=1e-6, atol=1e-9 * expected.max())


@given(seeds)
def test_tau3_is_its_formula(seed):
    X = rows(seed)
    expected = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            first = cumulant(X, i, i, i) * cumulant(X, i, j, j)
            expected[i, j] = abs(first - cumulant(X, i, i, j) * cumulant(X, j, i, i))
    np.testing.assert_allclose(tau3_matrix(cumulants_of(X)), expected, rtol=1e-6, atol=1e-9 * expected.max())


@pytest.mark.parametrize(("score", "matrix"), [(tau3, tau3_matrix), (tau4, tau4_matrix)])
@given(seed=seeds)
def test_scores_are_minus_the_sums_over_all_others(score, matrix, seed):
    k = cumulants_of(rows(seed))
    tau = matrix(k)
    expected = [-sum(tau[i, j] for j in range(4) if j != i) for i in range(4)]
    np.testing.assert_allclose(score(k), expected, rtol=1e-9, atol=1e-12 * tau.max())


@pytest.mark.parametrize(("matrix", "noise"), [(tau3_matrix, "exponential"), (tau4_matrix, "laplace")])
@pytest.mark.parametrize("seed", range(10))
def test_the_row_of_a_source_vanishes_in_population(matrix, noise, seed):
    model = random_model(6, noise=noise, density=0.5, rng=np.random.default_rng(seed))
    oracle = population(model, standardised=True)
    k = pair_cumulants(oracle.pool(PairQuestion(model.names, oracle.setting.frame, 4)), oracle.setting.frame)
    source = topological_order(model.B)[0]
    np.testing.assert_allclose(matrix(k)[source], 0, atol=1e-10)


@pytest.mark.parametrize(("matrix", "noise"), [(tau3_matrix, "exponential"), (tau4_matrix, "laplace")])
def test_the_effect_of_one_cause_is_told_from_it(matrix, noise):
    model = random_model(2, noise=noise, density=1.0, rng=np.random.default_rng(0))
    oracle = population(model, standardised=True)
    k = pair_cumulants(oracle.pool(PairQuestion(model.names, oracle.setting.frame, 4)), oracle.setting.frame)
    cause, effect = topological_order(model.B)
    assert matrix(k)[effect, cause] > 0.01


def test_the_least_charge_scores_highest():
    assert np.argmax(least_charge(np.array([3.0, 0.5, 2.0]))) == 1
