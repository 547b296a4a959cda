"""Rows that are left out for good, drawn at random, so that few who are gone are hidden among them."""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedrcd.errors import DataError
from fedrcd.federation.site.editions.atoms import SetNumbers
from fedrcd.federation.site.editions.census import Census, as_records, take_census
from fedrcd.federation.site.editions.chosen_rows import Chosen
from fedrcd.federation.site.editions.row_marks import NOBODY, MarkVector, Spool, buckets_for, is_among
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.federation.site.editions.tables import WHOLE, Edition
from fedrcd.federation.site.store import Store
from fedrcd.typing import IntVector

Leaving = Literal["few", "few and new", "groups", "changed"]
"""Who leaves: some of every atom that lost somebody; some of the largest atom as well; whole groups of rows; or whole
atoms with rows that were corrected."""

ROW_OF_PERSON = np.dtype([("row", "S16"), ("person", "S16")])
ATOM_OF_PERSON = np.dtype([("person", "S16"), ("atom", np.int64)])


def thinned(store: Store, one: Chosen, batch: int, who: Leaving = "few") -> Chosen | None:
    """The rows of a block that are as before, less some of every atom that lost a few; None where it cannot be said.

    Where whole atoms leave, others may no longer hide who left before. If some of the largest atom leave as well, many
    of the same past are then in the new edition and many are not, so it tells of the past nothing new. Where rows were
    summed in groups, the groups that lost somebody may leave whole: then the new edition is the sum of the others. An
    atom with corrected rows has parts that sums of other columns tell apart: some of it may be too few of each part.
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
    same_columns = set(former.columns) == set(one.rows.columns)
    atoms = {atom: held for atom, held in store.editions.atoms().items() if whole in held[0]}
    with _remaining(store, census, atoms, None if same_columns else former) as remaining:
        there = dict.fromkeys(sorted(atoms), 0)
        for atom, places in remaining():
            there[atom] += len(places)
        drawn = {
            atom: np.sort(rng.choice(there[atom], wanted, replace=False))
            for atom, wanted in _wanted(store, atoms, there, batch, who).items()
        }
        staying, leaving, passed = RowPlaces(), RowPlaces(), dict.fromkeys(there, 0)
        for atom, places in remaining():
            out = np.isin(np.arange(passed[atom], passed[atom] + len(places)), drawn[atom], assume_unique=True)
            passed[atom] += len(places)
            leaving.add(places[out])
            staying.add(places[~out])
    if not any(there.values()):
        return None
    if not len(staying):
        raise DataError(
            f"block {one.rows.block!r} of site {one.rows.site!r} has too few rows to hide the erased ones among; take "
            "the whole block out, or erase them in sight of the coordinator with --now"
        )
    persons, kept = _persons_at(census.by_person, leaving), RowPlaces()
    for records in _records(census.by_person):
        stays = staying.holds(records["place"]) & ~is_among(records["person"], persons)
        kept.add(records["place"][stays])
    rest = one.rows.select(kept.chosen)
    own_census = take_census(rest, rest, store.marker)
    return replace(one, rows=rest, census=own_census, fingerprint="", withheld=persons)


def _wanted(
    store: Store, atoms: Mapping[int, tuple[SetNumbers, int]], there: Mapping[int, int], batch: int, who: Leaving
) -> dict[int, int]:
    """How many rows of every atom are to leave, by how many of it are still there."""
    lost = {atom: atoms[atom][1] - number for atom, number in there.items()}
    losing = {atom for atom, number in lost.items() if number}
    leaving_whole = _with_whom_they_were_told(store, atoms, losing, batch)
    if who == "groups":
        leaving_whole |= _of_the_same_groups(store, atoms, losing)
    if who == "changed":
        leaving_whole |= _with_changed_rows(store, losing)
    largest = max(there, key=lambda atom: there[atom], default=None) if who == "few and new" else None
    found = {}
    for atom, number in there.items():
        touched = lost[atom] > 0 or atom == largest
        wanted = max(batch - lost[atom], 0) if touched else 0
        if atom in leaving_whole or (touched and 0 < number - wanted < batch):
            wanted = number  # the few who would be left could be told apart themselves
        found[atom] = min(wanted, number)
    return found


def _of_the_same_groups(store: Store, atoms: Mapping[int, tuple[SetNumbers, int]], losing: Set[int]) -> set[int]:
    """Atoms that lie in a group of rows together with one that lost somebody."""
    groups = {one.number for one in store.editions.sets() if one.parts}
    touched = {number for atom in losing for number in atoms[atom][0] if number in groups}
    return {atom for atom, (sets, _) in atoms.items() if touched & set(sets)}


def _with_changed_rows(store: Store, losing: Set[int]) -> set[int]:
    """Those of some atoms that hold a row of somebody who had others over time."""
    changed = np.sort(np.concatenate([NOBODY, *(link.rows for link in store.editions.links())]))
    found = set()
    for bucket in range(store.buckets):
        by_atom = store.editions.marks_by_atom(bucket)
        found |= {atom for atom in losing & by_atom.keys() if is_among(by_atom[atom], changed).any()}
    return found


def _records(by_person: Spool) -> Iterator[npt.NDArray[Any]]:
    """All records, a bucket at a time."""
    buckets = buckets_for(by_person.count)
    return (by_person.bucket(bucket, buckets) for bucket in range(buckets))


def _persons_at(by_person: Spool, places: RowPlaces) -> MarkVector:
    """The persons of rows at some places, sorted."""
    found = [each["person"][places.holds(each["place"])] for each in _records(by_person)]
    return np.unique(np.concatenate([NOBODY, *found]))


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


@contextmanager
def _remaining(
    store: Store, census: Census, atoms: Collection[int], former: Edition | None
) -> Iterator[Callable[[], Iterator[tuple[int, IntVector]]]]:
    """A function that goes through the rows of atoms that are still in the table: the atom, and places of some rows.

    By their marks, or by their persons in a `former` edition that had other columns.
    """
    with closing(Spool(ROW_OF_PERSON)) as rows, closing(Spool(ATOM_OF_PERSON)) as persons:
        if former is None:
            yield lambda: _by_rows(store, census, atoms)
            return
        for bucket in range(store.buckets):
            who, marks = store.kept.marks(former.number, bucket)
            rows.add(as_records(ROW_OF_PERSON, row=marks, person=who))
        for bucket in range(store.buckets):
            kept = rows.bucket(bucket, store.buckets)
            for atom, marks in store.editions.marks_by_atom(bucket).items():
                if atom in atoms:
                    own = kept["person"][is_among(kept["row"], marks)]
                    persons.add(as_records(ATOM_OF_PERSON, person=own, atom=np.full(len(own), atom)))
        yield lambda: _by_persons(store, census, persons)


def _by_rows(store: Store, census: Census, atoms: Collection[int]) -> Iterator[tuple[int, IntVector]]:
    for bucket in range(store.buckets):
        mine, places = census.marks(bucket, store.buckets)
        for atom, marks in store.editions.marks_by_atom(bucket).items():
            if atom in atoms:
                yield atom, places[is_among(mine, marks)]


def _by_persons(store: Store, census: Census, persons: Spool) -> Iterator[tuple[int, IntVector]]:
    assert census.by_person is not None
    for bucket in range(store.buckets):
        known, mine = persons.bucket(bucket, store.buckets), census.by_person.bucket(bucket, store.buckets)
        for atom in np.unique(known["atom"]).tolist():
            yield atom, mine["place"][is_among(mine["person"], known["person"][known["atom"] == atom])]
