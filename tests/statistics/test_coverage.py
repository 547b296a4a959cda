"""Who holds what, compared with brute force over random column sets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.errors import ConfigError
from fedrcd.statistics.coverage import Holding, Layout

VARIABLES = tuple("abcdef")


@st.composite
def layouts(draw):
    """Sites with random columns of some of three blocks."""
    sizes = {"one": 10, "two": 200, "three": 3000}
    holdings = []
    for k in range(draw(st.integers(1, 6))):
        for block in sorted(draw(st.sets(st.sampled_from(sorted(sizes)), min_size=1))):
            columns = draw(st.sets(st.sampled_from(VARIABLES), min_size=1))
            holdings.append(Holding(f"site {k}", block, tuple(sorted(columns)), sizes[block]))
    return Layout(VARIABLES, tuple(holdings))


def together(layout, names):
    """Rows of the blocks for which some site holds all of the names."""
    rows = {one.block: one.rows for one in layout.holdings if set(names) <= set(one.columns)}
    return sum(rows.values())


@given(layouts())
def test_every_pair_of_a_block_is_owned_by_exactly_one_of_the_sites_that_hold_it(layout):
    for block in {one.block for one in layout.holdings}:
        own = [(h, o) for h, o in zip(layout.holdings, layout.owned_pairs(), strict=True) if h.block == block]
        for (i, first), (j, second) in combinations(enumerate(VARIABLES), 2):
            holders = [h.site for h, _ in own if {first, second} <= set(h.columns)]
            assert [h.site for h, owns in own if owns[i, j]] == holders[:1]


@given(layouts())
def test_pair_counts_are_the_rows_for_which_some_site_holds_both(layout):
    expected = [[together(layout, (first, second)) for second in VARIABLES] for first in VARIABLES]
    np.testing.assert_array_equal(layout.pair_counts(), expected)
    assert layout.complete_rows() == together(layout, VARIABLES)


@pytest.mark.parametrize("size", [2, 3, 4])
@given(layout=layouts())
def test_a_missing_combination_is_found_if_and_only_if_there_is_one(size, layout):
    missing = [names for names in combinations(VARIABLES, size) if not together(layout, names)]
    found = layout.first_missing(size)
    assert found in missing if missing else found is None
    if size == 4:
        assert layout.covers_quadruples() == (not missing)


def test_four_sites_that_each_lack_one_column_miss_the_quadruple_of_those_columns():
    columns = [tuple(name for name in VARIABLES if name != lacking) for lacking in "abcd"]
    layout = Layout(VARIABLES, tuple(Holding(f"site {k}", "one", held, 10) for k, held in enumerate(columns)))
    assert layout.first_missing(3) is None
    assert layout.first_missing(4) == ("a", "b", "c", "d")


def test_a_variable_that_nobody_holds_is_missing_alone():
    layout = Layout(("a", "b"), (Holding("site", "one", ("a",), 10),))
    assert layout.first_missing(1) == ("b",)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (Holding("other", "one", ("a",), 11), "the same rows everywhere"),
        (Holding("other", "one", ("z",), 10), "'z', which is not a variable"),
        (Holding("site", "one", ("b",), 10), "has block 'one' twice"),
    ],
)
def test_holdings_that_contradict_each_other_are_refused(second, message):
    with pytest.raises(ConfigError, match=message):
        Layout(("a", "b"), (Holding("site", "one", ("a",), 10), second))
