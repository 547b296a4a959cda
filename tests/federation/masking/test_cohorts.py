"""Which sets of totals tell a site."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrcd.errors import ConfigError
from fedrcd.federation.masking.cohorts import told
from fedrcd.federation.masking.coverage import require_hidden
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.coverage import Holding, Layout
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC


def totals(*cohorts):
    return [[(site, "edition") for site in cohort] for cohort in cohorts]


@pytest.mark.parametrize(
    ("cohorts", "colluding", "expected"),
    [
        (["ABC"], 1, ""),
        (["AB"], 1, "AB"),
        (["AB"], 0, ""),
        (["ABCD", "ABC"], 0, "D"),
        (["ABCD", "ABE", "CDE"], 0, "E"),  # no two differ by one site
        (["ABCD", "ABEF"], 0, ""),
        (["ABCD", "ABEF"], 1, ""),
        (["ABCDEF", "ABC"], 1, ""),
        (["ABCDEF", "ABCD"], 1, "EF"),
    ],
)
def test_who_is_told(cohorts, colluding, expected):
    assert "".join(sorted(told(totals(*cohorts), colluding))) == expected


def test_the_three_totals_that_isolate_a_site_do():
    sums = dict(zip("ABCDE", np.random.default_rng(1).integers(-100, 100, 5).tolist(), strict=True))
    first, second, third = (sum(sums[site] for site in cohort) for cohort in ("ABCD", "ABE", "CDE"))
    assert second + third - first == 2 * sums["E"]


def test_totals_about_another_edition_tell_nothing_of_this():
    later = [[("A", "new"), ("B", "new"), ("C", "new")], [("A", "old"), ("B", "old"), ("C", "old"), ("D", "old")]]
    assert told(later) == ()


@settings(max_examples=60)
@given(st.lists(st.sets(st.sampled_from("ABCDE"), min_size=1), min_size=1, max_size=4), st.integers(0, 2))
def test_it_is_what_solving_the_equations_says(cohorts, colluding):
    """A site is told if a combination of totals and of what the colluding know is its sums: a vector in a row space."""
    from itertools import combinations

    found = told(totals(*(sorted(one) for one in cohorts)), colluding)
    names = sorted(set().union(*cohorts))
    rows = np.array([[float(site in one) for site in names] for one in cohorts])
    for k, site in enumerate(names):
        others = [i for i in range(len(names)) if i != k]
        known = [np.eye(len(names))[list(few)] for few in combinations(others, min(colluding, len(others)))]
        isolated = any(
            np.linalg.matrix_rank(np.vstack([rows, few, np.eye(len(names))[[k]]]))
            == np.linalg.matrix_rank(np.vstack([rows, few]))
            for few in known
        )
        assert (site in found) == isolated


QUESTION = PairQuestion(("x", "y", "z"), Frame(np.zeros(3), np.ones(3)), 4, grid=ARITHMETIC["exact"])


def layout(*columns, blocks=None):
    return Layout(
        ("x", "y", "z"),
        tuple(Holding(f"s{k}", blocks[k] if blocks else f"b{k}", tuple(mine), 100) for k, mine in enumerate(columns)),
    )


def sites(described):
    return [one.site for one in described.holdings]


def test_three_of_each_kind_are_hidden():
    described = layout("xyz", "xyz", "xyz", "xy", "xy", "xy")
    require_hidden(QUESTION, described, sites(described))


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (("xyz", "xyz", "xyz", "xy"), "'s3'"),  # sums of x over pairs with y, less those over pairs with z
        (("xyz", "xyz", "xyz", "xy", "xy"), "'s3', 's4'"),
        (("xyz", "xy", "xy", "xy"), "'s0'"),
    ],
)
def test_differences_of_entries_tell_a_site_too(columns, named):
    described = layout(*columns)
    with pytest.raises(ConfigError, match=f"cannot hide {named}"):
        require_hidden(QUESTION, described, sites(described))


def test_columns_of_the_same_rows_are_refused_with_the_reason():
    described = layout("xy", "yz", "xz", blocks="111")
    with pytest.raises(ConfigError, match="columns of the same rows"):
        require_hidden(QUESTION, described, sites(described))


def test_two_sites_are_too_few():
    with pytest.raises(ConfigError, match="at least 3"):
        require_hidden(QUESTION, None, ["a", "b"])
