"""Which edition the rows of a table are, or replace; and whether people came back under another name.

History goes by rows. So the names of blocks and columns, the order of columns and rows, and how identifiers are written
must not begin a new one: what looks like other people is compared with those who are gone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fedrcd.federation.site.editions.census import BY_PERSON, Census
from fedrcd.federation.site.editions.chosen_rows import Chosen
from fedrcd.federation.site.editions.comparison import EditionComparison, Entrant
from fedrcd.federation.site.editions.row_marks import (
    MARK_BYTES,
    NOBODY,
    Mark,
    MarkVector,
    as_marks,
    bucket_of,
    is_among,
    place_among,
)
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.federation.site.editions.tables import WHOLE, Edition, EditionTables
from fedrcd.federation.site.store import Store
from fedrcd.typing import Matrix

MOST = 0.5
"""Share of persons from which two columns with their values are one, and from which two tables are not of the same."""


NEARLY = 0.1
"""How much nearer a row is to one of before than to any other, if it is the same with fewer digits."""

FEW_BY_CHANCE, RARE, LEAST_COLUMNS = 3, 0.1, 2
"""Rows that are so near by chance: so few, or so small a share, in so many columns or more."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """Compares rows with the editions of a site, whose federation file has some blocks."""

    store: Store
    blocks: tuple[str, ...]

    @property
    def tables(self) -> EditionTables:
        """What is remembered of editions."""
        return self.store.editions

    def current(self) -> list[Edition]:
        """The newest edition of every line."""
        return [edition for edition in self.tables.editions() if edition.current]

    # which edition it is

    def recognised(self, one: Chosen) -> Chosen:
        """Rows that were not seen before: an edition whose rows lie otherwise, or which one they replace."""
        assert one.census is not None
        entrant = Entrant(one.census, self.tables.next_set())
        shared = EditionComparison(self.store, [entrant]).shared(entrant)
        for edition in self.tables.editions():
            if shared[edition.number] == edition.rows == one.census.rows:
                return replace(one, edition=edition)
        ranked = [(self._likeness(one, edition, shared), edition.number, edition) for edition in self.current()]
        likeness, _, most = max(ranked, key=lambda each: each[:2], default=((0, 0, False), 0, None))
        return replace(one, replaces=most if any(likeness) else None)

    def _likeness(self, one: Chosen, edition: Edition, shared: Mapping[int, int]) -> tuple[int, int, bool]:
        """By what rows may be a later state of an edition: rows in common, persons in common, the name of the block.

        Another block that the site still has may be of the same people; then only equal rows count.
        """
        same = edition.block == one.rows.block
        persons = self._persons_in(one, edition) if same or edition.block not in self.blocks else 0
        return shared[edition.number], persons, same

    def _persons_in(self, one: Chosen, edition: Edition) -> int:
        """How many rows of an edition are of persons who are in the table."""
        if one.census is None or one.census.by_person is None:
            return 0
        number = 0
        for bucket in range(self.store.buckets):
            who, _ = self.store.kept.marks(edition.number, bucket)
            number += int(is_among(who, one.census.by_person.bucket(bucket, self.store.buckets)["person"]).sum())
        return number

    # who is gone, and who is back

    def gone(self, one: Chosen, former: Edition) -> MarkVector:
        """Persons of an edition who are not in the table any more."""
        assert one.census is not None
        if one.census.there is None:
            return NOBODY
        gone = [NOBODY]
        for bucket in range(self.store.buckets):
            who, _ = self.store.kept.marks(former.number, bucket)
            there = one.census.there.bucket(bucket, self.store.buckets)["person"]
            gone.append(np.unique(who[~is_among(who, there)]))
        return np.concatenate(gone)

    def returned(
        self, one: Chosen, former: Edition, missed: Mapping[Mark, tuple[int, str]]
    ) -> tuple[MarkVector, RowPlaces]:
        """Persons who were missed in an edition and are there with the row that they had; the places of these rows."""
        assert one.census is not None
        assert one.census.by_person is not None
        away = np.sort(
            as_marks(b"".join(person for person, (edition, _) in missed.items() if edition == former.number))
        )
        [whole] = [each.number for each in self.tables.sets() if (each.edition, each.part) == (former.number, WHOLE)]
        inside = [atom for atom, (sets, _) in self.tables.atoms().items() if whole in sets]
        back = [np.empty(0, dtype=BY_PERSON)]
        for bucket in np.unique(bucket_of(away, self.store.buckets)).tolist():
            mine = one.census.by_person.bucket(bucket, self.store.buckets)
            back.append(mine[is_among(mine["person"], away)])
        there = np.concatenate(back)
        same = self._are_in(np.ascontiguousarray(there["row"]), inside)
        return np.unique(there["person"][same]), RowPlaces(there["place"][same])

    def _are_in(self, rows: MarkVector, atoms: Collection[int]) -> npt.NDArray[np.bool_]:
        """Which rows are in one of some atoms."""
        found = np.zeros(len(rows), dtype=bool)
        for bucket in np.unique(bucket_of(rows, self.store.buckets)).tolist():
            for atom, marks in self.tables.marks_by_atom(bucket).items():
                if atom in atoms:
                    found |= is_among(rows, marks)
        return found

    # doubts

    def doubt(self, one: Chosen, present: Sequence[Chosen]) -> str:
        """Why it cannot be told which rows are new, if it cannot."""
        assert one.census is not None
        claimed = {
            each.number for other in present if other is not one for each in (other.edition, other.replaces) if each
        }
        mine = [edition for edition in self.current() if edition.number not in claimed]
        mine = [each for each in mine if each.block == one.rows.block or each.block not in self.blocks]
        if any(edition.identified != one.rows.identified for edition in mine):
            return (
                "rows were answered about without identifiers, or with them, and now it is otherwise; only --now helps"
            )
        if one.rows.identified:
            if self._is_renumbered(one, present) or self._is_resembled(one, present):
                return "persons who are gone came back under other identifiers; write them as before"
            if any(self._is_replaced(one, edition) for edition in mine):
                return (
                    "most persons of before are not there, and as many unknown ones are: if identifiers are written "
                    "otherwise, write them as before; if these are others, say --now"
                )
            renamed = self._renamed_column(one)
            return f"column {renamed!r} has the values of one that is gone; call it as before" if renamed else ""
        entrant = Entrant(one.census, self.tables.next_set())
        shared = EditionComparison(self.store, [entrant]).shared(entrant)
        if any(shared[edition.number] < edition.rows for edition in mine):
            return (
                "rows without identifiers may be added; some of before are not there as they were, and only --now helps"
            )
        return ""

    def _is_replaced(self, one: Chosen, edition: Edition) -> bool:
        """Whether hardly anybody of an edition is there, and as many others are: perhaps the same under other names."""
        unknown, _ = self._unknown(one)
        few = edition.rows * MOST
        return self._persons_in(one, edition) < few <= len(unknown)

    def _is_renumbered(self, one: Chosen, present: Sequence[Chosen]) -> bool:
        """Whether rows of unknown persons have the values of persons who are gone.

        In columns of few levels that happens by chance; then unknown persons are like those who stayed, too.
        """
        assert one.census is not None
        unknown, known = self._unknown(one)
        absent = self._absent(present)
        if not len(unknown) or not absent:
            return False
        for others, cells, theirs in absent:
            common = sorted(set(one.rows.columns) & set(others))
            came, stayed = self._alike(one.census, _keys(cells, others, common), common, unknown, known)
            if not came and theirs is not None and len(others) == len(one.rows.columns):
                came, stayed = _alike_whatever_columns_are_called(one.census, _nameless(theirs), unknown, known)
            if came > stayed:
                return True
        return False

    def _alike(
        self, census: Census, before: set[bytes], common: Sequence[str], unknown: RowPlaces, known: RowPlaces
    ) -> tuple[int, int]:
        """How many of the unknown rows have the values of rows of before, and how many those of rows that stayed."""
        columns, marker = census.table.columns, self.store.marker

        def digests(places: RowPlaces) -> Iterator[MarkVector]:
            for part in census.chunks_at(places):
                yield _sorted_digests(_rows(marker.of_cells(columns, part), columns, common))

        if not common:
            return 0, 0
        mine = np.concatenate([NOBODY, *digests(unknown)])
        came = int(is_among(mine, _sorted_digests(before)).sum())
        alike = np.zeros(len(mine), dtype=bool)
        for staying in digests(known) if came else ():
            alike |= is_among(mine, staying)
        return came, int(alike.sum())

    def _is_resembled(self, one: Chosen, present: Sequence[Chosen]) -> bool:
        """Whether rows of unknown persons are nearly those of persons who are gone: an export may round values, too.

        Such a row is far nearer to one of those than to any of those who stayed; few are so by chance.
        """
        from scipy.spatial import cKDTree  # a site's processes start for every answer, and few need it

        assert one.census is not None
        unknown, known = self._unknown(one)
        columns = one.rows.columns
        for others, _, theirs in self._absent(present) if len(unknown) and len(known) else ():
            common = sorted(set(columns) & set(others))
            if theirs is None or len(common) < LEAST_COLUMNS:
                continue
            before = _several(theirs, 20_000)[:, [others.index(name) for name in common]]
            now, stayed = (
                one.census.values_at(places.several(most))[:, [columns.index(name) for name in common]]
                for places, most in ((unknown, 2_000), (known, 5_000))
            )
            spread = stayed.std(axis=0)
            scale = np.where(spread > 0, spread, 1.0)
            absent, staying = (cKDTree(each / scale).query(now / scale)[0] for each in (before, stayed))
            near = int((absent < NEARLY * staying).sum())
            if near > max(FEW_BY_CHANCE, RARE * min(len(before), len(now))):
                return True
        return False

    def _renamed_column(self, one: Chosen) -> str:
        """A column that holds, for most persons, what a column of before held that is gone; empty if there is none."""
        former, census = one.replaces, one.census
        if former is None or census is None or census.by_person is None:
            return ""
        gone = [name for name in former.columns if name not in one.rows.columns]
        new = [name for name in one.rows.columns if name not in former.columns]
        if not gone or not new:
            return ""
        for bucket in range(self.store.buckets):
            mine = census.by_person.bucket(bucket, self.store.buckets)
            kept = self.store.kept.of_persons(former.number, np.unique(mine["person"]), len(former.columns))
            kept = kept.keep(np.argsort(kept.persons, kind="stable"))
            where = place_among(kept.persons, mine["person"])
            order = np.argsort(mine["place"][where], kind="stable")
            values = census.values_at(RowPlaces(np.unique(mine["place"][where])))
            if len(values) != len(kept.persons):
                continue  # several rows of one person
            before = kept.values[order]
            for old, name in ((old, name) for old in gone for name in new):
                same = before[:, former.columns.index(old)] == values[:, one.rows.columns.index(name)]
                if same.mean() > MOST:
                    return name
            return ""
        return ""

    def _unknown(self, one: Chosen) -> tuple[RowPlaces, RowPlaces]:
        """Places of the rows of persons whom no edition has, and of the others."""
        assert one.census is not None
        assert one.census.by_person is not None
        heard = [link.persons for link in self.tables.links()]
        heard.append(as_marks(b"".join(self.tables.missed())))
        told = np.sort(np.concatenate([NOBODY, *heard]))
        unknown, known, buckets = RowPlaces(), RowPlaces(), self.store.buckets
        current = self.current()
        for bucket in range(buckets):
            mine = one.census.by_person.bucket(bucket, buckets)
            new = ~is_among(mine["person"], told)
            for edition in current:
                who, _ = self.store.kept.marks(edition.number, bucket)
                new &= ~is_among(mine["person"], np.sort(who))
            unknown.add(mine["place"][new])
            known.add(mine["place"][~new])
        return unknown, known

    def _absent(self, present: Sequence[Chosen]) -> list[tuple[tuple[str, ...], npt.NDArray[np.uint64], Matrix | None]]:
        """Rows of persons who are in no table: columns, marks of single values, and the values where they are kept."""
        whole = {one.edition.number for one in present if one.edition is not None and one.census is None}
        found: list[tuple[tuple[str, ...], npt.NDArray[np.uint64], Matrix | None]] = []
        for edition in (each for each in self.current() if each.identified and each.number not in whole):
            gone = [NOBODY]
            for bucket in range(self.store.buckets):
                who, _ = self.store.kept.marks(edition.number, bucket)
                gone.append(np.unique(who[~self._is_there(who, bucket, present, whole)]))
            persons = np.sort(np.concatenate(gone))
            if len(persons):
                kept = self.store.kept.of_persons(edition.number, persons, len(edition.columns))
                cells = self.store.marker.of_cells(edition.columns, kept.values)
                found.append((edition.columns, cells, kept.values))
        for link in self.tables.links():
            away, buckets = np.ones(len(link.persons), dtype=bool), bucket_of(link.persons, self.store.buckets)
            for bucket in np.unique(buckets).tolist():
                here = buckets == bucket
                away[here] = ~self._is_there(link.persons[here], bucket, present, whole)
            if away.any():
                found.append((link.columns, link.cells[away], None))
        return found

    def _is_there(
        self, persons: MarkVector, bucket: int, present: Sequence[Chosen], whole: Collection[int]
    ) -> npt.NDArray[np.bool_]:
        """Which persons are in a bucket of any table."""
        there = np.zeros(len(persons), dtype=bool)
        for one in present:
            if one.census is not None and one.census.there is not None:
                there |= is_among(persons, one.census.there.bucket(bucket, self.store.buckets)["person"])
        for number in whole:
            who, _ = self.store.kept.marks(number, bucket)
            there |= is_among(persons, np.sort(who))
        return there


def _several(rows: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """At most so many of some rows, all along: distances to all others take too long where there are many."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def _rows(cells: npt.NDArray[Any], columns: Sequence[str], common: Sequence[str]) -> Iterator[bytes]:
    """The values of every row in some columns, by their marks."""
    chosen = np.ascontiguousarray(cells[:, [columns.index(name) for name in common]])
    return (row.tobytes() for row in chosen)


def _keys(cells: npt.NDArray[Any], columns: Sequence[str], common: Sequence[str]) -> set[bytes]:
    return set(_rows(cells, columns, common))


def _sorted_digests(keys: Iterable[bytes]) -> MarkVector:
    return np.sort(as_marks(b"".join(hashlib.blake2b(key, digest_size=MARK_BYTES).digest() for key in keys)))


def _alike_whatever_columns_are_called(
    census: Census, before: set[bytes], unknown: RowPlaces, known: RowPlaces
) -> tuple[int, int]:
    """How many unknown rows have the values of rows of before, and how many that stayed have those of the same."""
    came = Counter(key for part in census.chunks_at(unknown) for key in _each(part) if key in before)
    stayed = sum(key in came for part in census.chunks_at(known) for key in _each(part)) if came else 0
    return came.total(), stayed


def _each(values: Matrix) -> Iterator[bytes]:
    """The values of every row, whatever their columns are called and in whatever order they lie."""
    return (row.tobytes() for row in np.sort(values + 0.0, axis=1))


def _nameless(values: Matrix) -> set[bytes]:
    return set(_each(values))
