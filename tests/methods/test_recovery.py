"""Methods find the truth on models they assume: in the population itself, and in very many rows."""

import numpy as np
import pytest

from fedrcd.data import NOISE_FAMILIES, random_model, split_rows
from fedrcd.graphs import ancestral_accuracy, is_valid_order
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.strategies import estimate, population


def laplace(seed):
    rng = np.random.default_rng(seed)
    model = random_model(8, noise="laplace", rng=rng)
    X = model.sample(20_000, rng)
    return model, X, [X[part] for part in split_rows(len(X), 4, rng=rng)]


@pytest.mark.parametrize("method", ["fedrcd-x", "fedrcd-t", "fedrcd-s", "fedrcd-sx", "fed-direct"])
@pytest.mark.parametrize("seed", range(3))
def test_many_rows_give_a_valid_order(method, seed):
    model, _, sites = laplace(seed)
    assert ancestral_accuracy(estimate(method, sites, weights="none").order, model.B) == 1


@pytest.mark.parametrize("method", ["fed-direct", "fedrcd-s", "fedrcd-sx"])
@pytest.mark.parametrize("seed", range(3))
def test_scale_free_methods_give_a_valid_order_of_standardised_rows(method, seed):
    model, X, _ = laplace(seed)
    assert ancestral_accuracy(estimate(method, [X / X.std(axis=0)], weights="none").order, model.B) == 1


@pytest.mark.parametrize(
    ("one_round", "options", "many_rounds"),
    [("fedrcd-t", {}, "fedrcd-x"), ("fedrcd-s", {"refine": "none"}, "fedrcd-sx")],
)
@pytest.mark.parametrize("noise", NOISE_FAMILIES)
def test_exact_deflation_gives_the_order_of_residuals_at_the_sites(one_round, options, many_rounds, noise):
    rng = np.random.default_rng(2)
    X = random_model(7, noise=noise, density=0.5, rng=rng).sample(500, rng)
    one, many = estimate(one_round, [X], weights="none", **options), estimate(many_rounds, [X], weights="none")
    assert one.order.tolist() == many.order.tolist()


@pytest.mark.parametrize("method", ["fedrcd-x", "fed-direct"])
def test_many_rows_give_the_effects(method):
    model, _, sites = laplace(0)
    np.testing.assert_allclose(estimate(method, sites).B, model.B, atol=0.06)


@pytest.mark.parametrize("method", ["fedrcd-x", "fedrcd-t"])
@pytest.mark.parametrize("standardised", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_residuals_give_a_valid_order_of_every_population(method, seed, standardised):
    rng = np.random.default_rng(seed)
    noise = NOISE_FAMILIES[seed % len(NOISE_FAMILIES)]
    model = random_model(int(rng.integers(5, 13)), noise=noise, density=rng.uniform(0.1, 0.6), rng=rng)
    oracle = population(model, standardised=standardised)
    assert is_valid_order(run(build(method, weights="none").rounds(oracle.setting), oracle).order, model.B)


@pytest.mark.parametrize("method", ["fedrcd-ni", "fedhc"])
def test_without_deflation_even_the_population_is_not_enough(method):
    """The limit of methods that sort once: some population is ordered wrongly [P, Section 3.2]."""
    accuracies = []
    for seed in range(10):
        model = random_model(12, noise="exponential", density=0.4, rng=np.random.default_rng(seed))
        oracle = population(model, standardised=True)
        found = run(build(method, weights="none").rounds(oracle.setting), oracle)
        accuracies.append(ancestral_accuracy(found.order, model.B))
    assert 0.5 < np.mean(accuracies) < 0.95


@pytest.mark.parametrize("weights", ["adaptive-lasso", "bic"])
def test_population_effects_are_the_model(weights):
    model = random_model(7, noise="laplace", density=0.4, rng=np.random.default_rng(3))
    oracle = population(model)
    found = run(build("fedrcd-x", weights=weights, penalty=1e-6).rounds(oracle.setting), oracle)
    np.testing.assert_allclose(found.B, model.B, atol=1e-6)
