import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data import random_dag, random_model
from fedrcd.errors import ConfigError
from fedrcd.graphs import ancestry, is_acyclic, is_valid_order, topological_order, total_effects

seeds = st.integers(0, 2**32 - 1)


def arbitrary_graph(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 9))
    return rng.random((p, p)) < rng.uniform(0, 0.4)


def acyclic_graph(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return random_dag(int(rng.integers(1, 12)), density=rng.uniform(), rng=rng)


@given(seeds)
def test_ancestry_is_what_networkx_calls_the_transitive_closure(seed):
    B = arbitrary_graph(seed)
    closure = nx.transitive_closure(nx.from_numpy_array(B.T, create_using=nx.DiGraph), reflexive=False)
    np.testing.assert_array_equal(ancestry(B), nx.to_numpy_array(closure, nodelist=range(len(B))).T != 0)


@given(seeds)
def test_acyclic_means_what_networkx_means(seed):
    B = arbitrary_graph(seed)
    assert is_acyclic(B) == nx.is_directed_acyclic_graph(nx.from_numpy_array(B.T, create_using=nx.DiGraph))


@given(seeds)
def test_the_topological_order_is_the_lexicographically_smallest_valid_one(seed):
    B = acyclic_graph(seed)
    graph = nx.from_numpy_array(B.T, create_using=nx.DiGraph)
    assert topological_order(B).tolist() == list(nx.lexicographical_topological_sort(graph))
    assert is_valid_order(topological_order(B), B)


def test_the_effect_is_in_the_row_and_the_cause_in_the_column():
    B = np.zeros((3, 3))
    B[0, 2] = 1.0  # 2 -> 0
    assert topological_order(B).tolist() == [1, 2, 0]
    assert ancestry(B)[0, 2]
    assert not ancestry(B)[2, 0]


def test_a_cycle_has_no_order():
    with pytest.raises(ConfigError, match="cycle"):
        topological_order(np.array([[0, 1], [1, 0]]))


def test_an_effect_of_a_variable_on_itself_is_a_cycle():
    assert not is_acyclic(np.eye(2))


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], [1, 2, 3], [1, 0, 2]])
def test_an_order_must_hold_each_variable_once_and_causes_first(order):
    chain = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    assert is_valid_order([0, 1, 2], chain)
    assert not is_valid_order(order, chain)


@given(seeds)
def test_total_effects_sum_over_all_directed_paths(seed):
    rng = np.random.default_rng(seed)
    B = random_model(int(rng.integers(2, 9)), density=0.4, rng=rng).B
    paths = sum(np.linalg.matrix_power(B, k) for k in range(1, len(B)))
    np.testing.assert_allclose(total_effects(B), paths, atol=1e-10)


@given(seeds)
def test_there_is_no_total_effect_without_a_directed_path(seed):
    rng = np.random.default_rng(seed)
    B = random_model(int(rng.integers(2, 12)), rng=rng).B
    assert not total_effects(B)[~ancestry(B)].any()
