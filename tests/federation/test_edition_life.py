"""Editions go on: whatever waits ends, and the rows that are answered about are those that they should be."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedrcd.data.federation import BlockEntry
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.site.editions.atoms import isolated
from fedrcd.federation.site.store import FILL
from tests.contracts.doors import SITE, Place, table_of, typed
from tests.federation.test_edition_attacks import COLUMNS, SCALE, asked, columns_called, first_moments

N, P = 400, 3


@pytest.fixture
def place(tmp_path):
    return Place.of(tmp_path, table_of(P, N))


@pytest.fixture
def two_blocks(tmp_path):
    place = Place.of(tmp_path, table_of(P, 2 * N))
    split(place)
    return place


def split(place):
    federation = place.federation
    sites = tuple(replace(one, blocks=("A", "B")) if one.name == SITE else one for one in federation.sites)
    others = [block for block in federation.blocks if block.label not in federation.site(SITE).blocks]
    place.declare(replace(federation, sites=sites, blocks=(BlockEntry("A", N), BlockEntry("B", N), *others)))
    place.put(place.table().assign(**{federation.block_column: ["A"] * N + ["B"] * N}))


def by_block(place):
    reply = place.respond(place.question("pairs"))
    return None if reply.refusal else {label: first_moments(sums) for label, sums in reply.blocks}


def truth(table):
    return table[COLUMNS].sum().to_numpy()


def test_a_correction_in_one_block_leaves_the_other_as_it_is(two_blocks):
    table = two_blocks.table()
    first = by_block(two_blocks)
    changed = table.copy()
    changed.loc[3, "v0"] += 1.0
    changed.loc[700, "v0"] += 1.0
    two_blocks.put(changed)
    for label, (count, moments) in by_block(two_blocks).items():
        assert count == N
        np.testing.assert_array_equal(moments, first[label][1])
    more = table_of(P, 2 * N + 200).iloc[2 * N :].assign(**{two_blocks.federation.block_column: "A"})
    two_blocks.put(pd.concat([changed, more]))
    assert by_block(two_blocks)["A"][0] == N + 200


def test_a_batch_in_one_block_does_not_wait_for_a_correction_in_another(two_blocks):
    table = two_blocks.table()
    assert by_block(two_blocks)
    changed = table.drop(index=range(500, 560))
    changed.loc[17, "v1"] += 1.5
    two_blocks.put(changed)
    now = by_block(two_blocks)
    assert (now["A"][0], now["B"][0]) == (N, N - 60)


def test_a_block_that_is_split_keeps_its_rows(tmp_path):
    place = Place.of(tmp_path, table_of(P, 2 * N))
    assert asked(place)[0] == 2 * N
    split(place)
    first = by_block(place)
    changed = place.table()
    changed.loc[3, "v0"] += 1.0
    changed.loc[700, "v0"] += 1.0
    place.put(changed)
    again = by_block(place)
    for label in ("A", "B"):
        np.testing.assert_array_equal(first[label][1], again[label][1])


def test_an_erasure_in_a_block_that_is_gone_waits_for_nobody(two_blocks):
    assert by_block(two_blocks)
    two_blocks.erase("pairs", "--ids", two_blocks.listed("r500"))
    federation = two_blocks.federation
    sites = tuple(replace(one, blocks=("A",)) if one.name == SITE else one for one in federation.sites)
    blocks = tuple(block for block in federation.blocks if block.label != "B")
    two_blocks.declare(replace(federation, sites=sites, blocks=blocks))
    table = two_blocks.table()
    two_blocks.put(table[table[federation.block_column] == "A"])
    assert by_block(two_blocks)["A"][0] == N
    assert not two_blocks.waits()
    two_blocks.age()
    changed = two_blocks.table()
    changed.loc[0, "v0"] += 0.25
    two_blocks.put(changed)
    assert by_block(two_blocks)["A"][0] == N
    assert not two_blocks.gone()


def test_columns_in_another_order_are_the_same_columns(place):
    """A row was missed and came back meanwhile: its values are kept anew."""
    table = place.table()
    first = asked(place)
    place.put(table.drop(index=[17]))
    assert asked(place) is None
    federation, sites = columns_called(place, ["v1", "v0", "v2"])
    place.declare(replace(federation, sites=sites))
    place.put(table)
    np.testing.assert_array_equal(asked(place)[1], first[1])
    changed = table.copy()
    changed.loc[3, "v2"] += 1.0
    place.put(changed)
    np.testing.assert_array_equal(asked(place)[1], first[1])


@pytest.mark.parametrize("arrivals", [0, 1, 200])
def test_a_row_that_lacked_once_holds_up_nothing(tmp_path, arrivals):
    whole = table_of(P, N + 200)
    place = Place.of(tmp_path, whole.iloc[:N])
    first = asked(place)
    place.put(whole.iloc[:N].drop(index=[17]))
    assert asked(place) is None
    place.put(whole.iloc[: N + arrivals])
    count, moments = asked(place)
    assert count == (N + arrivals if arrivals == 200 else N)
    if arrivals < 200:
        np.testing.assert_array_equal(moments, first[1])


def test_a_row_that_was_missed_and_then_erased_is_in_nothing_that_is_given_again(place):
    table = place.table()
    question = place.question("pairs")
    assert place.respond(question, run="fixed").refusal is None
    place.put(table.drop(index=[17]))
    assert asked(place) is None
    changed = table.copy()
    changed.loc[18, "v1"] += 1.0
    place.put(changed)
    place.erase("pairs", "--ids", place.listed("r17"))
    assert place.waits()
    assert place.respond(question, run="fixed").refusal is not None


def test_one_of_a_small_arrival_is_erased_at_its_date(tmp_path):
    """Those who would be left of the arrival are too few to be told apart from nobody: they are left out with it."""
    whole = table_of(P, N + 35)
    place = Place.of(tmp_path, whole.iloc[:N])
    asked(place)
    place.put(whole)
    assert asked(place)[0] == N + 35
    place.erase("pairs", "--ids", place.listed(f"r{N + 3}"))
    assert asked(place) is None
    place.age()
    assert asked(place)[0] == N


def test_a_new_column_with_few_gaps_needs_a_word(place):
    table = place.table()
    federation, sites = columns_called(place, [*COLUMNS, "w"])
    assert asked(place)
    frame = {**federation.frame, "w": federation.frame["v0"]}
    place.declare(replace(federation, variables=tuple(frame), sites=sites, frame=frame))
    grown = table.assign(w=table["v0"].to_numpy()[::-1] * 0.5)
    grown.loc[3, "w"] = np.nan
    place.put(grown)
    assert place.respond(place.question("pairs")).refusal is Refusal.EDITION
    with place.store() as store:
        store.permit(FILL)
    count, _ = asked(place)
    assert count == N - 40  # ten for every column, one of whom lacked it


def test_a_bootstrap_after_arrivals_is_answered(tmp_path):
    """Arrivals of a batch each were told as a whole: small parts of groups of them are told together or not at all."""
    whole = table_of(P, 1800)
    place = Place.of(tmp_path, whole.iloc[:1500])
    for last in range(1500, 1801, 100):
        place.put(whole.iloc[:last])
        assert asked(place)[0] == last
    assert place.respond(place.question("groups")).refusal is None


@pytest.mark.parametrize(("erased", "wait"), [(100, True), (600, False)])
def test_what_left_about_all_rows_does_not_make_groups_of_them_too_small(tmp_path, erased, wait):
    """157 numbers and those of groups call for a batch of 126 among all rows, and of 30 where groups are combined."""
    place = Place.of(tmp_path, table_of(P, 1500))
    for sums in ("groups", "pairs", "tensor", "checks"):
        assert place.respond(place.question(sums), trust=True).refusal is None
    place.erase("pairs", "--ids", place.listed(*[f"r{k}" for k in range(erased)]))
    assert place.waits() == wait
    assert (asked(place) is None) == wait


def test_an_approval_is_for_the_rows_that_were_drawn(place):
    asked(place)
    place._settings[None, False, ()] = replace(place.settings(), approve=True)
    place.put(place.table().drop(index=[17]))
    with place.store() as store:
        store.permit(FILL)
    question = place.question("pairs")
    assert place.respond(question, run="held").refusal is Refusal.WAITING
    with place.store() as store:
        [held] = store.approvals.held()
        store.decide(held.digest, "approved", who="Ada")
    assert place.respond(question, run="held").refusal is None


def test_small_atoms_that_are_told_together_are_large_together():
    # An arrival of 40 in set 2 alone; groups 3 and 4 of set 2 split it, and set 1, into halves.
    groups = {(1, 2, 3): 200, (1, 2, 4): 200, (2, 3): 20, (2, 4): 20}
    assert not isolated(groups, 40, (1, 2, 3, 4))
    assert isolated(groups, 41, (1, 2, 3, 4)) == [{(2, 3): 20, (2, 4): 20}], "one sum of both"
    # A set of one group before the arrival would tell its part of the arrival.
    before = {(1, 2, 3, 5): 200, (1, 2, 4): 200, (2, 3): 20, (2, 4): 20}
    assert isolated(before, 40, (1, 2, 3, 4, 5)) == [{(2, 3): 20}, {(2, 4): 20}]


def test_a_site_that_was_renamed_keeps_its_history(place):
    first = asked(place)
    with place.store() as store:
        store.rename("elsewhere")
        assert store.site == "elsewhere"
        store.rename(SITE)
    np.testing.assert_array_equal(asked(place)[1], first[1])
    assert SCALE


@pytest.mark.parametrize("noticed", [False, True])
def test_whoever_was_deleted_from_the_table_first_can_be_erased(place, noticed):
    """Their values leave the store, and an older export that has them brings nobody back."""
    table = place.table()
    asked(place)
    place.put(table.drop(index=[17]))
    if noticed:
        assert asked(place) is None
    words = ("--federation", place.file, "--site", SITE, "--state", place.state)
    said = typed("erase", place.data, *words, "--ids", place.listed("r17"))
    assert said.problem is None
    with place.store() as store:
        mark = np.frombuffer(store.marker.of_id("r17"), dtype="S16")
        assert not len(store.kept.of_persons(1, mark, P).rows)
    place.put(table)
    assert asked(place) is None
    place.age()
    count, _ = asked(place)
    assert count == N - 10 * P
    assert "r17" in place.gone()
    again = typed("erase", place.data, *words, "--ids", place.listed("nobody"))
    assert "not in" in str(again.problem)
