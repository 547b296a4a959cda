import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedrcd import Discovery, discover
from fedrcd.api.discovery import TraceStep
from fedrcd.api.discovery_file import BY_STEP, SINCE
from fedrcd.data import random_model
from fedrcd.errors import ConfigError, FileError
from fedrcd.methods.registry import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own

VERSION_1 = Path(__file__).with_name("discovery-1.json")
NAMES = ["age", "dose", "größe", "sleep", "score"]


@cache
def rows():
    rng = np.random.default_rng(4)
    return random_model(5, noise="exponential", density=0.6, rng=rng).sample(600, rng)


@cache
def found(method="fedrcd-x"):
    return discover(pd.DataFrame(rows(), columns=NAMES), method)


def chain():
    """dose -> pain -> sleep, and dose -> sleep."""
    B = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.5, -3.0, 0.0]])
    names = ("dose", "pain", "sleep")
    costs = {"rows": 10, "sites": 1, "rounds": 1, "bytes_sent": 8}
    return Discovery(names=names, order=names, B=B, method="hand", options={}, variance_agreement=1.0, **costs)


def test_the_order_names_every_variable_once():
    assert sorted(found().order) == sorted(NAMES)


def test_rows_of_the_adjacency_are_effects_and_columns_causes():
    assert chain().adjacency.loc["sleep", "pain"] == -3.0
    assert chain().adjacency.loc["pain", "sleep"] == 0.0


def test_the_adjacency_is_labelled_by_the_columns_of_the_tables():
    assert list(found().adjacency.index) == list(found().adjacency.columns) == NAMES


def test_total_effects_add_up_all_paths():
    total = chain().total_effects()
    assert total.loc["sleep", "dose"] == pytest.approx(0.5 + 2.0 * -3.0)
    assert total.loc["pain", "dose"] == pytest.approx(2.0)
    assert total.loc["dose", "sleep"] == 0.0


def test_total_effects_are_labelled():
    assert list(found().total_effects().index) == list(found().total_effects().columns) == NAMES


def test_edges_go_from_cause_to_effect_strongest_first():
    edges = [(edge.cause, edge.effect, edge.weight) for edge in chain().edges()]
    assert edges == [("pain", "sleep", -3.0), ("dose", "pain", 2.0), ("dose", "sleep", 0.5)]


def test_edges_are_the_entries_of_the_adjacency():
    edges = found().edges()
    assert len(edges) == np.count_nonzero(found().B)
    for edge in edges:
        assert found().adjacency.loc[edge.effect, edge.cause] == edge.weight


def test_edges_are_sorted_by_absolute_weight():
    weights = [abs(edge.weight) for edge in found().edges()]
    assert weights == sorted(weights, reverse=True)


def test_exports_point_from_cause_to_effect():
    assert set(chain().to_networkx().edges) == {("dose", "pain"), ("pain", "sleep"), ("dose", "sleep")}
    assert '"pain" -> "sleep"' in chain().to_dot()
    assert 'label "pain"' in chain().to_gml()


def test_text_tells_method_order_and_edges():
    text = str(chain())
    assert text.splitlines() == [
        "hand: 10 rows, 1 sites, 1 rounds, 3 edges",
        "order: dose, pain, sleep",
        "  pain -> sleep  -3",
        "  dose -> pain  +2",
        "  dose -> sleep  +0.5",
    ]


def test_text_tells_the_notes():
    doubtful = discover(np.random.default_rng(0).normal(size=(300, 3)), "fedrcd-x")
    assert f"note: {doubtful.notes[0]}" in str(doubtful)


def test_the_representation_is_one_line_about_what_was_found():
    assert repr(chain()) == "<Discovery by hand: 3 variables, 3 edges, 10 rows, 1 sites; order: dose, pain, sleep>"


def test_the_representation_of_many_variables_is_short():
    names = tuple(f"x{k}" for k in range(200))
    many = replace(chain(), names=names, order=names, B=np.zeros((200, 200)))
    assert repr(many).endswith("; order: x0, x1, x2, x3, x4, ..., x198, x199>")


def test_standardised_effects_are_free_of_units():
    effects = replace(chain(), variances=(1.0, 4.0, 100.0)).standardised_effects()
    assert effects.loc["pain", "dose"] == pytest.approx(2.0 * 1 / 2)
    assert effects.loc["sleep", "pain"] == pytest.approx(-3.0 * 2 / 10)
    with pytest.raises(ConfigError, match="variances of this discovery are not known"):
        chain().standardised_effects()


@pytest.mark.parametrize("method", METHODS)
def test_the_trace_has_a_step_for_every_source(method):
    assert len(found(method).trace) == len(NAMES) - 1


