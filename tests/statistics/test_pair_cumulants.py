from dataclasses import fields
from functools import cache
from itertools import product
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import StatisticError
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.pair_cumulants import pair_cumulants
from fedrcd.statistics.pair_sums import PairSums
from tests.strategies import proposed, random_frame, seeds, sums_of, tables

COPIES = {
    "k2": (2, 0),
    "cov": (1, 1),
    "k3": (3, 0),
    "k12": (1, 2),
    "k21": (2, 1),
    "k4": (4, 0),
    "k13": (1, 3),
    "k22": (2, 2),
    "k31": (3, 1),
}
"""How many copies of x_i and of x_j each array takes."""


def partitions(items):
    """All ways to divide a list into blocks."""
    if not items:
        yield []
        return
    first, *rest = items
    for blocks in partitions(rest):
        yield [[first], *blocks]
        for k, block in enumerate(blocks):
            yield [*blocks[:k], [first, *block], *blocks[k + 1 :]]


def joint_cumulant(columns, weights):
    """Joint cumulant of weighted points: the sum over partitions of (-1)^(b-1) (b-1)! times products of moments."""
    total = 0.0
    for blocks in partitions(columns):
        b = len(blocks)
        moments = [np.sum(weights * np.prod(block, axis=0)) for block in blocks]
        total += (-1) ** (b - 1) * factorial(b - 1) * np.prod(moments)
    return total


def slow_cumulant(X, name, weights=None):
    """The array `name` by definition, from rows or from points with probabilities."""
    weights = np.full(len(X), 1 / len(X)) if weights is None else weights
    a, b = COPIES[name]
    p = X.shape[1]
    return np.array([[joint_cumulant([X[:, i]] * a + [X[:, j]] * b, weights) for j in range(p)] for i in range(p)])


def cumulants_of(X, order=4, frame=None, estimator="plug-in"):
    frame = frame or Frame.identity(X.shape[1])
    return pair_cumulants(sums_of(frame.express(X), order), frame, estimator)


