import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrcd.data.simulate.models import random_model
from fedrcd.graphs.dag import is_valid_order
from fedrcd.methods.deflations.tensors import TensorEvidence
from fedrcd.methods.refinements.contrast import ContrastRefinement, ContrastTerms
from fedrcd.methods.refinements.insertion import climb, insertion_residuals
from fedrcd.methods.refinements.pair_covariances import excess_covariances, gaussian_covariances, patterns
from fedrcd.methods.refinements.pair_fit import PairFitRefinement, _Fit
from fedrcd.methods.registry import build
from fedrcd.methods.scores.negentropy import negentropy_of
from fedrcd.protocol.driver import run
from fedrcd.protocol.population_oracle import Oracle
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.pair_sums import pair_sums
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.residual_tensors import ResidualTensors
from fedrcd.statistics.tensor_cumulants import tensor_cumulants
from fedrcd.statistics.tensor_sums import tensor_sums

seeds = st.integers(0, 10_000)
P = 5


def standardised_rows(seed, n=400, p=P):
    rng = np.random.default_rng(seed)
    X = random_model(p, noise="mixed", density=0.5, rng=rng).sample(n, rng)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def tensors_of(X):
    return tensor_cumulants(tensor_sums([X], X.shape[1]), Frame.identity(X.shape[1]))


def pairs_of(X):
    return pair_cumulants(pair_sums([X], X.shape[1], 4), Frame.identity(X.shape[1]))


def oracle_of(model, factor=1.0):
    k = model.noise_cumulants
    mixing = np.asarray(factor).reshape(-1, 1) * model.mixing
    return Oracle(Setting(model.names, Frame.identity(len(mixing))), mixing, k.variance, k.k3, k.k4)


