from hypothesis import given
from hypothesis import strategies as st

from fedrcd.graphs.comparison import EdgeChange, Moved, compare_graphs

NAMES = "abcdef"


def compared(before, after, orders=("abc", "abc"), tolerance=0.0):
    return compare_graphs(before, after, orders, tolerance=tolerance)


def test_every_kind_of_change_is_told():
    before = {("a", "b"): 1.0, ("a", "c"): 2.0, ("b", "c"): 3.0, ("c", "d"): 1.0}
    after = {("a", "b"): 1.0, ("a", "c"): 2.5, ("c", "b"): 4.0, ("a", "d"): -1.0}
    assert compared(before, after).edges == (
        EdgeChange("a", "d", None, -1.0, "added"),
        EdgeChange("c", "d", 1.0, None, "removed"),
        EdgeChange("c", "b", 3.0, 4.0, "reversed"),
        EdgeChange("a", "c", 2.0, 2.5, "changed"),
        EdgeChange("a", "b", 1.0, 1.0, "same"),
    )


def test_small_differences_of_weight_can_be_ignored():
    assert compared({("a", "b"): 1.0}, {("a", "b"): 1.001}, tolerance=0.01).none
    assert not compared({("a", "b"): 1.0}, {("a", "b"): 1.001}, tolerance=0.0001).none


def test_pairs_that_changed_places_are_named_as_they_were():
    changes = compared({}, {}, ("abc", "bac"))
    assert changes.moved == (Moved("a", "b"),)
    assert changes.agreement == 2 / 3


def test_variables_of_one_graph_only_are_named_and_left_out_of_the_order():
    changes = compared({}, {}, ("axb", "bya"))
    assert (changes.only_before, changes.only_after) == (("x",), ("y",))
    assert changes.moved == (Moved("a", "b"),)


orders = st.permutations(NAMES)
pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] < pair[1])
weights = st.dictionaries(pairs, st.floats(-3, 3).filter(bool), max_size=8)


@given(weights, orders)
def test_a_graph_is_the_same_as_itself(edges, order):
    changes = compared(edges, edges, (order, order))
    assert changes.none
    assert changes.agreement == 1


@given(weights, weights, orders, orders)
def test_comparing_backwards_turns_every_change_round(one, other, first, second):
    turned = {("added", "removed"), ("removed", "added"), ("changed", "changed"), ("same", "same")}
    there, back = compared(one, other, (first, second)), compared(other, one, (second, first))
    kinds = {(edge.cause, edge.effect): edge.change for edge in back.edges}
    assert all((edge.change, kinds[edge.cause, edge.effect]) in turned for edge in there.edges)
    assert len(there.moved) == len(back.moved)
    assert there.agreement == back.agreement
