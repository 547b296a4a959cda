"""Rows that are left out for good, drawn at random, so that few who are gone are hidden among them."""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

import numpy as np

from fedrcd.errors import DataError
from fedrcd.federation.site.editions.atoms import SetNumbers
from fedrcd.federation.site.editions.census import Census, take_census
from fedrcd.federation.site.editions.chosen_rows import Chosen
from fedrcd.federation.site.editions.row_marks import BUCKETS, NOBODY, MarkVector, is_among
from fedrcd.federation.site.editions.rows import at_places
from fedrcd.federation.site.editions.tables import WHOLE, Edition
from fedrcd.federation.site.store import Store


def thinned(store: Store, one: Chosen, batch: int, *, anew: bool = False) -> Chosen | None:
    """The rows of a block that are as before, less some of every atom that lost a few; None where it cannot be said.

    Where whole atoms leave, others may no longer hide who left before. With `anew`, some of the largest atom leave as
    well: many of the same past are then in the new edition and many are not, so it tells of the past nothing new.
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
    atoms = {atom: held for atom, held in store.editions.atoms().items() if whole in held[0]}
    there = {
        atom: np.concatenate([NOBODY, *_still_there(store, census, atom, None if same_columns else former)])
        for atom in sorted(atoms)
    }
    lost = {atom: atoms[atom][1] - len(own) for atom, own in there.items()}
    leaving_whole = _with_whom_they_were_told(store, atoms, {atom for atom, number in lost.items() if number}, batch)
    largest = max(there, key=lambda atom: len(there[atom]), default=None) if anew else None
    for atom, own in there.items():
        touched = lost[atom] > 0 or atom == largest
        wanted = max(batch - lost[atom], 0) if touched else 0
        if atom in leaving_whole or (touched and 0 < len(own) - wanted < batch):
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


def _with_whom_they_were_told(
    store: Store, atoms: Mapping[int, tuple[SetNumbers, int]], lost: Set[int], batch: int
) -> set[int]:
    """Atoms that lost somebody and were told together with few others: a part of those few would be told now."""
    leaving = set(lost)
    together: dict[tuple[int, SetNumbers], set[int]] = defaultdict(set)
    for depth in {one.depth for one in store.editions.sets()}:
        released = {one.number for one in store.editions.sets() if not one.parts and one.depth >= depth}
        for atom, (sets, _) in atoms.items():
            together[depth, tuple(number for number in sets if number in released)].add(atom)
    few = [members for members in together.values() if sum(atoms[one][1] for one in members) < batch]
    found: set[int] = set()
    while more := {one for members in few if members & leaving for one in members} - found:
        found |= more
        leaving |= more
    return found


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
