"""Rows that are left out for good, drawn at random, so that few who are gone are hidden among them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedrcd.errors import DataError
from fedrcd.federation.site.editions.census import Census, take_census
from fedrcd.federation.site.editions.chosen_rows import Chosen
from fedrcd.federation.site.editions.row_marks import BUCKETS, NOBODY, MarkVector, is_among
from fedrcd.federation.site.editions.rows import at_places
from fedrcd.federation.site.editions.tables import WHOLE, Edition
from fedrcd.federation.site.store import Store


def thinned(store: Store, one: Chosen, batch: int) -> Chosen | None:
    """The rows of a block that are as before, less some of every atom that lost a few; None where it cannot be said.

    Who is drawn follows from the site's secret and the rows: asked again about the same rows, it draws the same.
    """
    former, census = one.replaces, one.census
    assert former is not None
    if census is None or census.by_person is None:
        return None
    [whole] = [each.number for each in store.editions.sets() if (each.edition, each.part) == (former.number, WHOLE)]
    seed = hmac.new(store.secret, f"fill {former.label} {one.fingerprint}".encode(), hashlib.sha256).digest()
    rng = np.random.default_rng(list(seed))
    batch += len(store.editions.handed_over())  # who was handed over hides nobody
    stay, out = [NOBODY], [NOBODY]
    same_columns = set(former.columns) == set(one.rows.columns)
    for atom, (sets, size) in sorted(store.editions.atoms().items()):
        if whole not in sets:
            continue
        own = np.concatenate([NOBODY, *_still_there(store, census, atom, None if same_columns else former)])
        missing = size - len(own)
        wanted = max(batch - missing, 0) if missing else 0
        if 0 < len(own) - wanted < batch and missing:
            wanted = len(own)  # the few who would be left could be told apart themselves
        drawn = rng.permutation(len(own))
        out.append(own[drawn[:wanted]])
        stay.append(own[drawn[wanted:]])
    if not any(map(len, (*stay, *out))):
        return None
    staying, leaving = np.sort(np.concatenate(stay)), np.sort(np.concatenate(out))
    if not len(staying):
        raise DataError(
            f"block {one.rows.block!r} of site {one.rows.site!r} has too few rows to hide the erased ones among; take "
            "the whole block out, or erase them in sight of the coordinator with --now"
        )
    records = [census.by_person.bucket(bucket) for bucket in range(BUCKETS)]
    persons = np.unique(np.concatenate([each["person"][is_among(each["row"], leaving)] for each in records]))
    places = [each["place"][is_among(each["row"], staying) & ~is_among(each["person"], persons)] for each in records]
    rest = one.rows.select(at_places(np.sort(np.concatenate(places))))
    own_census = take_census(rest, rest, store.marker)
    return replace(one, rows=rest, census=own_census, fingerprint="", withheld=persons)


def _still_there(store: Store, census: Census, atom: int, former: Edition | None) -> Iterator[MarkVector]:
    """The rows of an atom that are still in the table; by their persons in a `former` edition of other columns."""
    if former is None:
        for bucket in range(BUCKETS):
            marks = store.editions.marks_by_atom(bucket).get(atom, NOBODY)
            yield marks[is_among(marks, census.marks(bucket)[0])]
        return
    parts = [store.editions.marks_by_atom(bucket).get(atom, NOBODY) for bucket in range(BUCKETS)]
    inside = np.sort(np.concatenate(parts))
    for bucket in range(BUCKETS):
        persons, rows = store.kept.marks(former.number, bucket)
        wanted = np.sort(persons[is_among(rows, inside)])
        assert census.by_person is not None
        mine = census.by_person.bucket(bucket)
        yield np.ascontiguousarray(mine["row"][is_among(mine["person"], wanted)])
