import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data import random_dag
from fedrcd.errors import StatisticError
from fedrcd.graphs import (
    ancestral_accuracy,
    order_agreement,
    r2_sortability,
    shd,
    topological_order,
    varsortability,
)

seeds = st.integers(0, 2**32 - 1)
CHAIN = np.array([[0, 0, 0], [2.0, 0, 0], [0, -0.5, 0]])  # 0 -> 1 -> 2


def acyclic_graph(seed: int, p: int = 7) -> np.ndarray:
    return random_dag(p, density=0.4, rng=np.random.default_rng(seed))


@given(seeds)
def test_every_valid_order_is_wholly_accurate_and_its_reverse_wholly_wrong(seed):
    B = acyclic_graph(seed)
    order = topological_order(B)
    assert ancestral_accuracy(order, B) == 1.0
    assert ancestral_accuracy(order[::-1], B) == (0.0 if B.any() else 1.0)


def test_ancestors_count_as_much_as_parents():
    assert ancestral_accuracy([0, 2, 1], CHAIN) == pytest.approx(2 / 3)
    assert ancestral_accuracy([1, 0, 2], CHAIN) == pytest.approx(2 / 3)
    assert ancestral_accuracy([2, 0, 1], CHAIN) == pytest.approx(1 / 3)


def test_a_graph_without_edges_is_ordered_rightly_by_any_order():
    assert ancestral_accuracy([1, 0], np.zeros((2, 2))) == 1.0


def test_additional_missing_and_reversed_edges_count_one_each():
    truth = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    estimate = np.array([[0, 0.3, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 7, 0]])
    assert shd(estimate, truth) == 3


@given(seeds, seeds)
def test_shd_is_symmetric_and_zero_for_equal_patterns(first, second):
    A, B = acyclic_graph(first), acyclic_graph(second)
    assert shd(A, B) == shd(B, A)
    assert shd(A, -3.0 * A) == 0


def test_varsortability_counts_paths_that_gain_variance():
    assert varsortability(np.array([1.0, 2.0, 3.0]), CHAIN) == 1.0
    assert varsortability(np.array([3.0, 2.0, 1.0]), CHAIN) == 0.0
    assert varsortability(np.array([1.0, 3.0, 2.0]), CHAIN) == pytest.approx(2 / 3)


def test_varsortability_of_equal_variances_is_one_half():
    assert varsortability(np.ones(3), CHAIN) == 0.5
    assert varsortability(np.array([1.0, 1.0 + 1e-13, 1.0 - 1e-13]), CHAIN, tolerance=1e-12) == 0.5


def test_a_pair_counts_once_for_each_length_of_its_paths():
    B = CHAIN.copy()
    B[2, 0] = 1.0  # 0 -> 2 directly and through 1
    assert varsortability(np.array([2.0, 1.0, 3.0]), B) == pytest.approx(3 / 4)


def test_sortability_of_a_graph_without_edges_is_neutral():
    assert varsortability(np.array([1.0, 2.0]), np.zeros((2, 2))) == 0.5


@given(seeds)
def test_r2_sortability_does_not_depend_on_units(seed):
    rng = np.random.default_rng(seed)
    B = acyclic_graph(seed)
    A = rng.standard_normal((7, 7))
    cov, unit = A @ A.T + np.eye(7), np.diag(2.0 ** rng.integers(-8, 8, 7))
    assert r2_sortability(unit @ cov @ unit, B, tolerance=1e-9) == r2_sortability(cov, B, tolerance=1e-9)


def test_r2_is_the_share_of_variance_that_the_others_explain():
    X = np.random.default_rng(3).standard_normal((500, 4)) @ np.random.default_rng(4).standard_normal((4, 4))
    X -= X.mean(axis=0)
    r2 = []
    for j in range(4):
        others = np.delete(X, j, axis=1)
        rest = X[:, j] - others @ np.linalg.lstsq(others, X[:, j], rcond=None)[0]
        r2.append(1 - rest.var() / X[:, j].var())
    B = acyclic_graph(5, p=4)
    assert r2_sortability(np.cov(X.T, ddof=0), B) == varsortability(np.array(r2), B)


def test_r2_sortability_refuses_collinear_variables():
    with pytest.raises(StatisticError, match="linear function"):
        r2_sortability(np.ones((3, 3)), CHAIN)


@given(st.permutations(range(5)), st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_order_agreement_is_the_share_of_equally_placed_pairs(order, scores):
    gains = [np.sign(scores[b] - scores[a]) for a, b in itertools.combinations(order, 2)]
    assert order_agreement(order, scores) == pytest.approx(np.mean([(gain + 1) / 2 for gain in gains]))


def test_order_agreement_of_one_variable_is_one():
    assert order_agreement([0], [3.0]) == 1.0
