"""The page of accuracies: parts that are made anew, published networks, and real rows."""

import numpy as np
import pytest
from experiments.pages import accuracy, doubts, networks, real
from experiments.tasks.published import NETWORKS, draw_published, published

from fedrcd.graphs.dag import is_acyclic


@pytest.mark.parametrize("name", NETWORKS)
def test_published_networks_are_acyclic_and_drawn_standardised(name):
    names, B, sd = published(name)
    assert is_acyclic(B)
    assert len(names) > 40
    assert (sd > 0).all()
    _, X = draw_published(name, "laplace", 50, 0)
    np.testing.assert_allclose(X.std(axis=0), 1)
    np.testing.assert_array_equal(X, draw_published(name, "laplace", 50, 0)[1])


def test_a_part_that_is_made_anew_leaves_the_others():
    page = accuracy.merged("", {"regimes": "## Old\n\nkept", "edges": "## Edges\n\nold"})
    again = accuracy.merged(page, {"edges": "## Edges\n\nnew"})
    assert "kept" in again
    assert "new" in again
    assert "old" not in again
    assert again.index("kept") < again.index("new")
    assert accuracy.merged(again, {}) == again


def test_the_table_of_doubts_has_all_kinds(monkeypatch):
    monkeypatch.setattr(doubts, "WRONG", doubts.WRONG[:1])
    monkeypatch.setattr(doubts, "VALID", doubts.VALID[:1])
    text = "\n".join(doubts.section(1, 1))
    assert "tanh edges, laplace, 1000 rows" in text
    assert "10 variables, 1000 rows" in text


def test_networks_and_real_rows_have_a_line_each(monkeypatch):
    monkeypatch.setattr(networks, "NETWORKS", NETWORKS[:1])
    monkeypatch.setattr(networks, "NOISES", ("laplace",))
    monkeypatch.setattr(networks, "METHODS", ("fedrcd-sx", "fedrcd-x"))
    assert len(list(networks.section(2, 1))) == 3
    monkeypatch.setattr(real, "METHODS", ("fedrcd-sx",))
    lines = list(real.table(real.sachs("none"), 2, 1))
    assert "fedrcd-sx" in lines[-1]
    assert "to" in lines[-1]
