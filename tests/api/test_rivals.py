"""What stands under other methods, for a result in doubt."""

import json

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd.errors import ConfigError, FileError
from fedrcd.graphs.agreement import agreed_edges

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
ALL = {"fedrcd-s", "fedrcd-s, refine=none", "fedrcd-sx", "fedrcd-r", "fed-direct", "half of the resamples"}


@pytest.fixture(scope="module")
def bent():
    rng = np.random.default_rng(3)
    X = rng.laplace(size=(1200, 4))
    X[:, 1] += X[:, 0] + 0.5 * X[:, 0] ** 2
    X[:, 3] += X[:, 2]
    return pd.DataFrame(X, columns=list("abcd"))


@pytest.fixture(scope="module")
def straight():
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(1200, 3))
    X[:, 1] += X[:, 0]
    return pd.DataFrame(X, columns=list("abc"))


def test_in_doubt_the_sums_of_one_round_give_rivals_too(bent):
    found = fedrcd.discover(bent, "fedrcd-s")
    assert found.rounds == 1
    assert [rival.method for rival in found.rivals] == ["fedrcd-s, refine=none"]
    again = fedrcd.discover(bent, "fedrcd-s", refine="none")
    assert found.rivals[0].order == again.order
    assert set(found.rivals[0].edges) == {(edge.cause, edge.effect) for edge in again.edges()}


def test_asked_for_they_are_all_methods_of_several_rounds_and_resamples(bent):
    found = fedrcd.discover(bent, rivals=True)
    assert {rival.method for rival in found.rivals} == ALL
    direct = fedrcd.discover(bent, "fed-direct")
    assert next(rival for rival in found.rivals if rival.method == "fed-direct").order == direct.order


def test_a_result_without_doubt_has_none(straight):
    found = fedrcd.discover(straight, rivals=True)
    assert found.rivals == ()
    with pytest.raises(ConfigError, match="rivals=True"):
        found.agreement()


def test_other_methods_are_asked_about_tables_in_this_process(bent):
    class Elsewhere:
        def __init__(self, transport):
            self.setting, self.pool = transport.setting, transport.pool

    with pytest.raises(ConfigError, match="in this process"):
        fedrcd.discover(Elsewhere(fedrcd.in_process(bent)), "fedrcd-s", rivals=True)


def test_the_table_counts_who_has_an_edge_and_says_who_turns_it():
    edges = agreed_edges({"one": [("a", "b"), ("c", "d")], "two": [("b", "a"), ("c", "d")], "three": [("a", "b")]})
    assert [(edge.cause, edge.effect, edge.says, edge.agree) for edge in edges] == [
        ("a", "b", ("yes", "turned", "yes"), 2),
        ("c", "d", ("yes", "yes", "no"), 2),
    ]


def test_rivals_and_sureness_are_kept_in_the_file_and_shown_on_the_page(bent):
    found = fedrcd.discover(bent, rivals=True)
    again = fedrcd.Discovery.from_json(found.to_json())
    assert again.rivals == found.rivals
    assert again.order_confidence == found.order_confidence
    pd.testing.assert_frame_equal(again.agreement(), found.agreement())
    page = found.report()
    assert "What other methods find" in page
    assert "half of the resamples" in page
    assert "How sure it is" in page


def test_neighbours_are_listed_least_sure_first(straight):
    found = fedrcd.discover(straight)
    table = found.neighbours()
    assert table.confidence.is_monotonic_increasing
    assert set(zip(table["first"], table.then, strict=True)) == set(zip(found.order, found.order[1:], strict=False))


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("rivals", [{"method": "x", "order": ["a"], "edges": []}]),
        ("order_confidence", [0.5, 2.0, 0.1]),
    ],
)
def test_a_file_with_fields_that_cannot_be_is_refused(bent, field, wrong):
    content = json.loads(fedrcd.discover(bent, "fedrcd-s").to_json()) | {field: wrong}
    with pytest.raises(FileError, match=r"rival|how sure"):
        fedrcd.Discovery.from_json(json.dumps(content))
