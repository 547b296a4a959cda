import numpy as np
import pytest
from hypothesis import given, settings
from tests.knowledge import consistent_knowledge
from tests.strategies import seeds

from fedrcd.errors import ConfigError
from fedrcd.graphs.dag import is_valid_order
from fedrcd.graphs.knowledge.statements import Knowledge

NAMES = ("a", "b", "c", "d")


def grown(constraints, rng):
    """An order made of random admissible variables."""
    order = []
    while len(order) < len(constraints.before):
        order.append(int(rng.choice(constraints.admissible(order))))
    return np.array(order)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_whatever_is_admissible_can_be_completed_and_whatever_is_picked_keeps_to_what_is_known(seed):
    rng = np.random.default_rng(seed)
    names = tuple(f"v{k}" for k in range(int(rng.integers(3, 8))))
    known, constraints = consistent_knowledge(names, rng)
    order = grown(constraints, rng)
    assert constraints.allows(order)
    edges = constraints.grow(order, lambda _target, _required, free: rng.random(len(free)) < 0.5)
    assert is_valid_order(order, edges)
    assert known.violations(edges, [names[k] for k in order], names) == []


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_places_are_those_that_give_an_allowed_order(seed):
    rng = np.random.default_rng(seed)
    names = tuple(f"v{k}" for k in range(6))
    _, constraints = consistent_knowledge(names, rng)
    order = grown(constraints, rng).tolist()
    for v in order:
        rest = [u for u in order if u != v]
        expected = [constraints.allows([*rest[:k], v, *rest[k:]]) for k in range(len(order))]
        assert constraints.places(rest, v).tolist() == expected


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, "a cycle: a -> b -> c -> a"),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "'a' -> 'b' is both required and forbidden"),
        ({"required": [("a", "b")], "exogenous": ["b"]}, "'b' is exogenous, but 'a' -> 'b' is required"),
        ({"required_paths": [("a", "b")], "sinks": ["a"]}, "'a' is a sink, but 'a' -> 'b' is required"),
        (
            {"required": [("a", "b"), ("b", "c")], "tiers": [["c"], ["a"]]},
            "tiers place 'c' before 'a', but 'a' -> 'b' -> 'c' is required",
        ),
        (
            {"required_paths": [("a", "b")], "forbidden_paths": [("a", "b")]},
            "a path 'a' -> 'b' is forbidden, but 'a' -> 'b' is required",
        ),
        (
            {"required_paths": [("a", "b")], "forbidden": [("a", "b"), ("a", "c"), ("a", "d")]},
            "a path 'a' -> 'b' is required, but the edges 'a' -> 'b', 'a' -> 'c', 'a' -> 'd' are forbidden",
        ),
        (
            {
                "required_paths": [("a", "b"), ("c", "d")],
                "forbidden": [("a", "b"), ("c", "d")],
                "sinks": ["d"],
                "tiers": [["c"], ["a"]],
            },
            "a path 'a' -> 'b' is required, but the edge 'a' -> 'b' is forbidden, 'd' is a sink and "
            "tiers place 'c' before 'a'",
        ),
        ({"before": [("a", "b"), ("c", "d"), ("b", "a")]}, "'a' is before 'b', but 'b' is before 'a'"),
        (
            {"required": [("a", "b")], "required_paths": [("b", "c")], "before": [("c", "a")]},
            "'c' is before 'a', but 'a' -> 'b' -> 'c' is required",
        ),
        ({"exogenous": ["e"]}, "names 'e', which is not a variable"),
        ({"required": [("aa", "b")]}, "did you mean 'a'"),
    ],
)
def test_clashes_and_unknown_names_are_named(statements, words):
    with pytest.raises(ConfigError) as problem:
        Knowledge(**statements).constraints(NAMES)
    assert words in str(problem.value)


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ({"required": "ab"}, "required must be a list of pairs"),
        ({"required": [("a",)]}, "a pair (cause, effect), got 1 names"),
        ({"forbidden": [("a", "a")]}, "names 'a' as its own cause"),
        ({"before": [("a",)]}, "a pair (first, later), got 1 names"),
        ({"before": [("a", "a")]}, "names 'a' as its own predecessor"),
        ({"exogenous": "a"}, "exogenous must be a list of names"),
        ({"sinks": [1]}, "sinks must be a list of names"),
        ({"tiers": 3}, "tiers must be a list of lists"),
        ({"tiers": [["a"], ["a"]]}, "tiers name 'a' twice"),
    ],
)
def test_malformed_statements_are_refused(statements, words):
    with pytest.raises(ConfigError) as problem:
        Knowledge(**statements)
    assert words in str(problem.value)


def test_a_mediator_is_found_where_the_direct_edge_is_forbidden():
    constraints = Knowledge(required_paths=[("a", "b")], forbidden=[("a", "b")]).constraints(("a", "b", "c"))
    assert not constraints.allows([0, 1, 2])
    assert constraints.allows([0, 2, 1])
    edges = constraints.grow(np.array([0, 2, 1]), lambda _target, _required, free: np.zeros(len(free), dtype=bool))
    assert np.argwhere(edges).tolist() == [[1, 2], [2, 0]]


def test_statements_that_no_single_order_serves_are_left_to_the_weights():
    known = Knowledge(forbidden_paths=[("a", "b"), ("b", "c"), ("c", "a")])
    constraints = known.constraints(("a", "b", "c"))
    order = grown(constraints, np.random.default_rng(0))
    edges = constraints.grow(order, lambda _target, _required, free: np.ones(len(free), dtype=bool))
    assert known.violations(edges, [NAMES[k] for k in order], ("a", "b", "c")) == []


def test_a_matrix_is_read_to_from_and_written_back():
    matrix = np.array([[-1, 0, -1], [1, -1, -1], [-1, -1, -1]])
    known = Knowledge.from_matrix(matrix, ("a", "b", "c"))
    assert known.required_paths == (("a", "b"),)
    assert known.forbidden_paths == (("b", "a"),)
    assert known.before == ()
    np.testing.assert_array_equal(known.to_matrix(("a", "b", "c")), matrix)


def test_no_path_in_a_matrix_puts_the_other_way_round_first_unless_there_is_none_or_that_closes_a_circle():
    unknown = np.full((4, 4), -1)
    one, both, circle = unknown.copy(), unknown.copy(), unknown.copy()
    one[1, 0] = 0  # no path a -> b
    both[1, 0] = both[0, 1] = 0
    circle[1, 0] = circle[2, 1] = circle[0, 2] = circle[3, 0] = 0
    before = [Knowledge.from_matrix(matrix, NAMES).before for matrix in (one, both, circle)]
    assert before == [(("b", "a"),), (), (("d", "a"),)]


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.full((3, 3), 2)])
def test_a_matrix_of_another_shape_or_with_other_entries_is_refused(matrix):
    with pytest.raises(ConfigError, match="matrix of prior knowledge"):
        Knowledge.from_matrix(matrix, ("a", "b", "c"))


def test_violations_are_told_in_words():
    known = Knowledge(
        required=[("a", "b")], exogenous=["c"], sinks=["a"], tiers=[["d"], ["a"]], before=[("c", "a"), ("d", "c")]
    )
    B = np.zeros((4, 4))
    B[2, 0] = B[3, 0] = 1.0  # a -> c, a -> d
    told = known.violations(B, ("b", "a", "c", "d"), NAMES)
    assert told == [
        "lacks edge a -> b",
        "has path a -> c",
        "c has causes",
        "a has effects",
        "a affects d of an earlier tier",
        "order has b before a",
        "order has a before c",
        "order has c before d",
        "order has a before d",
    ]
