import numpy as np
import pytest

from fedrcd.data import random_model
from fedrcd.graphs import topological_order
from fedrcd.methods.deflations.algebraic import deflate
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.residual_maps import residual_map
from tests.strategies import population, population_sd, sums_of

UNITS = {"cov": (1, 1), "k3": (3, 0), "k12": (1, 2), "k4": (4, 0), "k13": (1, 3), "k22": (2, 2), "k2": (2, 0)}


def population_cumulants(model, residuals=None):
    frame = Frame.identity(len(model.B) if residuals is None else len(residuals))
    question = PairQuestion(model.names, Frame.identity(len(model.B)), 4, residuals)
    return pair_cumulants(population(model).pool(question), frame)


def in_sd(k, name, sd):
    """An array of cumulants of variables divided by `sd`."""
    a, b = UNITS[name]
    values = getattr(k, name)
    return values / (np.outer(sd**a, sd**b) if values.shape[1] > 1 else sd[:, None] ** a)


@pytest.mark.parametrize("marginals", ["source-condition", "printed"])
@pytest.mark.parametrize("noise", ["laplace", "exponential", "uniform"])
@pytest.mark.parametrize("seed", range(4))
def test_deflation_is_exact_in_population_when_sources_are_taken_in_true_order(marginals, noise, seed):
    model = random_model(6, noise=noise, density=0.5, rng=np.random.default_rng(seed))
    order = topological_order(model.B).tolist()
    k, left = population_cumulants(model), list(range(6))
    cov = k.cov
    for step in range(1, 5):
        at = left.index(order[step - 1])
        k = deflate(k, at, marginals).keep([position for position in range(len(left)) if position != at])
        left.pop(at)
        expected = population_cumulants(model, residual_map(cov, tuple(order[:step]))[0])
        sd = population_sd(model)[left]
        for name in UNITS:
            np.testing.assert_allclose(in_sd(k, name, sd), in_sd(expected, name, sd), atol=1e-8, err_msg=name)


def sample_and_residuals(seed=0):
    """Cumulants of rows, and of the residuals of these rows given the first variable."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(300, 4)) @ rng.normal(size=(4, 4))
    X -= X.mean(axis=0)
    k = pair_cumulants(sums_of(X), Frame.identity(4))
    R, _ = residual_map(k.cov, (0,))
    return k, pair_cumulants(sums_of(X @ R.T), Frame.identity(3)), X[:, 1:].std(axis=0)


@pytest.mark.parametrize("name", ["cov", "k2", "k3", "k4"])
def test_printed_marginals_are_those_of_residuals_on_any_rows(name):
    k, expected, sd = sample_and_residuals()
    deflated = deflate(k, 0, "printed").keep([1, 2, 3])
    np.testing.assert_allclose(in_sd(deflated, name, sd), in_sd(expected, name, sd), atol=1e-9)


@pytest.mark.parametrize("marginals", ["source-condition", "printed"])
@pytest.mark.parametrize(("name", "marginal"), [("k12", "k3"), ("k13", "k4"), ("k22", "k4"), ("cov", "k2")])
def test_marginals_stay_on_the_diagonals(marginals, name, marginal):
    k, _, _ = sample_and_residuals()
    deflated = deflate(k, 0, marginals)
    np.testing.assert_array_equal(np.diagonal(getattr(deflated, name)), getattr(deflated, marginal)[:, 0])


def test_the_source_condition_takes_fourth_powers_of_the_coefficients():
    k, _, _ = sample_and_residuals()
    b = k.cov[:, 0] / k.cov[0, 0]
    deflated = deflate(k, 0, "source-condition")
    for i in range(1, 4):
        assert deflated.k4[i, 0] == pytest.approx(k.k4[i, 0] - b[i] ** 4 * k.k4[0, 0])
        for j in {1, 2, 3} - {i}:
            assert deflated.k13[i, j] == pytest.approx(k.k13[i, j] - b[i] * b[j] ** 3 * k.k4[0, 0])
            assert deflated.k22[i, j] == pytest.approx(k.k22[i, j] - b[i] ** 2 * b[j] ** 2 * k.k4[0, 0])


def test_deflation_leaves_its_argument_alone():
    k, _, _ = sample_and_residuals()
    before = {name: getattr(k, name).copy() for name in UNITS}
    deflate(k, 0, "printed")
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(k, name), values)
