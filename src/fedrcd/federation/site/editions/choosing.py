"""Which rows a site answers about: the table as it is, if that tells nobody apart, else an edition of it from before.

A site does not answer about its table but about an edition of it. A new one is made when the rows differ from all
earlier editions, alone and combined, in nobody or in at least a batch of persons (`atoms`, `comparison`). Until
then the former one is answered about; where rows of it are gone for good the site waits, and says until when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from math import ceil
from typing import NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import count_rows, numbered
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.rules import DEPTHS, Rules
from fedrcd.federation.site.editions.census import Census, fingerprint, take_census
from fedrcd.federation.site.editions.chosen_rows import BlockRows, Chosen
from fedrcd.federation.site.editions.comparison import EditionComparison, Entrant, Held, as_list
from fedrcd.federation.site.editions.filling import Leaving, thinned
from fedrcd.federation.site.editions.recognition import Recognition
from fedrcd.federation.site.editions.row_marks import NOBODY, MarkVector, is_among
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.federation.site.editions.rows import edition_census, edition_table, forget_values, keep_rows
from fedrcd.federation.site.editions.tables import WHOLE, Edition, EditionTables
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.store import NOW, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What is asked for: how many variables sums combine at most, and how many groups of rows; 0 for none.

    `labels` are, by block, those of the editions that earlier rounds of the same run were about. `force` makes the
    present rows an edition whoever is told by it, `fill` hides few who are gone among others left out for good. An
    answer that is `noisy` tells nobody apart: it is about the rows as they are, or were when the run began.
    """

    depth: int
    groups: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    force: bool = False
    fill: bool = False
    noisy: bool = False


class PendingChange(NamedTuple):
    """What is held back: persons who came, are gone, or have other values; and until when, if anybody is gone."""

    came: int = 0
    gone: int = 0
    changed: int = 0
    batch: int = 0
    due: date | None = None

    @property
    def persons(self) -> int:
        """How many they are together."""
        return self.came + self.gone + self.changed

    def __str__(self) -> str:
        parts = [(self.came, "came"), (self.gone, "are gone"), (self.changed, "have other values")]
        told = ", ".join(f"{number} {what}" for number, what in parts if number)
        until = f", or until {self.due}" if self.due else ""
        return f"{told}; they wait until {self.batch} persons can hide each other{until}"


class EditionWaits(Refused):
    """Nothing can be answered about now; `waiting` says who is held back, and until when."""

    def __init__(self, waiting: PendingChange, why: str) -> None:
        super().__init__(Refusal.EDITION, f"{why}: {waiting}; see `fedrcd site editions`")
        self.waiting = waiting


@dataclass(frozen=True, slots=True, eq=False)
class EditionChoice:
    """What is answered about, block by block.

    `comparison` is with all editions before, where new sets of rows are told by the answer; `numbers` are the sets of
    every block that it is about, new ones by the numbers that they will get.
    """

    blocks: tuple[Chosen, ...]
    asked: Inquiry
    comparison: EditionComparison
    numbers: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    declared: tuple[str, ...] = ()
    """All blocks that the site has by the federation file."""
    waiting: PendingChange | None = None
    forced: bool = False

    @property
    def label(self) -> str:
        """What others know these rows by."""
        return "+".join(self.labels)

    @property
    def entrants(self) -> Sequence[Entrant]:
        """Rows that are in new sets."""
        return self.comparison.entrants


