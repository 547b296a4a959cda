import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data import split_rows
from fedrcd.errors import ConfigError


@given(
    n=st.integers(1, 200),
    share=st.floats(0, 1),
    scheme=st.sampled_from(["iid", "unequal", "sorted"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_row_belongs_to_exactly_one_site(n, share, scheme, seed):
    rng = np.random.default_rng(seed)
    sites = 1 + int(share * (n - 1))
    by = rng.integers(0, 5, n) if scheme == "sorted" else None
    parts = split_rows(n, sites, scheme=scheme, by=by, rng=rng)
    assert len(parts) == sites
    assert min(map(len, parts)) >= 1
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))


def test_iid_sites_are_equally_large_and_mixed():
    parts = split_rows(1003, 4, rng=np.random.default_rng(0))
    assert sorted(map(len, parts)) == [250, 251, 251, 251]
    assert all(abs(part.mean() - 501) < 60 for part in parts)


def test_rows_keep_their_order_within_a_site():
    for part in split_rows(100, 3, scheme="unequal", rng=np.random.default_rng(0)):
        assert np.all(np.diff(part) > 0)


def test_unequal_sites_have_at_least_the_minimum():
    parts = split_rows(1000, 10, scheme="unequal", minimum=40, concentration=0.1, rng=np.random.default_rng(0))
    assert min(map(len, parts)) >= 40
    assert max(map(len, parts)) > 300


def test_sorted_sites_do_not_overlap_in_what_they_are_sorted_by():
    by = np.random.default_rng(0).standard_normal(90)
    parts = split_rows(90, 3, scheme="sorted", by=by, rng=np.random.default_rng(1))
    assert all(by[low].max() < by[high].min() for low, high in itertools.pairwise(parts))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sites": 0}, "between 1 and the number of rows"),
        ({"sites": 11}, "between 1 and the number of rows"),
        ({"sites": 2, "scheme": "sort"}, "did you mean 'sorted'"),
        ({"sites": 2, "scheme": "sorted"}, "by="),
        ({"sites": 2, "by": np.arange(10)}, "by="),
        ({"sites": 2, "scheme": "sorted", "by": np.arange(9)}, "one value per row"),
        ({"sites": 2, "scheme": "unequal", "minimum": 6}, "minimum"),
        ({"sites": 2, "scheme": "unequal", "concentration": 0.0}, "concentration"),
    ],
)
def test_impossible_splits_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        split_rows(10, **settings, rng=np.random.default_rng(0))
