"""Which orders prior knowledge allows: those of the graphs that keep to it, no more and no fewer."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from tests.knowledge import some_knowledge, true_knowledge
from tests.strategies import seeds

from fedrcd import Knowledge, discover
from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import is_acyclic, is_valid_order
from fedrcd.graphs.knowledge import constraints as limits


def keeps_to_stated_order(order, known, names):
    """Tiers and pairs as stated; exogenous variables first and sinks last unless that says otherwise."""
    place = {names[k]: position for position, k in enumerate(order)}
    pairs = [*known.before]
    for k, tier in enumerate(known.tiers):
        pairs += [(a, b) for a in tier for later in known.tiers[k + 1 :] for b in later]
    exogenous, sinks = set(known.exogenous), set(known.sinks)
    leads = exogenous - sinks - {later for _, later in pairs}
    ends = sinks - exogenous - {first for first, _ in pairs}
    pairs += [(a, b) for a in leads for b in set(names) - exogenous]
    pairs += [(a, b) for a in set(names) - sinks for b in ends]
    return all(place[a] < place[b] for a, b in pairs)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_true_statements_allow_every_order_of_the_truth(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 7))
    names, shuffled = [f"v{k}" for k in range(p)], rng.permutation(p)
    edges = np.tril(rng.random((p, p)) < 0.4, -1)[np.ix_(shuffled, shuffled)]
    known = true_knowledge(names, edges, rng)
    constraints = known.constraints(names)
    orders = [order for order in permutations(range(p)) if is_valid_order(order, edges)]
    agreeing = [order for order in orders if keeps_to_stated_order(order, known, names)]
    assert agreeing
    assert all(constraints.allows(order) for order in agreeing)


def all_graphs(p):
    """Every acyclic graph."""
    below = [(i, j) for i in range(p) for j in range(p) if i != j]
    for present in product([False, True], repeat=len(below)):
        edges = np.zeros((p, p), dtype=bool)
        edges[tuple(np.transpose(below))] = present
        if is_acyclic(edges):
            yield edges


def through_others(names, rng):
    """Knowledge of every kind, with paths that may not be a single edge and many forbidden edges."""
    known = some_knowledge(names, rng)
    paths = [tuple(rng.choice(names, 2, replace=False)) for _ in range(int(rng.integers(1, 4)))]
    others = [tuple(rng.choice(names, 2, replace=False)) for _ in range(int(rng.integers(0, 6)))]
    return Knowledge(
        required_paths=paths,
        forbidden=[*paths, *others],
        forbidden_paths=known.forbidden_paths,
        exogenous=known.exogenous,
        sinks=known.sinks,
        tiers=known.tiers,
        before=known.before,
    )


def test_orders_and_beginnings_are_allowed_where_a_graph_keeps_to_everything_and_else_it_is_a_clash():
    names = ("a", "b", "c", "d")
    graphs = list(all_graphs(4))
    assert len(graphs) == 543
    clashes = 0
    for seed in range(40):
        known = through_others(names, np.random.default_rng([5, seed]))
        kept = [edges for edges in graphs if not broken(known, edges, names)]
        expected = {
            order
            for order in permutations(range(4))
            if keeps_to_stated_order(order, known, names) and any(is_valid_order(order, edges) for edges in kept)
        }
        try:
            constraints = known.constraints(names)
        except ConfigError:
            assert not expected
            clashes += 1
            continue
        assert {order for order in permutations(range(4)) if constraints.allows(order)} == expected
        for begun in {order[:k] for order in expected for k in range(4)}:
            following = {order[len(begun)] for order in expected if order[: len(begun)] == begun}
            assert set(constraints.admissible(begun)) == following
    assert 5 < clashes < 35


def broken(known, edges, names):
    """Statements about the graph alone that it does not keep to."""
    return [told for told in known.violations(edges, names, names) if not told.startswith("order")]


def chains(p, count):
    """Some paths that go through others, each from a variable of its own to another."""
    return [(f"v{k}", f"v{k + p // 2}") for k in range(count)], [f"v{k}" for k in range(p)]


def grown(constraints, rng):
    order = []
    while len(order) < len(constraints.before):
        order.append(int(rng.choice(constraints.admissible(order))))
    return np.array(order)


def test_many_paths_through_others_are_found_in_few_tries(monkeypatch):
    pairs, names = chains(30, 8)
    known = Knowledge(required_paths=pairs, forbidden=pairs)
    monkeypatch.setattr(limits, "TRIES", 100)
    monkeypatch.setattr(limits, "MOST_TRIES", 100)
    constraints, rng = known.constraints(names), np.random.default_rng(6)
    order = grown(constraints, rng)
    assert constraints.ways(order).settled
    edges = constraints.grow(order, lambda _target, _required, free: rng.random(len(free)) < 0.2)
    assert known.violations(edges, [names[k] for k in order], names) == []


@pytest.mark.parametrize("tries", [1, 3])
def test_a_search_that_is_cut_short_gets_nowhere_stuck_and_violates_nothing(monkeypatch, tries):
    monkeypatch.setattr(limits, "TRIES", tries)
    names = [f"v{k}" for k in range(7)]
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        known = through_others(names, rng)
        try:
            constraints = known.constraints(names)
        except ConfigError:
            continue
        order = grown(constraints, rng)
        for v in order.tolist():
            rest = [k for k in order.tolist() if k != v]
            assert constraints.places(rest, v)[order.tolist().index(v)]
        edges = constraints.grow(order, lambda _target, _required, free, rng=rng: rng.random(len(free)) < 0.5)
        assert is_valid_order(order, edges)
        assert known.violations(edges, [names[k] for k in order], names) == []


def test_where_the_ways_are_too_many_to_try_the_paths_are_named(monkeypatch):
    names = ("a", "b", "c", "d")
    known = Knowledge(required_paths=[("a", "d")], forbidden=[("a", "d"), ("a", "c"), ("b", "d")])
    constraints = known.constraints(names)
    assert constraints.allows([0, 1, 2, 3])
    monkeypatch.setattr(limits, "MOST_TRIES", 1)
    with pytest.raises(ConfigError, match=r"no graph was found .* a path but no edge for 'a' -> 'd'"):
        known.constraints(names)
    with pytest.raises(ConfigError, match="too many ways"):
        constraints.allows([0, 1, 2, 3])


def test_true_statements_that_a_path_is_not_there_force_no_wrong_edge():
    rng = np.random.default_rng(0)
    a, b, c, noise = rng.laplace(size=(4, 5000))
    one = discover(
        pd.DataFrame({"a": a, "b": b, "c": 2 * a + noise}),
        knowledge=Knowledge(forbidden_paths=[("a", "b"), ("b", "c")]),
    )
    assert edges_of(one) == {("a", "c")}
    other = discover(
        pd.DataFrame({"a": a, "b": 1.5 * c + b, "c": c, "d": 1.5 * a + noise}),
        knowledge=Knowledge(forbidden_paths=[("a", "b"), ("c", "d")]),
    )
    assert edges_of(other) == {("a", "d"), ("c", "b")}


def edges_of(found):
    return {(found.names[j], found.names[i]) for i, j in np.argwhere(found.adjacency.to_numpy() != 0)}
