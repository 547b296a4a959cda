"""What the sums of one round say of the independence of errors, and the edges that this guards."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.tasks.regimes import BROKEN, Regime
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrcd.data.names import default_names
from fedrcd.graphs.metrics import shd
from fedrcd.methods.doubt import Doubt, independence_of_errors
from fedrcd.methods.registry import build, find
from fedrcd.methods.weights import Weights
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from fedrcd.statistics.dependence import ErrorMoments, dependence
from fedrcd.statistics.residual_maps import residual_rows
from fedrcd.statistics.tensor_cumulants import tensor_cumulants


def fitted(X, method="fedrcd-s", **options):
    transport = embed([X], default_names(X.shape[1]))
    return run(build(method, **options).rounds(transport.setting), transport)


@settings(max_examples=8, deadline=None)
@given(st.integers(2, 5), st.integers(0, 100))
def test_the_verdict_from_tensors_is_that_from_rows(p, seed):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(300, p)) @ rng.normal(size=(p, p))
    transport = embed([X], default_names(p))
    cumulants = tensor_cumulants(transport.pool(transport.setting.tensor()), transport.setting.frame)
    order = rng.permutation(p)
    told = independence_of_errors(cumulants.scaled(1 / np.sqrt(np.diagonal(cumulants.cov))), order)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    e = Z @ residual_rows(np.corrcoef(X.T), order.tolist()).T
    moments = ErrorMoments((e**3).mean(axis=0), (e**4).mean(axis=0))
    k12 = e.T @ e**2 / len(e)
    q = dependence(moments, moments, (np.zeros((p, p)), k12, k12.T, (e**2).T @ e**2 / len(e) - 1), len(e))
    enough = np.outer(moments.fourth, moments.fourth) * 3 <= len(e)
    there = np.tril(enough, -1)
    assert told.judged == there.sum()
    if there.any():
        later, earlier = np.unravel_index(np.argmax(np.where(there, q, -1.0)), q.shape)
        assert told.worst == (order[earlier], order[later])


@pytest.mark.parametrize("name", ["heteroscedastic", "AR(1) errors, 0.8"])
def test_data_that_break_the_rules_are_doubted(name):
    regime = next(one for one in BROKEN if one.name == name)
    doubts = [fitted(replace(regime, rows=5000).draw(seed)[1], "fedrcd-se").doubt.doubtful for seed in range(3)]
    assert sum(doubts) >= 2


def test_valid_models_are_seldom_doubted_and_mostly_told():
    regime = Regime(name="valid", noise="laplace", rows=2000)
    doubts = [fitted(regime.draw(seed)[1]).doubt for seed in range(5)]
    assert sum(doubt.doubtful for doubt in doubts) <= 1
    assert all(doubt.tells for doubt in doubts)


def test_with_few_rows_and_heavy_tails_nothing_is_told():
    X = np.random.default_rng(0).standard_t(2.2, size=(60, 4)) ** 3
    doubt = fitted(X).doubt
    assert not doubt.tells
    assert doubt.says("abcd").startswith("cannot tell")


def test_a_verdict_names_the_pair_and_how_many_were_judged():
    text = Doubt(1e-9, 40, 45, (2, 0)).says(("a", "b", "c"))
    assert text.startswith("doubtful: the errors of 'c' and 'a'")
    assert "40 of 45" in text


def test_rows_with_gaps_are_not_judged():
    X = np.random.default_rng(1).laplace(size=(300, 3))
    assert fitted(X, "fedrcd-sp").doubt is None


@pytest.mark.parametrize("rows", [500, 5000])
def test_guarded_edges_are_nearer_to_the_truth_than_those_of_either_penalty(rows):
    regime = Regime(name="edges", noise="uniform", rows=rows, weights=(0.05, 1.0))
    distances = []
    for seed in range(5):
        B, X = regime.draw(seed)
        found = fitted(X)
        cov, order = found.marginals.cov, found.order
        others = [Weights(one, correlation=True).along(order, cov, rows) for one in ("adaptive-lasso", "bic")]
        distances.append([shd(found.B, B), *(shd(other, B) for other in others)])
    guarded, lasso, bic = np.mean(distances, axis=0)
    assert guarded <= min(lasso, bic)


def test_where_the_model_is_doubted_an_edge_has_to_pass_the_fixed_penalty_too():
    rng = np.random.default_rng(2)
    X = rng.laplace(size=(20_000, 2))
    X[:, 1] += 0.05 * X[:, 0]
    cov, order = np.cov(X.T), np.array([0, 1])
    weights = Weights("guarded", correlation=True)
    assert weights.along(order, cov, len(X))[1, 0] != 0
    assert weights.along(order, cov, len(X), doubted=True)[1, 0] == 0


def test_elimination_is_that_of_regressions_on_rows():
    rng = np.random.default_rng(3)
    X = rng.laplace(size=(400, 7))
    X[:, 6] += X[:, :6] @ np.array([0.5, 0.2, 0.15, 0.1, 0.05, 0.0])
    left, y = list(range(6)), X[:, 6] - X[:, 6].mean()
    centred = X - X.mean(axis=0)
    while left:
        Z = centred[:, left]
        b, rest, *_ = np.linalg.lstsq(Z, y, rcond=None)
        t = b**2 / np.diagonal(np.linalg.inv(Z.T @ Z)) / (rest[0] / (400 - len(left) - 1))
        if t.min() >= np.log(400) + 2 * np.log(7):
            break
        left.pop(int(np.argmin(t)))
    B = Weights("guarded", correlation=True).along(np.arange(7), np.cov(X.T, ddof=0), 400)
    assert np.flatnonzero(B[6]).tolist() == left


@pytest.mark.parametrize(("method", "selection"), [("fedrcd-x", "adaptive-lasso"), ("fedrcd-s", "guarded")])
def test_the_papers_methods_keep_the_papers_edges(method, selection):
    assert find(method).resolve({})["weights"] == selection


def tensors_of(X):
    transport = embed([X], default_names(X.shape[1]))
    cumulants = tensor_cumulants(transport.pool(transport.setting.tensor()), transport.setting.frame)
    return cumulants.scaled(1 / np.sqrt(np.diagonal(cumulants.cov)))


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 5), st.integers(0, 100))
def test_two_neighbours_in_the_other_order_are_as_sure_as_is_left(p, seed):
    rng = np.random.default_rng(seed)
    tensors, order = tensors_of(rng.exponential(size=(200, p)) @ rng.normal(size=(p, p))), rng.permutation(p)
    k = int(rng.integers(p - 1))
    exchanged = order.copy()
    exchanged[[k, k + 1]] = order[[k + 1, k]]
    one, other = (independence_of_errors(tensors, some).neighbours[k] for some in (order, exchanged))
    assert one + other == pytest.approx(1)


def test_neighbours_are_sure_where_one_causes_the_other_and_not_where_none_does():
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, size=(3000, 3))
    X[:, 1] += X[:, 0]
    sure = independence_of_errors(tensors_of(X), np.arange(3)).neighbours
    assert sure[0] > 0.99
    assert 0.2 < sure[1] < 0.8


def test_of_neighbours_that_are_called_sure_few_are_wrong():
    right, called = 0, 0
    for seed in range(20):
        B, X = Regime(name="sure", p=6, rows=400, density=0.4).draw(seed)
        found = fitted(X)
        for first, then, sure in zip(found.order, found.order[1:], found.doubt.neighbours, strict=False):
            if sure > 0.9 and (B[then, first] or B[first, then]):
                called, right = called + 1, right + bool(B[then, first])
    assert called > 30
    assert right >= 0.95 * called


def squared_causes(seed=1, rows=3000):
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(rows, 3))
    X[:, 1] += X[:, 0] + 0.8 * X[:, 0] ** 2
    X[:, 2] += X[:, 1] + 0.3 * X[:, 1] ** 2
    return X


def uneven_errors(seed=1, rows=3000):
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(rows, 3))
    X[:, 1] = X[:, 0] + X[:, 1] * np.exp(0.4 * X[:, 0])
    return X


def test_a_doubt_tells_bent_effects_from_uneven_errors():
    order = np.arange(3)
    bent, uneven = (independence_of_errors(tensors_of(X), order) for X in (squared_causes(), uneven_errors()))
    assert bent.of_bent_effects
    assert not bent.of_uneven_errors
    assert uneven.of_uneven_errors
    assert not uneven.of_bent_effects
    assert "looks like" in bent.says("abc")


def test_tests_side_by_side_give_the_worse_verdict():
    fine, bad = Doubt(0.5, 40, 45, (0, 1)), Doubt(1e-4, 3, 45, (1, 2), level=0.01, bent_effect=True)
    both = fine.beside(bad)
    assert both.doubtful
    assert both.judged == 40
    assert both.worst == (1, 2)
    assert "the effect of 'b' on 'c' has a quadratic part" in both.says("abc")
    assert not fine.beside(replace(bad, p_value=0.5)).doubtful
