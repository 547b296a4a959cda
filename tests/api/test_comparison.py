import json

import pytest

from fedrcd import compare
from fedrcd.errors import ConfigError
from tests.report.results import by_hand, chain


def turned():
    """sleep -> dose and nothing else."""
    return by_hand([[0, 0, 0.5], [0, 0, 0], [0, 0, 0]], ("dose", "pain", "sleep"), order=("sleep", "pain", "dose"))


def test_the_text_tells_every_change():
    assert str(compare(chain(), turned(), titles=("monday", "friday"))).splitlines() == [
        "monday -> friday: edges: 0 added, 2 removed, 1 reversed, 0 changed, 0 same; "
        "3 pairs of variables changed places (0% of pairs alike)",
        "  removed   pain -> sleep  -3 -> none",
        "  removed   dose -> pain  +2 -> none",
        "  reversed  sleep -> dose  +0.5 -> +0.5",
        "  order     dose came before pain",
        "  order     dose came before sleep",
        "  order     pain came before sleep",
    ]


def test_weights_that_differ_in_digits_nobody_sees_are_counted_and_not_listed():
    other = by_hand(chain().B * [[1.0], [1.00001], [1.1]], chain().names)
    told = str(compare(chain(), other)).splitlines()
    assert told[1:] == [
        "  changed   pain -> sleep  -3 -> -3.3",
        "  changed   dose -> sleep  +0.5 -> +0.55",
        "  changed   1 more, in digits that are not shown",
    ]
    page = compare(chain(), other).report()
    assert page.count('<td><span class="tag changed">') == 2
    close = compare(chain(), by_hand(chain().B * 1.00001, chain().names)).report()
    assert "All edges are the same in the digits that are shown." in close


def test_what_differs_besides_the_graph_is_told():
    other = by_hand(chain().B, chain().names, method="fedrcd-x", rows=900)
    assert "method fedrcd-s -> fedrcd-x; rows 1000 -> 900" in str(compare(chain(), other))


def test_json_is_written_for_programs(tmp_path):
    text = compare(chain(), turned()).to_json(tmp_path / "changes.json")
    content = json.loads(text)
    assert content == json.loads((tmp_path / "changes.json").read_text())
    assert (content["format"], content["same"], content["agreement"]) == ("fedrcd-comparison/1", False, 0.0)
    assert content["edges"][0] == {
        "cause": "pain",
        "effect": "sleep",
        "before": -3.0,
        "after": None,
        "change": "removed",
    }
    assert content["moved"][0] == {"first": "dose", "then": "pain"}


def test_discoveries_without_a_common_variable_cannot_be_compared():
    with pytest.raises(ConfigError, match="no variable in common"):
        compare(chain(), by_hand([[0.0]], ["age"]))


def test_a_tolerance_below_zero_is_refused():
    with pytest.raises(ConfigError, match="tolerance must be at least 0"):
        compare(chain(), chain(), tolerance=-1)
