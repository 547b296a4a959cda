"""Writing an edition down: in the transaction of the answer that is about it, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedrcd.federation.site.editions.atoms import SetNumbers
from fedrcd.federation.site.editions.choosing import EditionChoice
from fedrcd.federation.site.editions.chosen_rows import Chosen
from fedrcd.federation.site.editions.comparison import EditionComparison, as_list
from fedrcd.federation.site.editions.row_marks import NOBODY, MarkVector, Spool, is_among, place_among
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.federation.site.editions.rows import forget_values, keep_rows
from fedrcd.federation.site.editions.tables import Edition, EditionTables, Link
from fedrcd.federation.site.store import Store
from fedrcd.federation.site.struck_rows import WITHHELD
from fedrcd.typing import IntVector


@dataclass(frozen=True, slots=True)
class EditionMaker:
    """Remembers what was answered about; inside a transaction of the store."""

    store: Store

    @property
    def tables(self) -> EditionTables:
        """What is remembered of editions."""
        return self.store.editions

    def commit(self, choice: EditionChoice) -> list[Edition]:
        """Enter new editions and sets, and which of them sums left about; the edition of every block."""
        changed = choice.comparison.changed if choice.entrants else []
        editions = []
        for one, label, numbers in zip(choice.blocks, choice.labels, choice.numbers, strict=True):
            edition = one.edition or self._made(one, label, numbers[0], choice)
            for part, number in enumerate(numbers[1:], 1):
                if not any(known.number == number for known in self.tables.sets()):
                    entered = self.tables.add_set(edition.number, choice.asked.groups, part)
                    assert entered == number, "sets get the numbers that were foreseen"
            self.tables.note_release(numbers, choice.asked.depth)
            if one.fingerprint:
                self.tables.note_seen(one.fingerprint, edition.number)
                if choice.asked.groups:
                    self.tables.note_split(edition.number, choice.asked.groups, one.fingerprint)
            editions.append(edition)
        if choice.entrants:
            self._move_marks(choice.comparison)
        self.tables.count_atoms()
        for link in changed:
            self.tables.link(link)
        for one, edition in zip(choice.blocks, editions, strict=True):
            if one.edition is None:
                self._keep_values(one, edition)
            elif one.fingerprint and edition.current:
                self._complete(one, edition)
        self._retire(choice, editions)
        return editions

    def _retire(self, choice: EditionChoice, present: list[Edition]) -> None:
        """Blocks that the federation file has no more are answered about no more: nobody of them waits, nor is kept."""
        if {one.rows.block for one in choice.blocks} != set(choice.declared):
            return  # those that were not asked about may have got other names
        here = {edition.number for edition in present}
        for edition in self.tables.editions():
            if edition.current and edition.number not in here and edition.block not in choice.declared:
                for bucket in range(self.store.buckets):
                    persons, _ = self.store.kept.marks(edition.number, bucket)
                    forget_values(self.store, edition, np.unique(persons), links=True)
                self.tables.retire(edition.number)
                self.tables.forget_missed([edition.number])

    def _complete(self, one: Chosen, edition: Edition) -> None:
        """The table is as in an edition: whoever was missed is back, and all values are kept again."""
        self.tables.forget_missed([edition.number])
        if one.rows.identified and self.store.kept.count(edition.number) < edition.rows:
            self.store.kept.clear(edition.number)
            keep_rows(self.store, edition, one.rows, one.grouping)

    def _made(self, one: Chosen, label: str, number: int, choice: EditionChoice) -> Edition:
        assert one.census is not None
        following = 1 + max((known.number for known in self.tables.editions()), default=0)
        edition = Edition(
            number=following,
            label=label,
            block=one.rows.block,
            time=self.store.now(),
            columns=one.rows.columns,
            block_rows=one.census.block_rows,
            rows=one.census.rows,
            persons=one.census.persons,
            most=one.census.most,
            forced=choice.forced,
            current=True,
            identified=one.rows.identified,
            line=one.replaces.line if one.replaces else following,
        )
        replaces = [one.replaces] if one.replaces else []
        entered = self.tables.add_edition(edition, [former.number for former in replaces])
        assert entered == number, "sets get the numbers that were foreseen"
        self.tables.forget_missed(former.number for former in replaces)
        if not choice.asked.noisy:  # noise that was drawn is kept, should the same rows come back
            self.tables.forget_answers(former.label for former in replaces)
        if len(one.withheld):
            self.store.struck.strike(as_list(one.withheld), WITHHELD, self.store.today(), ())
        return edition

    def _move_marks(self, comparison: EditionComparison) -> None:
        """Put the marks of entrants, a bucket at a time, into the atoms of their sets."""
        atoms, buckets = self.tables.atoms(), self.store.buckets
        for bucket in range(buckets):
            entered = comparison.marked(bucket)
            names = comparison.combinations()
            known = np.zeros(len(entered.marks), dtype=bool)
            goes: dict[SetNumbers, list[MarkVector]] = {}
            emptied = []
            for atom, marks in self.tables.marks_by_atom(bucket).items():
                places = place_among(marks, entered.marks)
                inside = places >= 0
                known[places[inside]] = True
                if inside.any():
                    emptied.append(atom)
                    before = atoms[atom][0]
                    goes.setdefault(before, []).append(marks[~inside])
                    self._sort_in(goes, before, marks[inside], entered.which[places[inside]], names)
            self._sort_in(goes, (), entered.marks[~known], entered.which[~known], names)
            together = {sets: np.sort(np.concatenate(parts)) for sets, parts in goes.items()}
            self.tables.replace_atoms(bucket, {sets: marks for sets, marks in together.items() if len(marks)}, emptied)

    def _sort_in(
        self,
        goes: dict[SetNumbers, list[MarkVector]],
        before: SetNumbers,
        marks: MarkVector,
        which: IntVector,
        names: dict[int, SetNumbers],
    ) -> None:
        for number in np.unique(which).tolist():
            sets = tuple(sorted(before + names[number]))
            goes.setdefault(sets, []).append(marks[which == number])

    def _keep_values(self, one: Chosen, edition: Edition) -> None:
        """Keep the values of an edition's rows, in place of those of the one before."""
        census, former = one.census, one.replaces
        assert census is not None
        if census.by_person is None:
            return
        if former is not None:
            self._let_go(former, census.by_person if former.columns == edition.columns else None)
            self.store.kept.move(former.number, edition.number)
        missing, buckets = RowPlaces(), self.store.buckets
        for bucket in range(buckets):
            _, rows = self.store.kept.marks(edition.number, bucket)
            mine = census.by_person.bucket(bucket, buckets)
            missing.add(mine["place"][~is_among(mine["row"], np.sort(rows))])
        keep_rows(self.store, edition, one.rows, one.grouping, missing)

    def _let_go(self, former: Edition, by_person: Spool | None) -> None:
        """Delete the values of rows that a new edition does not have; marks stay of persons who may come back."""
        kept, struck, buckets = self.store.kept, self.store.struck.persons(), self.store.buckets
        for bucket in range(buckets):
            persons, rows = kept.marks(former.number, bucket)
            stays = [] if by_person is None else [by_person.bucket(bucket, buckets)["row"]]
            leaving = ~is_among(rows, np.sort(np.concatenate([NOBODY, *stays])))
            if not leaving.any():
                continue
            who, gone = np.unique(persons[leaving]), np.sort(rows[leaving])
            former_rows = kept.of_persons(former.number, who, len(former.columns))
            linked = former_rows.keep(is_among(former_rows.rows, gone) & ~is_among(former_rows.persons, struck))
            if len(linked.rows):
                cells = self.store.marker.of_cells(former.columns, linked.values)
                self.tables.link(Link(linked.persons, linked.rows, former.columns, cells))
            kept.drop(former.number, who, gone)