@dataclass(frozen=True, slots=True)
class EditionChooser:
    """Chooses what a site answers about.

    `blocks` are all that the federation file says the site has; `notices` says whether it may be written down who is
    gone, and who came back.
    """

    store: Store
    rules: Rules
    site: str
    blocks: tuple[str, ...] = ()
    notices: bool = True

    @property
    def tables(self) -> EditionTables:
        """What is remembered of editions."""
        return self.store.editions

    @property
    def recognition(self) -> Recognition:
        """Tells which edition rows replace."""
        return Recognition(self.store, self.blocks)

    @contextmanager
    def choose(self, blocks: Sequence[BlockRows], asked: Inquiry) -> Iterator[EditionChoice]:
        """The rows to answer about.

        Raises
        ------
        Refused
            When any answer would tell few persons apart.
        """
        censuses: list[Census] = []
        try:
            yield self._chosen(blocks, asked, censuses)
        finally:
            for census in censuses:
                census.close()

    def _chosen(self, blocks: Sequence[BlockRows], asked: Inquiry, censuses: list[Census]) -> EditionChoice:
        present = self._present(blocks, asked, censuses)
        if asked.labels:
            return self._pinned(blocks, present, asked, censuses)
        choice = self._choice(present, asked)
        why = "" if asked.noisy else self._tells(choice)
        if not why:
            return choice
        if asked.force or self._is_allowed(present) or "batch" in self.rules.off:
            return replace(choice, forced=True)
        waiting = self._noticed(present, asked)
        if any(one.edition is None for one in present):
            for who in get_args(Leaving) if asked.fill or _is_due(waiting, self.store) else ():
                filled = self._filled(present, asked, censuses, who)
                if filled is not None and not self._tells(filled):
                    return filled
            for former in self._former(blocks, present, asked, censuses):
                if not self._tells(former):
                    return replace(former, waiting=waiting)
        raise EditionWaits(waiting, why)

    def allow(self, blocks: Sequence[BlockRows]) -> None:
        """Allow the rows as they are now, and no others, to be an edition, whoever is told by it."""
        censuses: list[Census] = []
        try:
            present = self._present(blocks, Inquiry(depth=DEPTHS[0]), censuses)
            self.store.permit(NOW, [one.tag for one in present])
        finally:
            for census in censuses:
                census.close()

    def _is_allowed(self, present: Sequence[Chosen]) -> bool:
        allowed = self.store.permits(NOW)
        return bool(allowed) and all(one.tag in allowed for one in present)

    # the rows as they are

    def _present(self, blocks: Sequence[BlockRows], asked: Inquiry, censuses: list[Census]) -> list[Chosen]:
        """The present rows of every block, with the edition that they are, if they are one."""
        known = {edition.number: edition for edition in self.tables.editions()}
        prints = [fingerprint(block.summed, self.store.secret) for block in blocks]
        seen = [known.get(self.tables.seen(one) or 0) for one in prints]
        chosen = []
        for block, tag, edition in zip(blocks, prints, seen, strict=True):
            census = None
            if edition is None or asked.groups:
                census = take_census(block.whole, block.summed, self.store.marker)
                censuses.append(census)
                if self.notices:
                    self.store.make_room(census.rows)
            chosen.append(Chosen(block.summed, block.grouping, edition, census, tag))
        chosen = [self.recognition.recognised(one) if one.edition is None else one for one in chosen]
        for one in chosen:
            if self.notices and one.replaces is not None:
                self._welcome(one, one.replaces)
        return chosen

    def _choice(self, chosen: Sequence[Chosen], asked: Inquiry, **more: object) -> EditionChoice:
        """The choice of some rows, with the sets that an answer would be about."""
        following, entrants, numbers = self.tables.next_set(), [], []
        released = {(one.edition, one.parts, one.part): one.number for one in self.tables.sets()}
        for one in chosen:
            edition, whole, groups = 0 if one.edition is None else one.edition.number, 0, None
            if not edition:
                whole, following = following, following + 1
            own, first = [whole or released[edition, 0, WHOLE]], following
            if asked.groups and (edition, asked.groups, 1) in released:
                self._require_same_split(one, edition, asked.groups)
                own += [released[edition, asked.groups, part] for part in range(1, asked.groups + 1)]
            elif asked.groups:
                groups = self._labels(one, asked.groups)
                own += range(following, following + asked.groups)
                following += asked.groups
            if whole or groups is not None:
                assert one.census is not None
                entrants.append(Entrant(one.census, whole, groups, first))
            numbers.append(tuple(own))
        labels = tuple(one.edition.label if one.edition else self._label_of(one) for one in chosen)
        comparison = EditionComparison(self.store, entrants)
        return EditionChoice(tuple(chosen), asked, comparison, tuple(numbers), labels, self.blocks, **more)  # type: ignore[arg-type]

    def _label_of(self, one: Chosen) -> str:
        """A label for an edition to be: it tells nothing of the rows to whoever has not the site's secret."""
        return (one.fingerprint or fingerprint(one.rows, self.store.secret))[:32]

    def _labels(self, one: Chosen, groups: int) -> npt.NDArray[np.unsignedinteger]:
        """By place, the group of every row."""
        if one.grouping is None:
            raise Refused(Refusal.SECRET)
        if groups > count_rows(one.rows):
            raise Refused(Refusal.GROUPS, f"{groups} groups of {count_rows(one.rows)} rows")
        by_place = np.zeros(0, dtype=np.min_scalar_type(groups))
        for chunk in numbered(one.rows.chunks()):
            assert chunk.places is not None
            named = map(str, chunk.places.tolist()) if chunk.ids is None else chunk.ids
            by_place.resize(max(len(by_place), int(chunk.places.max(initial=-1)) + 1), refcheck=False)
            by_place[chunk.places] = one.grouping.labels(named, groups)
        return by_place

    def _require_same_split(self, one: Chosen, edition: int, groups: int) -> None:
        """Refuse to split rows that are known by their places alone, if they lie otherwise than before."""
        before = self.tables.split_of(edition, groups)
        if not one.rows.identified and before is not None and before != one.fingerprint:
            raise Refused(Refusal.SPLIT, "rows without identifiers lie in another order than when they were split")

    # the rule

    def _tells(self, choice: EditionChoice) -> str:
        """Why answers about these rows, beside all before, would tell fewer than a batch of persons; empty if not."""
        sets, asked, comparison = self.tables.sets(), choice.asked, choice.comparison
        depths = {one.number: one.depth for one in sets}
        leaving = {number for numbers in choice.numbers for number in numbers}
        if not choice.entrants and all(depths[number] >= asked.depth for number in leaving):
            return ""
        known = {number: Held(number, one.line, one.columns) for number, one in comparison.editions.items()}
        held = {one.number: known[one.edition] for one in sets}
        for k, (chosen, numbers) in enumerate(zip(choice.blocks, choice.numbers, strict=True)):
            before = chosen.edition or chosen.replaces
            number, line = chosen.edition.number if chosen.edition else -1 - k, before.line if before else -1 - k
            held |= dict.fromkeys(numbers, Held(number, line, chosen.rows.columns))
        parts = {number for one in choice.numbers for number in one[1:]} | {one.number for one in sets if one.parts}
        for depth in (one for one in DEPTHS if one <= asked.depth):
            earlier = {number for number, deepest in depths.items() if deepest >= depth}
            told = leaving | earlier
            for chosen_sets, groups in [(told, True), (told - parts, False)] if told & parts else [(told, False)]:
                among = {number: own for number, own in held.items() if number in chosen_sets}
                if comparison.tells(among, earlier & chosen_sets, self._batch(choice, depth, groups=groups)):
                    return "too few rows differ from those that sums left about before"
        new = [one for one in choice.blocks if one.edition is None]
        return next(filter(None, (self.recognition.doubt(one, choice.blocks) for one in new)), "")

    def _batch(self, choice: EditionChoice, depth: int, *, groups: bool = False) -> int:
        """Rows that hide each other: a batch of persons, each with as many rows as anybody has.

        Twice as many as all numbers that left about any edition determine, if these are more than the rules know of.
        Where sums of `groups` are combined with others, only the numbers that left about every single group count: what
        left about all rows alone is not known of any part of them.
        """
        editions = choice.comparison.editions.values()
        p = max(len(one.rows.columns) for one in choice.blocks)
        p = max([p, *(len(edition.columns) for edition in editions)])
        most = [edition.most for edition in editions] + [one.census.most for one in choice.blocks if one.census]
        told = ceil(self.rules.rows_per_tensor * max(self._numbers(groups=groups).values(), default=0) / p)
        return max(self.rules.needed_batch(p, depth), told) * max([1, *most])

    def _numbers(self, *, groups: bool) -> Counter[str]:
        """By label of an edition, how many different numbers left about all its rows, or about each group of them.

        What left about each group is known of all rows, too.
        """
        left = [entry for entry in self.store.entries() if entry.outcome == ANSWERED and not entry.implied]
        left = [entry for entry in left if entry.groups or not groups]
        answers = {(entry.version, entry.answer): entry.numbers / max(entry.groups, 1) for entry in left}
        counted = Counter[str]()
        for (label, _), numbers in answers.items():
            counted[label] += ceil(numbers)
        return counted

    # what waits

    def difference(self, one: Chosen) -> PendingChange:
        """By whom rows that would be a new edition differ from the one they replace."""
        if one.edition is not None or one.census is None:
            return PendingChange()
        if one.replaces is None:
            return PendingChange(came=one.census.persons)
        entrant = Entrant(one.census, self.tables.next_set())
        comparison = EditionComparison(self.store, [entrant])
        changed = len(np.unique(np.concatenate([NOBODY, *(link.persons for link in comparison.changed)])))
        came = max(one.census.rows - comparison.shared(entrant)[one.replaces.number] - changed, 0)
        return PendingChange(came, len(self.recognition.gone(one, one.replaces)), changed)

    def _noticed(self, present: Sequence[Chosen], asked: Inquiry) -> PendingChange:
        """Who came, is gone or has changed; who is gone is written down, and the values of that person are not kept."""
        differences = [self.difference(one) for one in present]
        for one in present:
            if self.notices and one.edition is None and one.replaces is not None:
                missing = self.recognition.gone(one, one.replaces)
                if len(missing):
                    self._miss(one.replaces, missing)
        choice = self._choice([replace(one, grouping=None) for one in present], replace(asked, groups=0))
        missed = self.tables.missed()
        dues = [date.fromisoformat(due) for _, due in missed.values()]
        dues += list(self.store.struck.pending().values())
        came, gone, changed = (sum(getattr(one, name) for one in differences) for name in ("came", "gone", "changed"))
        gone = max(gone, len(missed) + len(self.store.struck.pending()))
        return PendingChange(came, gone, changed, self._batch(choice, asked.depth), min(dues, default=None))

    def _miss(self, former: Edition, persons: MarkVector) -> None:
        """Write down that persons are gone. Their values are forgotten but for marks, should they come back."""
        tables, due = self.tables, self.store.today() + self.rules.longest_wait
        with self.store.changes():
            forget_values(self.store, former, persons, links=True)
            tables.note_missed(former.number, as_list(persons), due.isoformat())

    def _filled(
        self, present: Sequence[Chosen], asked: Inquiry, censuses: list[Census], who: Leaving
    ) -> EditionChoice | None:
        """The rows of former editions that are still the same, less so many that those who are gone are hidden."""
        deepest = max([asked.depth, *(one.depth for one in self.tables.sets())])
        batch = self._batch(self._choice(present, replace(asked, groups=0)), deepest)
        chosen = []
        for one in present:
            as_they_are = one.edition is not None or one.replaces is None
            filled = one if as_they_are else thinned(self.store, one, batch, who)
            if filled is None:
                return None
            if filled is not one and filled.census is not None:
                censuses.append(filled.census)
            chosen.append(filled)
        return self._choice(chosen, asked)

    def _welcome(self, one: Chosen, former: Edition) -> None:
        """Whoever was missed and is there again, with the same row, is missed no more: the values are kept again."""
        missed = self.tables.missed()
        if one.census is None or one.census.by_person is None or not missed:
            return
        persons, places = self.recognition.returned(one, former, missed)
        if len(places):
            with self.store.changes():
                keep_rows(self.store, former, one.rows, one.grouping, places)
                self.tables.forget_missed_persons(as_list(persons))

    # the former edition

    def _former(
        self, blocks: Sequence[BlockRows], present: Sequence[Chosen], asked: Inquiry, censuses: list[Census]
    ) -> Iterator[EditionChoice]:
        """The present rows, but of one block those of the edition before; then of all blocks, if all can be had."""
        former: list[Chosen | None] = []
        for block, one in zip(blocks, present, strict=True):
            if one.edition is not None or one.replaces is None:
                former.append(one if one.edition else None)
            else:
                former.append(self._as_it_was(block, one, one.replaces, censuses))
        for k, before in enumerate(former):
            if before is not None and before is not present[k] and len(present) > 1:
                yield self._choice([*present[:k], before, *present[k + 1 :]], asked)
        if None not in former:
            yield self._choice([before for before in former if before is not None], asked)

    def _as_it_was(self, block: BlockRows, one: Chosen, edition: Edition, censuses: list[Census]) -> Chosen | None:
        """The rows of an edition, from the values that are kept of it or from those of the table that it has."""
        if not set(one.rows.columns) <= set(edition.columns):
            return None  # sums of a column that was not there then
        if edition.identified != one.rows.identified:
            return None  # nobody can tell who of it is gone
        if one.census is not None and len(self.recognition.gone(one, edition)):
            return None
        if edition.current and self.store.kept.count(edition.number) == edition.rows:
            rows = edition_table(self.store.kept, edition, self.site, block.summed.block)
            census = edition_census(self.store, edition, rows)
            censuses.append(census)
            grouping = None if block.grouping is None else replace(block.grouping, drawn=True)
            return Chosen(rows, grouping, edition, census)
        if one.census is None or one.census.by_person is not None:
            return None
        kept = self._places_in(one.census, edition)
        if len(kept) < edition.rows:
            return None
        rows = block.summed.select(kept.chosen)
        census = take_census(rows, rows, self.store.marker)
        censuses.append(census)
        return Chosen(rows, block.grouping, edition, census)

    def _places_in(self, census: Census, edition: Edition) -> RowPlaces:
        """Places of the rows that are in an edition."""
        [whole] = [one.number for one in self.tables.sets() if (one.edition, one.part) == (edition.number, WHOLE)]
        inside = [atom for atom, (sets, _) in self.tables.atoms().items() if whole in sets]
        places, buckets = RowPlaces(), self.store.buckets
        for bucket in range(buckets):
            marks, where = census.marks(bucket, buckets)
            by_atom = self.tables.marks_by_atom(bucket)
            own = np.sort(np.concatenate([NOBODY, *(by_atom[atom] for atom in inside if atom in by_atom)]))
            places.add(where[is_among(marks, own)])
        return places

    def _pinned(
        self, blocks: Sequence[BlockRows], present: Sequence[Chosen], asked: Inquiry, censuses: list[Census]
    ) -> EditionChoice:
        """The editions that the run has been about."""
        chosen = []
        known = {edition.label: edition for edition in self.tables.editions()}
        for block, one in zip(blocks, present, strict=True):
            label = asked.labels.get(block.summed.block)
            if label in {None, one.edition.label if one.edition else self._label_of(one)}:
                chosen.append(one)
                continue
            if label not in known:  # what an earlier step of a dry run chose, which is chosen again
                return self._chosen(blocks, replace(asked, labels={}), censuses)
            former = self._as_it_was(block, one, known[label], censuses)
            if former is None:
                raise Refused(Refusal.EDITION, "its rows changed during the run; start a new one")
            chosen.append(former)
        choice = self._choice(chosen, asked)
        if not asked.noisy and self._tells(choice):
            raise Refused(Refusal.EDITION)
        return choice


def _is_due(waiting: PendingChange, store: Store) -> bool:
    return waiting.due is not None and waiting.due <= store.today()
