import numpy as np
import pandas as pd
import pytest
from experiments.pages.summary import Difference, chain, in_regime, markdown, paired, select, spread
from experiments.tasks.recovery import DATA, paper_settings, recovery_cells
from hypothesis import given, settings
from hypothesis import strategies as st

numbers = st.floats(-1e3, 1e3)


def frame_of(values):
    """Results with an accuracy per method and data set."""
    rows = []
    for method, accuracies in values.items():
        for setting, accuracy in zip(paper_settings(3), accuracies, strict=False):
            cell = next(recovery_cells([setting], [method]))
            rows.append({**cell.settings, "accuracy": accuracy})
    return pd.DataFrame(rows)


@given(st.lists(numbers, min_size=2, max_size=30))
def test_a_spread_has_both_the_standard_deviation_and_the_standard_error(values):
    summary = spread([*values, np.nan])
    assert summary.n == len(values)
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.se * np.sqrt(len(values)) == pytest.approx(summary.sd)
    assert "±" in summary.words()
    assert "[" in summary.words()


@pytest.mark.parametrize(("values", "shown"), [([], "-"), ([np.nan], "-"), ([0.5], "0.500")])
def test_no_error_is_shown_where_there_is_none(values, shown):
    assert spread(values).words() == shown


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=20))
@settings(max_examples=20, deadline=None)
def test_paired_differences_are_those_of_the_same_data_sets(pairs):
    one, other = zip(*pairs, strict=True)
    frame = frame_of({"a": one, "b": other})
    difference = paired(frame.sample(frac=1, random_state=0), {"method": "a"}, {"method": "b"})
    apart = np.array(one) - np.array(other)
    assert difference.n == len(pairs)
    assert difference.mean == pytest.approx(apart.mean(), abs=1e-9)
    assert difference.se == pytest.approx(apart.std(ddof=1) / np.sqrt(len(apart)), abs=1e-9)


def test_only_data_sets_that_both_have_are_compared():
    frame = frame_of({"a": [1.0, 2.0, 3.0], "b": [0.0, 0.0]})
    assert paired(frame, {"method": "a"}, {"method": "b"}).n == 2


@pytest.mark.parametrize(
    ("difference", "tie"),
    [
        (Difference(0.02, 0.0101, 9), True),
        (Difference(0.02, 0.0099, 9), False),
        (Difference(-0.02, 0.0099, 9), False),
        (Difference(0.0, 0.0, 9), True),
    ],
)
def test_within_two_standard_errors_is_a_tie(difference, tie):
    assert difference.is_tie is tie
    assert ("a tie" in difference.words()) is tie


def test_rows_are_chosen_by_value_and_by_absence():
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0], "b": ["x", "x", "y"]})
    assert select(frame, a=None, b="x").index.tolist() == [1]
    assert select(frame, b="y").index.tolist() == [2]


def test_regimes_part_the_families():
    frame = frame_of({"a": np.linspace(0, 1, 33)})
    sizes = {name: len(in_regime(frame, name)) for name in ("symmetric", "skewed", "mixed", "all")}
    assert sizes == {"symmetric": 12, "skewed": 18, "mixed": 3, "all": 33}


def test_a_chain_compares_neighbours():
    frame = frame_of({"a": np.ones(33), "b": np.zeros(33), "c": np.zeros(33)})
    (first, *_), (second, *_) = rows = list(chain(frame, ["a", "b", "c"]))
    assert (first, second) == ("a - b", "b - c")
    assert rows[0][-1] == "+1.000 ± 0.000"
    assert rows[1][-1].endswith("a tie")


def test_a_table_is_markdown():
    assert list(markdown(["a", "b"], [[1, "x"]])) == ["| a | b |", "|---|---|", "| 1 | x |", ""]


def test_every_setting_of_the_data_tells_data_sets_apart():
    assert {"noise", "seed", "p", "sites", "rows", "density", "degree", "topology", "spread"} == set(DATA)
