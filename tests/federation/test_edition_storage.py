"""Marks of rows by bucket, on disk: what a site decides does not depend on how they are sorted, nor memory on rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.rows import Chunk
from fedrcd.federation.site.editions import row_marks
from fedrcd.federation.site.editions.census import BY_ROW, as_records
from fedrcd.federation.site.editions.row_marks import (
    LEAST_BUCKETS,
    MOST_BUCKETS,
    SEVERAL_BUCKETS,
    Spool,
    as_marks,
    buckets_for,
)
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.federation.site.store import FILL
from tests.contracts.doors import Place, table_of
from tests.federation.test_edition_attacks import asked

N, P = 400, 3

places = st.lists(st.integers(0, 300_000), max_size=60)


@given(st.lists(places, max_size=4), places)
def test_places_are_a_set(added, others):
    found, expected = RowPlaces(), set().union(*added)
    for some in added:
        found.add(np.array(some, dtype=np.int64))
    assert len(found) == len(expected)
    assert found.holds(np.array(others, dtype=np.int64)).tolist() == [one in expected for one in others]
    assert np.concatenate([[], *found.in_order()]).tolist() == sorted(expected)
    chunk = Chunk(np.zeros((len(others), 1)), None, np.array(others, dtype=np.int64))
    assert found.chosen(chunk).tolist() == [one in expected for one in others]


@given(places, st.integers(1, 50))
def test_several_places_are_some_of_them_all_along(added, most):
    found = RowPlaces(np.array(added, dtype=np.int64)).several(most)
    chosen = [int(one) for part in found.in_order() for one in part]
    assert set(chosen) <= set(added)
    assert len(chosen) == min(most, len(set(added)))
    if len(chosen) > 1:
        assert (chosen[0], chosen[-1]) == (min(added), max(added))


@given(
    st.lists(st.binary(min_size=2, max_size=2).map(lambda first: first + b"m" * 14), max_size=80),
    st.sampled_from([LEAST_BUCKETS, SEVERAL_BUCKETS, 256, MOST_BUCKETS]),
    st.sampled_from([1, 7, 1000]),
    st.integers(1, 5),
)
def test_a_spool_gives_each_bucket_sorted_whatever_was_written_to_files(marks, buckets, limit, step):
    spool = Spool(BY_ROW, limit)
    for first in range(0, len(marks), step):
        some = as_marks(b"".join(marks[first : first + step]))
        spool.add(as_records(BY_ROW, row=some, place=np.arange(first, first + len(some))))
        if first % 3 == 0:
            spool.bucket(0, buckets)  # reading in between changes nothing
    found = [spool.bucket(bucket, buckets) for bucket in range(buckets)]
    spool.close()
    together = np.concatenate(found)
    assert [bytes(one).ljust(16, b"\0") for one in together["row"]] == sorted(marks)
    assert sorted(together["place"].tolist()) == list(range(len(marks)))
    assert all(marks[place] == bytes(one).ljust(16, b"\0") for one, place in together.tolist())
    width = 65536 // buckets
    for bucket, records in enumerate(found):
        assert all(int.from_bytes(bytes(one)[:2].ljust(2, b"\0"), "big") // width == bucket for one in records["row"])


def test_more_rows_are_in_more_buckets():
    assert buckets_for(0) == buckets_for(8_000) == LEAST_BUCKETS
    assert buckets_for(9_000) == buckets_for(2_000_000) == SEVERAL_BUCKETS
    assert buckets_for(10_000_000) == 256
    assert buckets_for(10**12) == MOST_BUCKETS


def lived(folder):
    """What a site says over the life of a table: arrivals, corrections, a row that goes, and rows that are left out."""
    place, said = Place.of(folder, table_of(P, N)), []
    whole = table_of(P, N + 500)
    changed = whole.iloc[: N + 300].copy()
    changed.loc[:99, "v1"] += 1.0
    renamed = changed.rename(columns={"v2": "other"})
    for table in (whole.iloc[:N], whole.iloc[: N + 200], whole.iloc[: N + 200].drop(index=[17]), changed, renamed):
        place.put(table)
        said.append(asked(place))
    place.put(changed)
    said.append(asked(place))
    place.erase("pairs", "--ids", place.listed("r500"))
    with place.store() as store:
        store.permit(FILL)
    count, _ = asked(place)
    with place.store() as store:
        return said, count, len(store.struck.persons()), store.buckets


def test_a_site_says_the_same_whatever_the_number_of_buckets(tmp_path, monkeypatch):
    said, count, left, buckets = lived(tmp_path / "few")
    assert buckets == LEAST_BUCKETS
    monkeypatch.setattr(row_marks, "MARKS_PER_BUCKET", 30)
    monkeypatch.setattr(row_marks, "IN_MEMORY", 100)
    others, again, away, more = lived(tmp_path / "many")
    assert more == 256, "they were sorted anew when rows came"
    assert (count, left) == (again, away)
    for one, other in zip(said, others, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one[0] == other[0]
            np.testing.assert_array_equal(one[1], other[1])