def assert_cumulants_close(left, right, tolerance):
    """Equal up to `tolerance` times the product of standard deviations that each cumulant has the units of."""
    sd = np.sqrt(np.diagonal(right.cov))
    for name, (a, b) in COPIES.items():
        x, y = getattr(left, name), getattr(right, name)
        assert x.shape == y.shape
        unit = sd[:, None] ** a * (sd[None, :] ** b if x.shape[1] > 1 else 1)
        np.testing.assert_allclose(x / unit, y / unit, rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("name", COPIES)
@given(X=tables(rows=(4, 9), columns=(1, 3), size=10.0))
def test_plug_in_cumulants_follow_from_all_partitions(name, X):
    expected = slow_cumulant(X, name)
    found = np.broadcast_to(getattr(cumulants_of(X), name), expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * (1 + np.abs(X).max()) ** sum(COPIES[name]))


@pytest.mark.parametrize("name", COPIES)
def test_incomplete_rows_give_the_cumulants_of_each_pairs_own_rows(name):
    rng = np.random.default_rng(3)
    X = rng.exponential(size=(30, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    p = X.shape[1]
    powers = [(1, 0), (2, 0), (1, 1), (3, 0), (2, 1), (4, 0), (3, 1), (2, 2)]
    count, sums = np.zeros((p, p), dtype=np.int64), {power: np.zeros((p, p)) for power in powers}
    expected = np.zeros((p, p))
    for i, j in product(range(p), repeat=2):
        own = X[np.isfinite(X[:, i]) & np.isfinite(X[:, j])]
        count[i, j] = len(own)
        for a, b in powers:
            sums[a, b][i, j] = np.sum(own[:, i] ** a * own[:, j] ** b)
        at = (0, 1) if i != j else (0, 0)
        expected[i, j] = slow_cumulant(own[:, [i, j]], name)[at]
    found = getattr(pair_cumulants(PairSums(4, count, sums), Frame.identity(p)), name)
    np.testing.assert_allclose(found, expected, atol=1e-11)


POINTS = np.array([[0.0, 1.0], [1.0, -1.0], [3.0, 0.5]])
CHANCES = np.array([0.5, 0.3, 0.2])


@cache
def mean_over_all_samples(n, order, estimator):
    """Expectation of every array over all samples of n points, drawn with replacement."""
    expected = {}
    for sample in product(range(len(POINTS)), repeat=n):
        chance = np.prod(CHANCES[list(sample)])
        k = cumulants_of(POINTS[list(sample)], order, estimator=estimator)
        for name in COPIES:
            expected[name] = expected.get(name, 0.0) + chance * getattr(k, name)
    return expected


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("n", [4, 5])
def test_k_statistics_are_unbiased(name, n):
    truth = slow_cumulant(POINTS, name, CHANCES)
    found = np.broadcast_to(mean_over_all_samples(n, 4, "unbiased")[name], truth.shape)
    np.testing.assert_allclose(found, truth, atol=1e-10)


@pytest.mark.parametrize(("name", "n"), [("k2", 2), ("cov", 2), ("k3", 3), ("k12", 3)])
def test_k_statistics_are_unbiased_from_as_few_rows_as_their_order(name, n):
    truth = slow_cumulant(POINTS, name, CHANCES)
    found = np.broadcast_to(mean_over_all_samples(n, n, "unbiased")[name], truth.shape)
    np.testing.assert_allclose(found, truth, atol=1e-10)


def test_plug_in_cumulants_are_biased():
    """Else the test above could not tell the estimators apart."""
    truth = slow_cumulant(POINTS, "k13", CHANCES)
    assert np.abs(mean_over_all_samples(4, 4, "plug-in")["k13"] - truth).max() > 0.01


@pytest.mark.parametrize("estimator", ["plug-in", "unbiased"])
@given(seed=seeds)
def test_cumulants_do_not_depend_on_the_frame(estimator, seed):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(40, 3))
    frame = random_frame(3, rng)
    assert_cumulants_close(
        cumulants_of(X, frame=frame, estimator=estimator), cumulants_of(X, estimator=estimator), 1e-9
    )


def test_a_mean_of_a_million_costs_no_digits():
    shifted = 1e6 + np.random.default_rng(0).laplace(size=(20_000, 3))
    centred = shifted - 1e6  # exact
    found = cumulants_of(shifted, frame=proposed([shifted]))
    assert_cumulants_close(found, cumulants_of(centred), 1e-9)


@given(seeds)
def test_keeping_variables_gives_the_cumulants_of_their_columns(seed):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(20, 5))
    chosen = rng.permutation(5)[: rng.integers(1, 6)]
    assert_cumulants_close(cumulants_of(X).keep(chosen.tolist()), cumulants_of(X[:, chosen]), 1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_keeping_variables_of_a_lower_order_keeps_that_order(order):
    X = np.random.default_rng(0).exponential(size=(20, 4))
    kept = cumulants_of(X, order).keep([2, 0])
    held = {each.name for each in fields(kept) if getattr(kept, each.name).size}
    expected = {2: {"count", "k2", "cov"}, 3: {"count", "k2", "cov", "k3", "k12"}}
    assert held == expected.get(order, {"count", *COPIES} - {"k21", "k31"})


@given(seeds)
def test_scaling_cumulants_is_scaling_the_columns(seed):
    rng = np.random.default_rng(seed)
    X, factor = rng.exponential(size=(20, 4)), rng.uniform(-3, 3, 4)
    assert_cumulants_close(cumulants_of(X).scaled(factor), cumulants_of(X * factor), 1e-9)


def test_standardised_cumulants_are_those_of_columns_over_their_standard_deviation():
    X = np.random.default_rng(0).exponential(size=(50, 4)) * [1e-3, 1, 10, 1e4]
    assert_cumulants_close(cumulants_of(X).standardised(), cumulants_of(X / X.std(axis=0)), 1e-9)


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("estimator", ["plug-in", "unbiased"])
def test_cumulants_need_as_many_rows_as_their_order(order, estimator):
    X = np.random.default_rng(0).normal(size=(order - 1, 2))
    with pytest.raises(StatisticError, match=f"order {order} need at least {order} rows"):
        cumulants_of(X, order, estimator=estimator)


@given(st.sampled_from([2, 3]), seeds)
def test_lower_orders_are_the_same_when_nothing_higher_is_asked(order, seed):
    X = np.random.default_rng(seed).exponential(size=(15, 3))
    low, high = cumulants_of(X, order), cumulants_of(X, 4)
    for name, (a, b) in COPIES.items():
        if a + b <= order:
            np.testing.assert_array_equal(getattr(low, name), getattr(high, name))
