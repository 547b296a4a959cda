"""Writing an edition down: in the transaction of the answer that is about it, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedrcd.federation.site.editions.atoms import SetNumbers
from fedrcd.federation.site.editions.choosing import EditionChoice
from fedrcd.federation.site.editions.chosen_rows import Chosen
from fedrcd.federation.site.editions.comparison import EditionComparison, as_list
from fedrcd.federation.site.editions.row_marks import BUCKETS, NOBODY, MarkVector, Spool, is_among, place_among
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
        moved = self._moved(choice.comparison) if choice.entrants else []
        editions = []
        for one, label, numbers in zip(choice.blocks, choice.labels, choice.numbers, strict=True):
            edition = one.edition or self._made(one, label, numbers[0], forced=choice.forced)
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
        for bucket, marks, emptied in moved:
            self.tables.replace_atoms(bucket, marks, emptied)
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
                persons = [self.store.kept.marks(edition.number, bucket)[0] for bucket in range(BUCKETS)]
                forget_values(self.store, edition, np.unique(np.concatenate(persons)), links=True)
                self.tables.retire(edition.number)
                self.tables.forget_missed([edition.number])

    def _complete(self, one: Chosen, edition: Edition) -> None:
        """The table is as in an edition: whoever was missed is back, and all values are kept again."""
        self.tables.forget_missed([edition.number])
        if one.rows.identified and self.store.kept.count(edition.number) < edition.rows:
            self.store.kept.clear(edition.number)
            keep_rows(self.store, edition, one.rows, one.grouping)

    def _made(self, one: Chosen, label: str, number: int, *, forced: bool) -> Edition:
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
            forced=forced,
            current=True,
            identified=one.rows.identified,
            line=one.replaces.line if one.replaces else following,
        )
        replaces = [one.replaces] if one.replaces else []
        entered = self.tables.add_edition(edition, [former.number for former in replaces])
        assert entered == number, "sets get the numbers that were foreseen"
        self.tables.forget_missed(former.number for former in replaces)
        self.tables.forget_answers(former.label for former in replaces)
        if len(one.withheld):
            self.store.struck.strike(as_list(one.withheld), WITHHELD, self.store.today(), ())
        return edition

    def _moved(self, comparison: EditionComparison) -> list[tuple[int, dict[SetNumbers, MarkVector], list[int]]]:
        """For every bucket, the marks that go into other atoms than they were in, and the atoms they are taken from."""
        atoms, moved = self.tables.atoms(), []
        for bucket in range(BUCKETS):
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
            moved.append((bucket, {sets: marks for sets, marks in together.items() if len(marks)}, emptied))
        return moved

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
        missing = [np.empty(0, dtype=np.int64)]
        for bucket in range(BUCKETS):
            _, rows = self.store.kept.marks(edition.number, bucket)
            mine = census.by_person.bucket(bucket)
            missing.append(mine["place"][~is_among(mine["row"], np.sort(rows))])
        keep_rows(self.store, edition, one.rows, one.grouping, np.sort(np.concatenate(missing)))

    def _let_go(self, former: Edition, by_person: Spool | None) -> None:
        """Delete the values of rows that a new edition does not have; marks stay of persons who may come back."""
        kept, p, struck = self.store.kept, len(former.columns), self.store.struck.persons()
        leaving, who = [NOBODY], [NOBODY]
        for bucket in range(BUCKETS):
            persons, rows = kept.marks(former.number, bucket)
            stays = NOBODY if by_person is None else np.sort(by_person.bucket(bucket)["row"])
            leaving.append(rows[~is_among(rows, stays)])
            who.append(persons[~is_among(rows, stays)])
        gone = np.sort(np.concatenate(leaving))
        if not len(gone):
            return
        former_rows = kept.of_persons(former.number, np.unique(np.concatenate(who)), p)
        linked = former_rows.keep(is_among(former_rows.rows, gone) & ~is_among(former_rows.persons, struck))
        if len(linked.rows):
            cells = self.store.marker.of_cells(former.columns, linked.values)
            self.tables.link(Link(linked.persons, linked.rows, former.columns, cells))
        kept.drop(former.number, p, rows=gone)
