"""How rows that are to be summed differ from all editions that were: by rows, and column by column.

Sums of one column do not see what was corrected in another: five hundred rows with a new weight do not hide one with a
new age. So what a person's rows had in common over time is compared value by value, and the rule of `atoms` must hold
for every column by itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedrcd.federation.site.editions.atoms import SetNumbers, isolated
from fedrcd.federation.site.editions.census import Census
from fedrcd.federation.site.editions.row_marks import NOBODY, MarkVector, bucket_of, is_among, place_among
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.federation.site.editions.tables import Edition, EditionTables, Link
from fedrcd.federation.site.store import Store
from fedrcd.typing import IntVector


@dataclass(frozen=True, slots=True, eq=False)
class Entrant:
    """Rows that would be in new sets: `whole` is the number of the set of all of them, 0 if that is known already.

    `groups` gives, by place, the group that a row is in, and `first` is the number of the set of the first group; None
    where no groups are asked for.
    """

    census: Census
    whole: int = 0
    groups: npt.NDArray[np.unsignedinteger] | None = None
    first: int = 0

    def sets_of(self, places: IntVector) -> IntVector:
        """The set of the group of each row; 0 where there are no groups."""
        if self.groups is None:
            return np.zeros(len(places), dtype=np.int64)
        return self.groups[places].astype(np.int64) + self.first


class Marked(NamedTuple):
    """Rows of entrants in a bucket: their marks, sorted, and which combination of new sets each is in."""

    marks: MarkVector
    which: IntVector


class Piece(NamedTuple):
    """What becomes of the rows of an atom: the sets they were in, and the new ones they are in."""

    before: SetNumbers
    added: SetNumbers


@dataclass(eq=False)
class EditionComparison:
    """Entrants beside all editions so far."""

    store: Store
    entrants: Sequence[Entrant]
    _combinations: dict[SetNumbers, int] = field(default_factory=dict)

    @property
    def tables(self) -> EditionTables:
        """What is remembered of editions."""
        return self.store.editions

    @cached_property
    def editions(self) -> dict[int, Edition]:
        """All editions by number."""
        return {one.number: one for one in self.tables.editions()}

    @cached_property
    def pieces(self) -> Counter[Piece]:
        """How many rows there are of every piece; those in no atom were in no set before."""
        atoms, counted = self.tables.atoms(), Counter[Piece]()
        for bucket in range(self.store.buckets):
            entered = self.marked(bucket)
            known = np.zeros(len(entered.marks), dtype=bool)
            for atom, marks in self.tables.marks_by_atom(bucket).items():
                places = place_among(marks, entered.marks)
                inside = places >= 0
                known[places[inside]] = True
                before = atoms[atom][0]
                counted[Piece(before, ())] += int((~inside).sum())
                self._count(counted, before, entered.which[places[inside]])
            self._count(counted, (), entered.which[~known])
        return Counter({piece: size for piece, size in counted.items() if size})

    def marked(self, bucket: int) -> Marked:
        """The rows of all entrants in a bucket."""
        marks, which = [NOBODY], [np.empty(0, dtype=np.int64)]
        for entrant in self.entrants:
            own, places = entrant.census.marks(bucket, self.store.buckets)
            groups = entrant.sets_of(places)
            found, inverse = np.unique(groups, return_inverse=True)
            numbers = [self._combination(entrant.whole, group) for group in found.tolist()]
            marks.append(own)
            which.append(np.array(numbers, dtype=np.int64)[inverse])
        return self._merged(np.concatenate(marks), np.concatenate(which))

    def _merged(self, marks: MarkVector, which: IntVector) -> Marked:
        """Sorted marks, each once: a row that two entrants have is in the sets of both."""
        order = np.argsort(marks, kind="stable")
        marks, which = marks[order], which[order]
        again = np.flatnonzero(marks[1:] == marks[:-1]) + 1
        names = {number: sets for sets, number in self._combinations.items()}
        for place in again.tolist():
            both = tuple(sorted({*names[int(which[place - 1])], *names[int(which[place])]}))
            which[place] = self._combinations.setdefault(both, len(self._combinations))
            names[int(which[place])] = both
        last = np.ones(len(marks), dtype=bool)
        last[again - 1] = False
        return Marked(marks[last], which[last])

    def _combination(self, *sets: int) -> int:
        """The number by which a combination of new sets is known here."""
        chosen = tuple(sorted(number for number in sets if number))
        return self._combinations.setdefault(chosen, len(self._combinations))

    def _count(self, counted: Counter[Piece], before: SetNumbers, which: IntVector) -> None:
        names = {number: sets for sets, number in self._combinations.items()}
        for number, times in zip(*np.unique(which, return_counts=True), strict=True):
            counted[Piece(before, names[int(number)])] += int(times)

    def combinations(self) -> dict[int, SetNumbers]:
        """The new sets of every combination, by the number under which `marked` has it."""
        return {number: sets for sets, number in self._combinations.items()}

    # what rows these are

    @property
    def atoms(self) -> Counter[SetNumbers]:
        """The atoms with the entrants' sets among the others."""
        together = Counter[SetNumbers]()
        for (before, added), size in self.pieces.items():
            together[tuple(sorted(before + added))] += size
        return together

    def shared(self, entrant: Entrant) -> Counter[int]:
        """By edition, how many of its rows an entrant has; entrants of a known edition share nothing here."""
        wholes = {one.number: one.edition for one in self.tables.sets() if not one.parts}
        counted = Counter[int]()
        for (before, added), size in self.pieces.items():
            if entrant.whole in added:
                for number in before:
                    if number in wholes:
                        counted[wholes[number]] += size
        return counted

    # rows of the same persons

    @cached_property
    def changed(self) -> list[Link]:
        """Rows of entrants whose persons were known with other values, and the rows they had in current editions."""
        current = [one for one in self.editions.values() if one.current]
        known_links = list(self.tables.links())
        found: list[Link] = []
        for entrant in self.entrants:
            census = entrant.census
            if census.by_person is None or not entrant.whole:
                continue
            persons, rows, places = self._changed_rows(census, current, known_links)
            order = np.argsort(places)
            persons, rows, places = persons[order], rows[order], places[order]
            if len(places):
                columns = census.table.columns
                cells = self.store.marker.of_cells(columns, census.values_at(RowPlaces(places)))
                found.append(Link(persons, rows, columns, cells))
                found += self._former_rows(np.unique(persons), current, known_links)
        return found

    def _changed_rows(
        self, census: Census, current: Sequence[Edition], links: Sequence[Link]
    ) -> tuple[MarkVector, MarkVector, IntVector]:
        assert census.by_person is not None
        persons, rows, places = [NOBODY], [NOBODY], [np.empty(0, dtype=np.int64)]
        buckets = self.store.buckets
        linked_persons = np.concatenate([NOBODY, *(link.persons for link in links)])
        linked_rows = np.concatenate([NOBODY, *(link.rows for link in links)])
        where = bucket_of(linked_persons, buckets)
        for bucket in range(buckets):
            mine = census.by_person.bucket(bucket, buckets)
            kept = [self.store.kept.marks(edition.number, bucket) for edition in current]
            known = np.sort(np.concatenate([linked_persons[where == bucket], *(one for one, _ in kept)]))
            same = np.sort(np.concatenate([linked_rows[where == bucket], *(row for _, row in kept)]))
            other = is_among(mine["person"], known) & ~is_among(mine["row"], same)
            persons.append(mine["person"][other])
            rows.append(mine["row"][other])
            places.append(mine["place"][other])
        return np.concatenate(persons), np.concatenate(rows), np.concatenate(places)

    def _former_rows(self, persons: MarkVector, current: Sequence[Edition], links: Sequence[Link]) -> Iterator[Link]:
        """The rows that persons have in current editions and that are not linked yet."""
        linked = np.sort(np.concatenate([NOBODY, *(link.rows for link in links)]))
        for edition in current:
            kept = self.store.kept.of_persons(edition.number, persons, len(edition.columns))
            new = kept.keep(~is_among(kept.rows, linked))
            if len(new.rows):
                cells = self.store.marker.of_cells(edition.columns, new.values)
                yield Link(new.persons, new.rows, edition.columns, cells)

    # the rule

    def tells(self, among: Mapping[int, Held], before: Collection[int], batch: int) -> bool:
        """Whether combinations of some sets tell fewer than a batch of rows that those of before did not tell yet.

        `before` are the sets whose sums left already. Who was told by them, because somebody did not wait, cannot be
        told again; a part of those who were told together can. Atoms that are told as one sum, and together are an atom
        of before, are no part of it.
        """
        known = None
        for aspect, told in self.isolated(among, batch):
            if known is None:
                earlier = {number: among[number] for number in before}
                found = EditionComparison(self.store, []).isolated(earlier, batch)
                known = {(one, sets): size for one, sums in found for sets, size in sums.items()}
            as_before = Counter[SetNumbers]()
            for sets, size in told.items():
                as_before[tuple(number for number in sets if number in before)] += size
            if any(size < known.get((aspect, sets), size + 1) for sets, size in as_before.items()):
                return True
        return False

    def isolated(self, among: Mapping[int, Held], batch: int) -> Iterator[tuple[str, Counter[SetNumbers]]]:
        """The sums that combinations of some sets tell of fewer than a batch of rows: the atoms in each of them.

        By whole rows first; then by persons, whatever their values: who knows how all values changed sees only who
        came and who is gone; then column by column. Editions that share no person with any other tell no difference:
        rules on numbers of rows are about them.
        """
        links = self._linked
        vectors = self.vectors_of(links)
        related = _related(among, [*self.atoms, *_together(links, vectors)])
        if not related:
            return
        yield from (("rows", one) for one in isolated(self._counted(self.atoms), batch, related))
        if not links:
            return
        persons = self._counted(self._merged_in(LinkedRows.of(links, vectors)))
        for comparable in _comparable(among, related):
            yield from (("persons", one) for one in isolated(persons, batch, comparable))
        for column in sorted({name for link in links for name in link.columns}):
            sets = [number for number in related if column in among[number].columns]
            merged = self._merged_in(LinkedRows.of(links, vectors, column))
            yield from ((f"column {column}", one) for one in isolated(self._counted(merged), batch, sets))

    def vectors_of_persons(self) -> list[SetNumbers]:
        """The sets that persons with several rows over time were in with any of them."""
        return _together(self._linked, self.vectors_of(self._linked))

    @cached_property
    def _linked(self) -> list[Link]:
        """Rows of persons who had several over time, with those of entrants."""
        return [*self.tables.links(), *(self.changed if self.entrants else ())]

    def vectors_of(self, links: Sequence[Link]) -> list[list[SetNumbers]]:
        """The sets, new ones too, that every linked row is in."""
        if not links:
            return []
        atoms = self.tables.atoms()
        found: list[list[SetNumbers]] = [[() for _ in link.rows] for link in links]
        buckets = [bucket_of(link.rows, self.store.buckets) for link in links]
        for bucket in range(self.store.buckets):
            known, owners = _with_owners(self.tables.marks_by_atom(bucket))
            entered = self.marked(bucket)
            names = self.combinations()
            for link, own, vectors in zip(links, buckets, found, strict=True):
                here = np.flatnonzero(own == bucket)
                for k, place in _matches(here, place_among(link.rows[here], known)):
                    vectors[k] = atoms[int(owners[place])][0]
                for k, place in _matches(here, place_among(link.rows[here], entered.marks)):
                    vectors[k] = (*vectors[k], *names[int(entered.which[place])])
        return [[tuple(sorted(vector)) for vector in vectors] for vectors in found]

    def _merged_in(self, linked: LinkedRows) -> Counter[SetNumbers]:
        """The atoms as sums of one column see them: rows of a person with the same value are one."""
        atoms = Counter(self.atoms)
        for pattern, times in linked.patterns().items():
            for vector in pattern:
                atoms[vector] -= times
                if atoms[vector] <= 0:
                    del atoms[vector]
            atoms[tuple(sorted(number for vector in pattern for number in vector))] += times
        return atoms

    def _counted(self, atoms: Counter[SetNumbers]) -> Counter[SetNumbers]:
        """Atoms without the rows that were handed over from site to site: they hide nobody."""
        counted = Counter(atoms)
        for vector, times in self._handed_over.items():
            if vector in counted:
                counted[vector] = max(counted[vector] - times, 0)
        return counted

    @cached_property
    def _handed_over(self) -> Counter[SetNumbers]:
        """By their sets, the rows of persons who were handed over."""
        persons = self.tables.handed_over()
        if not len(persons):
            return Counter()
        rows = [NOBODY]
        for bucket in range(self.store.buckets):
            for edition in (one for one in self.editions.values() if one.current):
                who, kept = self.store.kept.marks(edition.number, bucket)
                rows.append(kept[is_among(who, persons)])
            for entrant in self.entrants:
                if entrant.census.by_person is not None:
                    mine = entrant.census.by_person.bucket(bucket, self.store.buckets)
                    rows.append(mine["row"][is_among(mine["person"], persons)])
        rows += [link.rows[is_among(link.persons, persons)] for link in self.tables.links()]
        unique = np.unique(np.concatenate(rows))
        link = Link(unique, unique, (), np.empty((len(unique), 0), dtype=np.uint64))
        return Counter(self.vectors_of([link])[0])


