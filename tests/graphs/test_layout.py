import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.graphs.layout import depths, layered


@st.composite
def graphs(draw):
    """Acyclic graphs whose columns are not in causal order, and a width for each variable."""
    p = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    B = np.tril(rng.random((p, p)) < draw(st.sampled_from([0.0, 0.2, 0.6, 1.0])), k=-1).astype(float)
    shuffled = rng.permutation(p)
    return B[np.ix_(shuffled, shuffled)], rng.uniform(20, 150, p)


@given(graphs())
def test_causes_stand_above_their_effects(graph):
    B, widths = graph
    placed = layered(B, widths)
    for effect, cause in np.argwhere(B).tolist():
        assert placed.y[cause] < placed.y[effect]


@given(graphs())
def test_boxes_of_one_layer_do_not_touch(graph):
    B, widths = graph
    placed = layered(B, widths, gap=10)
    for height in np.unique(placed.y):
        row = np.flatnonzero(placed.y == height)
        row = row[np.argsort(placed.x[row])]
        space = np.diff(placed.x[row]) - (widths[row][1:] + widths[row][:-1]) / 2
        assert (space > 9.99).all()


@given(graphs())
def test_only_edges_bow_and_only_where_they_pass_a_layer(graph):
    B, widths = graph
    layer = depths(B != 0)
    passes = (layer[:, np.newaxis] - layer > 1) & (B != 0)
    assert not layered(B, widths).bow[~passes].any()


def test_an_edge_leaves_room_for_the_variable_it_passes():
    chain = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]])
    placed = layered(chain, [60, 60, 60])
    x, y = placed.control(0, 2)
    middle_of_the_curve = (placed.x[0] + 2 * x + placed.x[2]) / 4
    assert abs(middle_of_the_curve - placed.x[1]) > 30
    assert y == pytest.approx(placed.y[1])


def test_variables_without_any_edge_stand_in_a_row_below():
    B = np.zeros((4, 4))
    B[1, 0] = 1
    assert depths(B != 0).tolist() == [0, 1, 2, 2]


def test_two_lines_that_could_cross_do_not():
    B = np.zeros((4, 4))
    B[3, 0] = B[2, 1] = 1
    placed = layered(B, [50] * 4)
    assert (placed.x[0] < placed.x[1]) == (placed.x[3] < placed.x[2])
