"""Which orders prior knowledge allows."""

import numpy as np
import pytest
from tests.knowledge import some_knowledge

from fedrcd import Knowledge
from fedrcd.errors import ConfigError
from fedrcd.graphs import constraints as limits
from fedrcd.graphs.dag import is_valid_order


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
    )


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


def test_where_the_ways_are_too_many_to_try_it_is_an_error(monkeypatch):
    names = ("a", "b", "c", "d")
    known = Knowledge(required_paths=[("a", "d")], forbidden=[("a", "d"), ("a", "c"), ("b", "d")])
    constraints = known.constraints(names)
    assert constraints.allows([0, 1, 2, 3])
    monkeypatch.setattr(limits, "MOST_TRIES", 1)
    with pytest.raises(ConfigError, match="too many ways"):
        constraints.allows([0, 1, 2, 3])