class Held(NamedTuple):
    """What a set is of: the edition, by a number, its line, and its columns."""

    edition: int
    line: int
    columns: tuple[str, ...]


def _comparable(among: Mapping[int, Held], related: Sequence[int]) -> list[tuple[int, ...]]:
    """Sets whose sums can be subtracted: with a column in common, or of one line, whatever its columns are called."""
    columns = {name for number in related for name in among[number].columns}
    lines = {among[number].line for number in related}
    found = {tuple(one for one in related if name in among[one].columns) for name in columns}
    found |= {tuple(one for one in related if among[one].line == line) for line in lines}
    return sorted(sets for sets in found if len(sets) > 1)


def _with_owners(marks: Mapping[int, MarkVector]) -> tuple[MarkVector, IntVector]:
    """The marks of several atoms, sorted, and the atom of each."""
    joined = np.concatenate([NOBODY, *marks.values()])
    owners = np.repeat(np.array(list(marks), dtype=np.int64), [len(own) for own in marks.values()])
    order = np.argsort(joined, kind="stable")
    return joined[order], owners[order]


def _matches(here: IntVector, places: IntVector) -> Iterator[tuple[int, int]]:
    """What was found, and where."""
    found = places >= 0
    return zip(here[found].tolist(), places[found].tolist(), strict=True)


