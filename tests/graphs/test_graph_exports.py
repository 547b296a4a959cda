import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import ConfigError
from fedrcd.graphs import Edge, edge_list, to_dot, to_gml, to_networkx

B = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-2.0, 0.1234567890123, 0.0]])
NAMES = ["dose", "pain", "sleep"]
names = st.lists(st.text(min_size=1), min_size=3, max_size=3, unique=True)


def test_edges_go_from_cause_to_effect_strongest_first():
    assert edge_list(B, NAMES) == [
        Edge("dose", "sleep", -2.0),
        Edge("dose", "pain", 0.5),
        Edge("pain", "sleep", 0.1234567890123),
    ]


def test_equally_strong_edges_keep_the_order_of_the_columns():
    ties = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 1.0, 0.0]])
    assert [(edge.cause, edge.effect) for edge in edge_list(ties, NAMES)] == [
        ("dose", "pain"),
        ("dose", "sleep"),
        ("pain", "sleep"),
    ]


def test_every_variable_needs_a_name():
    with pytest.raises(ConfigError, match="2 names for 3 variables"):
        edge_list(B, NAMES[:2])


def test_networkx_keeps_unconnected_variables_in_order():
    graph = to_networkx(np.zeros((3, 3)), NAMES)
    assert list(graph) == NAMES
    assert not graph.edges


def test_networkx_edges_carry_their_weights():
    assert to_networkx(B, NAMES).edges["dose", "sleep"]["weight"] == -2.0


def test_dot_says_where_its_arrows_point():
    text = to_dot(B, NAMES)
    assert text.startswith("// an edge points from cause to effect")
    assert '  "dose" -> "sleep" [label="-2"];' in text


def test_dot_escapes_what_would_end_a_string():
    text = to_dot(B, ['a"b', "c\\", "d\ne"])
    assert r'  "a\"b";' in text
    assert r'  "c\\";' in text
    assert r'  "d\ne";' in text


@given(names)
def test_gml_survives_a_round_trip_whatever_the_names(names):
    graph = nx.parse_gml(to_gml(B, names))
    assert list(graph) == names
    assert {(a, b): w for a, b, w in graph.edges(data="weight")} == {
        (edge.cause, edge.effect): edge.weight for edge in edge_list(B, names)
    }
    assert "cause to effect" in graph.graph["orientation"]