@pytest.mark.parametrize("method", METHODS)
def test_every_step_chose_the_highest_score(method):
    for step in found(method).trace:
        assert step.chosen == max(step.scores, key=step.scores.get)


@pytest.mark.parametrize("method", METHODS)
def test_margins_are_not_negative(method):
    assert all(step.margin >= 0 for step in found(method).trace)


def assert_equal(one, other):
    for name in Discovery.__dataclass_fields__:
        left, right = getattr(one, name), getattr(other, name)
        assert type(left) is type(right)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
        else:
            assert left == right


@pytest.mark.parametrize("method", METHODS)
def test_text_brings_a_discovery_back(method):
    assert_equal(Discovery.from_json(found(method).to_json()), found(method))


@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_a_file_brings_a_discovery_back(as_path, tmp_path):
    path = as_path(tmp_path / "found.json")
    text = found().to_json(path)
    assert_equal(Discovery.from_json(path), found())
    assert_equal(Discovery.from_json(text), found())


def test_the_file_says_what_it_is():
    assert json.loads(found().to_json())["format"] == "fedrcd-discovery/2"


def test_a_restored_trace_has_steps():
    assert all(isinstance(step, TraceStep) for step in Discovery.from_json(found().to_json()).trace)


def test_broken_text_is_told_with_its_line():
    with pytest.raises(FileError, match="broken JSON in line 3"):
        Discovery.from_json('{\n"format": "fedrcd-discovery/1",\n oops')


def test_a_broken_file_is_told(tmp_path):
    path = tmp_path / "found.json"
    path.write_text(found().to_json()[:-30])
    with pytest.raises(FileError, match="broken JSON"):
        Discovery.from_json(path)


@pytest.mark.parametrize("version", ["something", "fedrcd-ledger/1", None])
def test_another_format_is_refused(version):
    content = json.loads(found().to_json()) | {"format": version}
    with pytest.raises(FileError, match="not a discovery of format fedrcd-discovery/2"):
        Discovery.from_json(json.dumps(content))


def test_a_file_of_a_newer_version_is_told_with_its_name_and_what_to_do(tmp_path):
    path = tmp_path / "tomorrow.json"
    path.write_text(json.dumps(json.loads(found().to_json()) | {"format": "fedrcd-discovery/3"}))
    with pytest.raises(FileError, match=r"tomorrow\.json: .*fedrcd-discovery/3.*newer version.*upgrade"):
        Discovery.from_json(path)


def test_a_field_of_a_newer_version_is_named():
    content = json.loads(found().to_json()) | {"moods": []}
    with pytest.raises(FileError, match="'moods', which this version of fedrcd does not know"):
        Discovery.from_json(json.dumps(content))


def test_a_file_of_an_older_version_is_read():
    content = json.loads(found().to_json())
    for name in ("variances", "standardised_order", "holdings", "versions"):
        del content[name]
    old = Discovery.from_json(json.dumps(content))
    assert (old.order, old.variances, old.holdings, old.versions) == (found().order, (), (), {})


def test_a_file_of_the_first_version_is_read():
    old = Discovery.from_json(VERSION_1)
    assert (old.method, old.order, old.rows) == ("fedrcd-x", ("dose", "pain", "sleep"), 600)
    assert old.lagged_effects == {}
    assert (old.epsilon, old.delta, old.signatures, old.verified_by) == (None, None, (), ())
    again = json.loads(old.to_json())
    assert again == {**json.loads(VERSION_1.read_text()), "format": "fedrcd-discovery/2"}


def full():
    """A discovery with everything that the second version has room for."""
    B = chain().B.copy()
    B[2, 0] = np.nan
    lagged = {1: np.diag([0.5, 0.0, np.nan]), 2: np.zeros((3, 3))}
    signed = ({"signer": "hospital-a", "signature": "abc"},)
    return replace(
        chain(),
        B=B,
        lagged_effects=lagged,
        epsilon=1.0,
        delta=0.0,
        signatures=signed,
        verified_by=("hospital-b",),
        start=(),
        units={"dose": "mg"},
        left_out={"clinic": 3},
    )


def test_what_is_new_in_the_second_version_comes_back():
    again = Discovery.from_json(full().to_json())
    np.testing.assert_array_equal(again.B, full().B)
    assert set(again.lagged_effects) == {1, 2}
    np.testing.assert_array_equal(again.lagged_effects[1], full().lagged_effects[1])
    for name in ("epsilon", "delta", "signatures", "verified_by", "units", "left_out"):
        assert getattr(again, name) == getattr(full(), name)


