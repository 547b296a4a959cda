"""Vertical and hybrid splits: nothing is lost, and every pair of columns is together somewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.names import default_names
from fedrcd.data.simulate.partition import (
    as_federation,
    column_parts,
    hybrid_split,
    row_parts,
    split_rows,
    vertical_split,
)
from fedrcd.errors import ConfigError

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
numbers_of_sites = st.integers(1, 15).filter(lambda sites: sites != 2)


def held_cells(parts, n, variables):
    """How many sites hold each cell of the table."""
    held = np.zeros((n, len(variables)), dtype=int)
    for part in parts:
        held[np.ix_(part.rows, [variables.index(name) for name in part.columns])] += 1
    return held


@given(p=st.integers(2, 12), sites=numbers_of_sites, overlap=st.sampled_from([0.0, 0.3, 1.0]), rng=seeds)
def test_a_vertical_split_keeps_every_cell_and_covers_every_pair(p, sites, overlap, rng):
    variables = default_names(p)
    columns = vertical_split(variables, sites, overlap=overlap, rng=rng)
    parts = column_parts(7, columns)
    assert len(parts) == sites
    assert held_cells(parts, 7, variables).min() >= 1
    assert as_federation(parts, variables).layout().first_missing(2) is None
    assert all(list(held) == sorted(held) for held in columns)
    assert overlap < 1 or set(columns) == {variables}


@pytest.mark.parametrize(("sites", "share"), [(1, 12), (3, 8), (5, 8), (6, 6), (10, 6), (15, 4)])
def test_sites_of_a_vertical_split_hold_no_more_than_two_groups(sites, share):
    columns = vertical_split(default_names(12), sites, rng=np.random.default_rng(0))
    assert max(map(len, columns)) == share


@given(p=st.integers(2, 8), sites=st.integers(1, 12), rng=seeds)
def test_without_cover_every_variable_is_at_one_site_only(p, sites, rng):
    columns = vertical_split(default_names(p), sites, cover="none", rng=rng)
    assert min(map(len, columns)) >= 1
    if sites <= p:
        assert sorted(name for held in columns for name in held) == list(default_names(p))


@given(n=st.integers(6, 40), p=st.integers(2, 9), sites=numbers_of_sites, blocks=st.integers(1, 6), rng=seeds)
def test_a_hybrid_split_keeps_every_cell_and_covers_every_pair(n, p, sites, blocks, rng):
    variables = default_names(p)
    parts = hybrid_split(n, variables, sites, blocks, rng=rng)
    federation = as_federation(parts, variables)
    assert held_cells(parts, n, variables).min() >= 1
    assert federation.layout().first_missing(2) is None
    assert len(federation.sites) == sites
    assert sum(block.rows for block in federation.blocks) == n


def test_a_hybrid_split_of_three_sites_gives_no_site_everything():
    parts = hybrid_split(90, default_names(6), 3, 3, rng=np.random.default_rng(0))
    assert {len(part.columns) for part in parts} == {4}
    assert len({part.block for part in parts}) == 3


def test_a_horizontal_split_is_a_federation_with_a_block_per_site():
    rows = split_rows(100, 10, rng=np.random.default_rng(0))
    federation = as_federation(row_parts(rows, ("a", "b")), ("a", "b"))
    assert [site.name for site in federation.sites][::9] == ["site_01", "site_10"]
    assert [site.blocks for site in federation.sites] == [(block.label,) for block in federation.blocks]
    assert {block.rows for block in federation.blocks} == {10}
    assert federation.layout().complete_rows() == 100


def test_a_seed_gives_one_split():
    first, second = (hybrid_split(50, default_names(7), 4, 3, rng=np.random.default_rng(5)) for _ in range(2))
    assert [part[:2] + part[3:] for part in first] == [part[:2] + part[3:] for part in second]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sites": 2}, "take 1 or at least 3 sites"),
        ({"sites": 0}, "1 site"),
        ({"sites": 3, "variables": ("a",)}, "at least 2 variables"),
        ({"sites": 3, "cover": "pair"}, "did you mean 'pairs'"),
        ({"sites": 3, "overlap": 1.5}, "overlap must be between 0 and 1"),
    ],
)
def test_impossible_vertical_splits_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        vertical_split(**{"variables": ("a", "b", "c"), **settings}, rng=np.random.default_rng(0))


def test_more_blocks_than_rows_are_refused():
    with pytest.raises(ConfigError, match="blocks must be between 1 and the number of rows, 5"):
        hybrid_split(5, ("a", "b", "c"), 3, 6, rng=np.random.default_rng(0))


def test_parts_that_contradict_each_other_are_no_federation():
    one, two = row_parts([np.arange(3), np.arange(3, 6)], ("a", "b"))
    with pytest.raises(ConfigError, match="same columns in all its blocks"):
        as_federation([one, two._replace(site=one.site, columns=("b",))], ("a", "b"))
    with pytest.raises(ConfigError, match="same rows at all its sites"):
        as_federation([one, two._replace(block=one.block)], ("a", "b"))