def explained(fit, order):
    """The fit's objective for a whole order, by least squares on whitened columns, nothing kept."""
    A = fit.S @ residual_rows(fit.S, order).T
    total = 0.0
    for L, F, t in zip(fit.factors, patterns(A), fit.targets, strict=True):
        Y = np.linalg.solve(L, F)
        total += float(np.sum((Y @ np.linalg.lstsq(Y, t, rcond=None)[0]) ** 2))
    return total


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_residual_rows_have_unit_variance_and_no_correlation(seed):
    S = np.corrcoef(standardised_rows(seed).T)
    W = residual_rows(S, np.random.default_rng(seed).permutation(P).tolist())
    np.testing.assert_allclose(W @ S @ W.T, np.eye(P), atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_residuals_of_an_insertion_are_those_of_the_whole_orders(seed):
    rng = np.random.default_rng(seed)
    S = np.corrcoef(standardised_rows(seed).T)
    order = rng.permutation(P).tolist()
    v = int(rng.integers(P))
    found = insertion_residuals(S, order, v)
    rows = dict(zip(found.keys, found.W, strict=True))
    for place in range(P):
        whole = [*found.rest[:place], v, *found.rest[place:]]
        before = 0
        for variable, row in zip(whole, residual_rows(S, whole), strict=True):
            np.testing.assert_allclose(rows[variable, before], row, atol=1e-8)
            before |= 1 << variable


@settings(deadline=None, max_examples=10)
@given(seeds)
def test_the_contrast_at_every_place_is_that_of_the_whole_order(seed):
    tensors = tensors_of(standardised_rows(seed))
    terms = ContrastTerms(ResidualTensors(tensors, list(range(P))), tensors.count, "boundary")
    rest, contrast = terms.places(list(range(P)), 2)
    for place in range(P):
        W = residual_rows(tensors.cov, [*rest[:place], 2, *rest[place:]])
        direct = np.sqrt(negentropy_of("boundary", *tensors.of_combinations(W), tensors.count)).sum()
        assert contrast[place] == pytest.approx(direct, rel=1e-9)


@settings(deadline=None, max_examples=10)
@given(seeds)
def test_the_fit_at_every_place_is_that_of_the_whole_order(seed):
    k = pairs_of(standardised_rows(seed, n=2000))
    fit = _Fit.weighted(k, gaussian_covariances(k.cov))
    rest, objective = fit.places(list(range(P)), 1)
    for place in range(P):
        assert objective[place] == pytest.approx(explained(fit, [*rest[:place], 1, *rest[place:]]), rel=1e-6)


@settings(deadline=None, max_examples=10)
@given(seeds)
def test_climbing_ends_where_no_move_helps(seed):
    k = pairs_of(standardised_rows(seed, n=2000))
    fit = _Fit.weighted(k, gaussian_covariances(k.cov))
    start = np.random.default_rng(seed).permutation(P).tolist()
    top = climb(start, fit.places)
    best = explained(fit, top)
    assert best >= explained(fit, start) * (1 - 1e-9)
    for v in range(P):
        assert fit.places(top, v)[1].max() <= best * (1 + 1e-6)


def test_patterns_times_noise_cumulants_are_the_pair_cumulants_of_the_population():
    model = random_model(P, noise="gamma", density=0.6, rng=np.random.default_rng(3))
    variance, k3, k4 = model.noise_cumulants
    A, sd = model.mixing, np.sqrt(variance)
    third, fourth = patterns(A * sd)
    oracle = oracle_of(model)
    sums = oracle.pool(build("fedrcd-ni").rounds(oracle.setting).send(None))
    k = pair_cumulants(sums, Frame.identity(P))
    i, j = np.triu_indices(P, 1)
    np.testing.assert_allclose(third @ (k3 / sd**3), k.k12.ravel(), rtol=1e-6)
    np.testing.assert_allclose(fourth @ (k4 / sd**4), np.concatenate([k.k13.ravel(), k.k22[i, j]]), rtol=1e-6)


def cumulants_of_many_samples(draw, n, samples):
    third, fourth = [], []
    i, j = np.triu_indices(2, 1)
    for _ in range(samples):
        k = pairs_of(draw(n))
        third.append(k.k12.ravel())
        fourth.append(np.concatenate([k.k13.ravel(), k.k22[i, j]]))
    return np.cov(np.array(third).T) * n, np.cov(np.array(fourth).T) * n


def test_gaussian_covariances_are_those_of_gaussian_samples():
    rng = np.random.default_rng(0)
    S = np.array([[1.0, 0.6], [0.6, 1.0]])
    L = np.linalg.cholesky(S)
    third, fourth = cumulants_of_many_samples(lambda n: rng.standard_normal((n, 2)) @ L.T, 1000, 4000)
    expected = gaussian_covariances(S)
    np.testing.assert_allclose(third, expected.third, atol=0.08 * np.abs(expected.third).max())
    np.testing.assert_allclose(fourth, expected.fourth, atol=0.08 * np.abs(expected.fourth).max())


def test_excess_covariances_are_what_uniform_errors_change():
    rng = np.random.default_rng(0)
    A = np.array([[1.0, 0.0], [0.6, 0.8]])
    S = A @ A.T
    observed = cumulants_of_many_samples(lambda n: rng.uniform(-np.sqrt(3), np.sqrt(3), (n, 2)) @ A.T, 1000, 4000)
    gaussian, excess = gaussian_covariances(S), excess_covariances(S, A, np.zeros(2), np.full(2, -1.2))
    for F, seen, plain, more in zip(patterns(A), observed, gaussian, excess, strict=True):
        # The pure cumulants of the errors are what the fit explains; how they vary does not matter to it.
        rest = np.linalg.qr(F, mode="complete")[0][:, F.shape[1] :]
        seen, plain, more = (rest.T @ matrix @ rest for matrix in (seen, plain, more))
        np.testing.assert_allclose(seen, plain + more, atol=0.08 * np.abs(seen).max())
        assert np.abs(seen - plain).max() > 0.2 * np.abs(seen).max()


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-sx", "fedrcd-sp", "fedrcd-t"])
@pytest.mark.parametrize("seed", range(10))
def test_the_population_is_ordered_validly_at_any_scale(method, seed):
    rng = np.random.default_rng(seed)
    model = random_model(6, noise="mixed", density=0.4, rng=rng)
    oracle = oracle_of(model, np.exp(rng.normal(size=6)))
    estimate = run(build(method).rounds(oracle.setting), oracle)
    assert is_valid_order(estimate.order, model.B)


def test_refinement_recovers_from_a_reversed_start():
    X = standardised_rows(5, n=20_000)
    tensors = tensors_of(X)
    refined = ContrastRefinement()(TensorEvidence(tensors, np.ones(P)), np.arange(P)[::-1])
    B = random_model(P, noise="mixed", density=0.5, rng=np.random.default_rng(5)).B
    assert is_valid_order(refined, B)


def test_many_variables_are_left_in_the_order_of_the_sources():
    order = np.array([2, 0, 1, 4, 3])
    assert PairFitRefinement(largest=4)(pairs_of(standardised_rows(0)), order) is order