def test_an_effect_that_is_not_identified_is_null_in_the_file_and_no_edge():
    assert json.loads(full().to_json())["B"][2][0] is None
    assert full().not_identified() == [("dose", "sleep")]
    assert [(edge.cause, edge.effect) for edge in full().edges()] == [("pain", "sleep"), ("dose", "pain")]
    assert np.isnan(full().adjacency.loc["sleep", "dose"])


@pytest.mark.parametrize("name", ["lagged", "epsilon", "delta", "signatures", "verified_by", "units", "left_out"])
def test_fields_of_the_second_version_are_refused_in_a_file_of_the_first(name):
    content = json.loads(full().to_json()) | {"format": "fedrcd-discovery/1"}
    only = {key: value for key, value in content.items() if key == name or key not in SINCE}
    with pytest.raises(FileError, match=f"'{name}', which files of format fedrcd-discovery/1 do not have"):
        Discovery.from_json(json.dumps(only))


def test_the_first_version_has_no_null_effects():
    content = json.loads(chain().to_json()) | {"format": "fedrcd-discovery/1", "B": json.loads(full().to_json())["B"]}
    with pytest.raises(FileError, match="not a complete discovery"):
        Discovery.from_json(json.dumps(content))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"lagged": {"0": np.zeros((3, 3)).tolist()}}, id="a lag of 0"),
        pytest.param({"lagged": {"1": [[0.0]]}}, id="lagged effects of other variables"),
        pytest.param({"epsilon": -1.0}, id="a negative epsilon"),
        pytest.param({"delta": 2.0}, id="a delta above 1"),
        pytest.param({"units": {"nobody": "mg"}}, id="a unit of no variable"),
        pytest.param({"units": {"dose": 1}}, id="a unit that is no text"),
        pytest.param({"left_out": {"clinic": -1}}, id="fewer rows than none left out"),
    ],
)
def test_new_fields_that_make_no_sense_are_refused(change):
    with pytest.raises(FileError, match="not a discovery"):
        Discovery.from_json(json.dumps(json.loads(full().to_json()) | change))


def test_the_documentation_tells_every_field_of_the_file():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "discovery-format.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \| (\d) \|", page, re.MULTILINE)
    in_file = {field: name for name, field in BY_STEP.items()}
    names = [in_file.get(field, field) for field in Discovery.__dataclass_fields__]
    fields = {"format": 1, **{name: SINCE.get(name, 1) for name in names}}
    assert {name: int(since) for name, since in told} == fields
    assert len(told) == len(fields)


def test_something_else_than_a_discovery_is_refused(tmp_path):
    (tmp_path / "list.json").write_text("[1, 2]")
    with pytest.raises(FileError, match="not a discovery"):
        Discovery.from_json(tmp_path / "list.json")


@pytest.mark.parametrize("name", ["names", "order", "B", "trace", "rows", "notes", "options"])
def test_a_discovery_that_lacks_something_is_refused(name):
    content = json.loads(found().to_json())
    del content[name]
    with pytest.raises(FileError, match="not a complete discovery"):
        Discovery.from_json(json.dumps(content))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"B": [[0.0]]}, id="effects of other variables"),
        pytest.param({"B": "zero"}, id="effects that are no numbers"),
        pytest.param({"order": ["age", "age", "dose", "sleep", "score"]}, id="an order that repeats"),
        pytest.param({"order": ["age"]}, id="an order that lacks variables"),
        pytest.param({"standardised_order": ["age"]}, id="an order of standardised data that lacks variables"),
        pytest.param({"variances": [1.0]}, id="variances of other variables"),
        pytest.param({"variances": [1.0, -1.0, 1.0, 1.0, 1.0]}, id="negative variances"),
        pytest.param({"holdings": [{"site": "a"}]}, id="a holding without rows"),
    ],
)
def test_a_discovery_that_contradicts_itself_is_refused(change):
    content = json.loads(found().to_json()) | change
    with pytest.raises(FileError, match="not a"):
        Discovery.from_json(json.dumps(content))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FileError, match=r"nowhere\.json"):
        Discovery.from_json(tmp_path / "nowhere.json")


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "picture.json").write_bytes(b"\xff\xd8\xff\xe0")
    with pytest.raises(FileError, match=r"picture\.json is not a text file"):
        Discovery.from_json(tmp_path / "picture.json")


def test_a_folder_that_does_not_exist_cannot_be_written_to(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        found().to_json(tmp_path / "nowhere" / "found.json")


def test_effects_against_the_order_are_refused():
    content = json.loads(found().to_json())
    content["order"] = content["order"][::-1]
    with pytest.raises(FileError, match="do not follow"):
        Discovery.from_json(json.dumps(content))