def _together(links: Sequence[Link], vectors: Sequence[Sequence[SetNumbers]]) -> list[SetNumbers]:
    """The sets that each person with several rows was in, with any of them."""
    persons: dict[bytes, set[int]] = defaultdict(set)
    for link, own in zip(links, vectors, strict=True):
        for person, vector in zip(as_list(link.persons), own, strict=True):
            persons[person].update(vector)
    return list({tuple(sorted(numbers)) for numbers in persons.values()})


def _related(among: Mapping[int, Held], vectors: Iterable[SetNumbers]) -> list[int]:
    """The sets, of some, whose editions share persons with another of them."""
    shared: set[int] = set()
    for vector in vectors:
        editions = {among[number].edition for number in vector if number in among}
        if len(editions) > 1:
            shared |= editions
    return [number for number, held in among.items() if held.edition in shared]


class LinkedRows(NamedTuple):
    """Rows of persons who had several, in one column: the person, the value by its mark, and the sets of each row."""

    persons: npt.NDArray[np.int64]
    cells: npt.NDArray[np.uint64]
    vectors: list[SetNumbers]

    @classmethod
    def of(
        cls, links: Sequence[Link], vectors: Sequence[Sequence[SetNumbers]], column: str | None = None
    ) -> LinkedRows:
        """What links say of a column; without one, of the persons alone, as if all their rows had one value."""
        everybody = np.unique(np.concatenate([link.persons for link in links]))
        persons, cells = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.uint64)]
        sets: list[SetNumbers] = []
        for link, own in zip(links, vectors, strict=True):
            if column is None or column in link.columns:
                persons.append(place_among(link.persons, everybody))
                values = np.zeros(len(link.persons), dtype=np.uint64)
                cells.append(values if column is None else link.cells[:, link.columns.index(column)])
                sets += own
        return cls(np.concatenate(persons), np.concatenate(cells), sets)

    def patterns(self) -> Counter[tuple[SetNumbers, ...]]:
        """How often rows with these sets are of one person and have one value; single rows are left out."""
        names = sorted(set(self.vectors))
        number = {vector: k for k, vector in enumerate(names)}
        which = np.array([number[vector] for vector in self.vectors], dtype=np.int64)
        order = np.lexsort((which, self.cells, self.persons))
        persons, cells, which = self.persons[order], self.cells[order], which[order]
        apart = np.flatnonzero((persons[1:] != persons[:-1]) | (cells[1:] != cells[:-1])) + 1
        starts = np.concatenate([[0], apart])
        lengths = np.diff(np.append(starts, len(order)))
        found = Counter[tuple[SetNumbers, ...]]()
        for length in np.unique(lengths[lengths > 1]).tolist():
            rows = which[starts[lengths == length][:, np.newaxis] + np.arange(length)]
            patterns, times = np.unique(rows, axis=0, return_counts=True)
            for pattern, count in zip(patterns.tolist(), times.tolist(), strict=True):
                found[tuple(names[k] for k in pattern)] = count
        return found


def as_list(marks: MarkVector) -> Iterable[bytes]:
    """Marks one by one, whole: NumPy drops zero bytes at the end."""
    raw = marks.tobytes()
    return [raw[k : k + 16] for k in range(0, len(raw), 16)]
