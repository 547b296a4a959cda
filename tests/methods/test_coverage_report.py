"""The report on coverage, compared with brute force and with cases small enough to know."""

from itertools import combinations
from math import comb
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.methods.coverage_report import coverage_report, together
from fedrcd.methods.registry import METHODS
from fedrcd.statistics.coverage import Holding, Layout

VARIABLES = tuple("abcdefg")


def federation(*columns, variables=VARIABLES, rows=100):
    """Sites with these columns of the same rows."""
    return Layout(variables, tuple(Holding(f"s{k}", "all", tuple(held), rows) for k, held in enumerate(columns, 1)))


@st.composite
def layouts(draw):
    sizes = (1, 20, 300)
    holdings = []
    for k in range(draw(st.integers(1, 5))):
        columns = draw(st.one_of(st.just(set(VARIABLES)), st.sets(st.sampled_from(VARIABLES), min_size=3)))
        for block in draw(st.sets(st.integers(0, 2), min_size=1)):
            holdings.append(Holding(f"s{k}", f"block {block}", tuple(columns), sizes[block]))
    return Layout(VARIABLES, tuple(holdings))


def rows_together(layout, names):
    return sum({one.block: one.rows for one in layout.holdings if set(names) <= set(one.columns)}.values())


def verdicts(layout):
    return {verdict.method: verdict for verdict in coverage_report(layout).verdicts}


@pytest.mark.parametrize("size", [2, 3, 4])
@given(layout=layouts())
def test_combinations_are_counted_as_by_brute_force(size, layout):
    rows = {names: rows_together(layout, names) for names in combinations(VARIABLES, size)}
    found = together(layout, size)
    assert found.total == len(rows) == comb(7, size)
    assert found.covered == sum(map(bool, rows.values()))
    assert (found.fewest, found.most) == (min(rows.values()), max(rows.values()))
    assert found.median == median(rows.values())
    assert rows[found.worst] == found.fewest


@given(layout=layouts())
def test_a_method_is_possible_exactly_if_what_it_needs_is_covered(layout):
    every = {size: all(rows_together(layout, names) for names in combinations(VARIABLES, size)) for size in (2, 4)}
    blocks = {one.block for one in layout.holdings}
    complete = [one for one in layout.holdings if len(one.columns) == 7]
    one_table = any({h.block for h in complete if h.site == site} == blocks for site in {h.site for h in complete})
    met = {"pairs": every[2], "quadruples": every[4], "all columns": bool(complete), "one table": one_table}
    for verdict in coverage_report(layout).verdicts:
        assert (verdict.words == "exact") == met[verdict.needs] == (verdict.rows > 0)


@given(layout=layouts())
def test_a_remedy_is_enough_exactly_if_some_single_column_is(layout):
    for remedy in coverage_report(layout).remedies:
        size = {"pairs": 2, "quadruples": 4, "all columns": 7}[remedy.needs]
        enough = {
            (site, column)
            for site in {one.site for one in layout.holdings}
            for column in VARIABLES
            if extended(layout, site, column).first_missing(size) is None
        }
        assert remedy.enough == bool(enough)
        assert not enough or (remedy.site, remedy.column) in enough


def extended(layout, site, column):
    holdings = [
        Holding(one.site, one.block, tuple({*one.columns, column}), one.rows) if one.site == site else one
        for one in layout.holdings
    ]
    return Layout(layout.variables, tuple(holdings))


def test_one_site_with_everything_allows_every_method():
    report = coverage_report(federation(VARIABLES))
    assert {verdict.words for verdict in report.verdicts} == {"exact"}
    assert {verdict.method for verdict in report.verdicts} == set(METHODS)
    assert report.remedies == ()
    assert (report.rows, report.complete_rows, report.blocks) == (100, 100, 1)


def test_sites_with_rows_of_their_own_allow_all_but_methods_for_one_table():
    holdings = tuple(Holding(f"s{k}", f"block {k}", VARIABLES, 10) for k in range(3))
    for name, verdict in verdicts(Layout(VARIABLES, holdings)).items():
        assert (verdict.words == "exact") == (not METHODS[name].one_table)


def test_a_vertical_split_allows_pairs_only_and_names_what_is_missing():
    found = verdicts(federation("abcd", "abef", "cdef", variables=tuple("abcdef")))
    assert found["fedrcd-sp"].words == "exact"
    assert found["fedrcd-s"].words == "impossible: no site holds a, c and e together"
    assert found["fedrcd-x"].words == "impossible: no site holds all 6 columns; the nearest, s1, lacks e and f"
    assert found["hc"].words.startswith("impossible: no site holds all rows and columns")


def test_the_column_that_completes_a_need_is_suggested():
    report = coverage_report(federation("abc", "abd", "acd", "bcd", variables=tuple("abcd")))
    assert [remedy.needs for remedy in report.remedies] == ["quadruples", "all columns"]
    assert {remedy.words for remedy in report.remedies} == {"d at s1 is enough"}


def test_the_site_with_most_rows_is_asked_for_the_column():
    holdings = (Holding("small", "one", ("a", "b"), 10), Holding("large", "two", ("a", "c"), 1000))
    (remedy, *_) = coverage_report(Layout(("a", "b", "c"), holdings)).remedies
    assert (remedy.site, remedy.column, remedy.enough) == ("large", "b", True)


def test_a_single_column_that_is_not_enough_is_said_to_be_so():
    report = coverage_report(federation("ab", "cd", variables=tuple("abcd")))
    words = {remedy.needs: remedy.words for remedy in report.remedies}
    assert words["pairs"] == "no single column is enough; c at s1 would put a and c together"
    assert words["all columns"] == "no single column is enough"


def test_a_variable_that_nobody_holds_is_named_alone():
    assert verdicts(federation("ab", variables=tuple("abc")))["fedhc"].missing == "no site holds c"


def test_two_variables_are_enough_for_a_report():
    report = coverage_report(federation("ab", variables=("a", "b")))
    assert [one.size for one in report.together] == [2]
    assert verdicts(federation("ab", variables=("a", "b")))["fedrcd-s"].rows == 100


def test_sites_are_listed_with_what_they_hold():
    holdings = (Holding("x", "one", ("a",), 5), Holding("y", "one", ("a", "b"), 5), Holding("y", "two", ("a", "b"), 7))
    report = coverage_report(Layout(("a", "b"), holdings))
    shares = [(share.name, share.columns, share.blocks, share.rows) for share in report.sites]
    assert shares == [("x", 1, ("one",), 5), ("y", 2, ("one", "two"), 12)]
    assert report.pair_counts == ((12, 12), (12, 12))
