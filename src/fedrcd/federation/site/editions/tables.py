"""What a site remembers of its editions, as tables of its store: which rows were in which, by marks alone.

An *edition* is one state of the rows of a block that sums left about. Its rows, and those of each group of them that
sums left about, are *sets*; rows that are in the same sets are an *atom* (`atoms`), and the marks of every atom are
kept, so that a row takes 16 bytes however many editions it is in. Of the rows of the newest editions the values are
kept, too: until a new edition is due, questions are answered about the former one, whatever was corrected since.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fedrcd.federation.database import Database
from fedrcd.federation.site.editions.atoms import SetNumbers
from fedrcd.federation.site.editions.row_marks import MARK_BYTES, Mark, MarkVector, as_marks, bucket_of

SCHEMA = (
    "CREATE TABLE editions (number INTEGER PRIMARY KEY, label TEXT NOT NULL, block TEXT NOT NULL, time TEXT NOT NULL, "
    "columns TEXT NOT NULL, block_rows INTEGER NOT NULL, rows INTEGER NOT NULL, persons INTEGER NOT NULL, "
    "most INTEGER NOT NULL, forced INTEGER NOT NULL, current INTEGER NOT NULL, identified INTEGER NOT NULL, "
    "line INTEGER NOT NULL)",
    "CREATE TABLE sets (number INTEGER PRIMARY KEY, edition INTEGER NOT NULL, parts INTEGER NOT NULL, "
    "part INTEGER NOT NULL, depth INTEGER NOT NULL)",
    "CREATE TABLE atoms (number INTEGER PRIMARY KEY, sets TEXT NOT NULL UNIQUE, size INTEGER NOT NULL)",
    "CREATE TABLE atom_marks (atom INTEGER, bucket INTEGER, marks BLOB NOT NULL, PRIMARY KEY (atom, bucket)) "
    "WITHOUT ROWID",
    "CREATE TABLE linked (person BLOB, row BLOB, columns TEXT NOT NULL, cells BLOB NOT NULL, "
    "PRIMARY KEY (person, row)) WITHOUT ROWID",
    "CREATE TABLE aliases (label TEXT PRIMARY KEY, edition INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE seen (fingerprint TEXT PRIMARY KEY, edition INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE splits (edition INTEGER, parts INTEGER, fingerprint TEXT NOT NULL, PRIMARY KEY (edition, parts)) "
    "WITHOUT ROWID",
    "CREATE TABLE missed (person BLOB PRIMARY KEY, edition INTEGER NOT NULL, due TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE handed_over (person BLOB PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE answers (edition TEXT, digest TEXT, sums BLOB, PRIMARY KEY (edition, digest)) WITHOUT ROWID",
)

WHOLE = 0
"""The part of an edition that is all of it; groups count from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One state of the rows of a block that sums left about; `label` is random, and what others know it by.

    A `line` is an edition with all that replaced it, known by the number of the first. `identified` says whether rows
    had identifiers. `block` is what the block was called when the edition was made, and `block_rows` how many rows it
    had, those with gaps too; `rows` and `persons` are how many are summed, `most` the most rows of one person. `forced`
    says that it was made though it differs from earlier ones by few persons. A `current` one is the newest of its line,
    whose values are kept.
    """

    number: int
    label: str
    block: str
    time: str
    columns: tuple[str, ...]
    block_rows: int
    rows: int
    persons: int
    most: int
    forced: bool
    current: bool
    identified: bool
    line: int


class ReleasedSet(NamedTuple):
    """A set of rows that sums left about: part of an edition, and how many variables its sums combine at most."""

    number: int
    edition: int
    parts: int
    part: int
    depth: int


class Link(NamedTuple):
    """Rows of persons who had several over time: person, row, and the marks of single values by column."""

    persons: MarkVector
    rows: MarkVector
    columns: tuple[str, ...]
    cells: Any


class EditionTables:
    """The tables of editions in the open store of a site."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # editions and sets

    def editions(self) -> list[Edition]:
        """All that were ever made, oldest first."""
        names = (
            "number, label, block, time, columns, block_rows, rows, persons, most, forced, current, identified, line"
        )
        found = []
        for row in self._database.rows(f"SELECT {names} FROM editions ORDER BY number"):
            values: dict[str, Any] = dict(zip(names.split(", "), row, strict=True))
            flags = {name: bool(values[name]) for name in ("forced", "current", "identified")}
            found.append(Edition(**{**values, **flags, "columns": tuple(json.loads(values["columns"]))}))
        return found

    def add_edition(self, edition: Edition, replaces: Sequence[int]) -> int:
        """Enter a new edition and the set of all its rows, in place of some; the number of that set."""
        for former in replaces:
            self._database.run("UPDATE editions SET current = 0 WHERE number = ?", former)
        values = (edition.number, edition.label, edition.block, edition.time, json.dumps(edition.columns))
        counts = (edition.block_rows, edition.rows, edition.persons, edition.most)
        flags = (int(edition.forced), int(edition.current), int(edition.identified), edition.line)
        statement = "INSERT INTO editions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._database.run(statement, *values, *counts, *flags)
        return self.add_set(edition.number, 0, WHOLE)

    def retire(self, edition: int) -> None:
        """An edition whose block is gone is answered about no more."""
        self._database.run("UPDATE editions SET current = 0 WHERE number = ?", edition)

    def sets(self) -> list[ReleasedSet]:
        """All sets that sums left about."""
        query = "SELECT number, edition, parts, part, depth FROM sets ORDER BY number"
        return [ReleasedSet(*row) for row in self._database.rows(query)]

    def next_set(self) -> int:
        """The number that the next set gets."""
        return int(next(self._database.rows("SELECT COALESCE(MAX(number), 0) + 1 FROM sets"))[0])

    def add_set(self, edition: int, parts: int, part: int) -> int:
        """Enter a set; its number."""
        number = self.next_set()
        self._database.run("INSERT INTO sets VALUES (?, ?, ?, ?, 0)", number, edition, parts, part)
        return number

    def note_release(self, numbers: Iterable[int], depth: int) -> None:
        """Remember that sums which combine so many variables left about sets."""
        for number in numbers:
            self._database.run("UPDATE sets SET depth = MAX(depth, ?) WHERE number = ?", depth, number)

    def aliases(self) -> dict[str, int]:
        """What editions were called in logs of before there were any, with their numbers."""
        return {str(label): int(edition) for label, edition in self._database.rows("SELECT * FROM aliases")}

    def add_alias(self, label: str, edition: int) -> None:
        """Remember what an edition was called before."""
        self._database.run("INSERT OR REPLACE INTO aliases VALUES (?, ?)", label, edition)

    def split_of(self, edition: int, parts: int) -> str | None:
        """The fingerprint of the rows of an edition as they lay when they were split into groups, if they were."""
        rows = self._database.rows("SELECT fingerprint FROM splits WHERE edition = ? AND parts = ?", edition, parts)
        return next((str(one) for (one,) in rows), None)

    def note_split(self, edition: int, parts: int, fingerprint: str) -> None:
        """Remember how rows lay when they were split into groups."""
        self._database.run("INSERT OR IGNORE INTO splits VALUES (?, ?, ?)", edition, parts, fingerprint)

    # atoms

    def atoms(self) -> dict[int, tuple[SetNumbers, int]]:
        """By number, the sets that the rows of an atom are in, and how many rows it has."""
        rows = self._database.rows("SELECT number, sets, size FROM atoms")
        return {int(number): (tuple(json.loads(sets)), int(size)) for number, sets, size in rows}

    def marks_by_atom(self, bucket: int) -> dict[int, MarkVector]:
        """The marks of every atom in a bucket, sorted."""
        rows = self._database.rows("SELECT atom, marks FROM atom_marks WHERE bucket = ?", bucket)
        return {int(atom): as_marks(bytes(marks)) for atom, marks in rows}

    def replace_atoms(self, bucket: int, marks: Mapping[SetNumbers, MarkVector], emptied: Iterable[int]) -> None:
        """Put marks of a bucket into the atoms of their sets, new or old, and take them out of those they were in."""
        for atom in emptied:
            self._database.run("DELETE FROM atom_marks WHERE atom = ? AND bucket = ?", atom, bucket)
        for sets, own in marks.items():
            text = json.dumps(sets)
            self._database.run("INSERT OR IGNORE INTO atoms (sets, size) VALUES (?, 0)", text)
            number = int(next(self._database.rows("SELECT number FROM atoms WHERE sets = ?", text))[0])
            query = "SELECT marks FROM atom_marks WHERE atom = ? AND bucket = ?"
            already = next((bytes(blob) for (blob,) in self._database.rows(query, number, bucket)), b"")
            joined = np.sort(np.concatenate([as_marks(already), own])) if already else own
            self._database.run("INSERT OR REPLACE INTO atom_marks VALUES (?, ?, ?)", number, bucket, joined.tobytes())

    def count_atoms(self) -> None:
        """Count the rows of every atom anew, and forget those without any."""
        self._database.run(
            "UPDATE atoms SET size = COALESCE((SELECT SUM(LENGTH(marks)) FROM atom_marks WHERE atom = atoms.number), 0)"
            f" / {MARK_BYTES}"
        )
        self._database.run("DELETE FROM atoms WHERE size = 0")

    def sort_anew(self, buckets: int) -> None:
        """Put the marks of all atoms into so many buckets; inside a transaction."""
        self._database.run("UPDATE atom_marks SET bucket = -1 - bucket")  # old numbers are not to meet new ones
        for atom, before in list(self._database.rows("SELECT atom, bucket FROM atom_marks")):
            where = "WHERE atom = ? AND bucket = ?"
            (blob,) = next(self._database.rows(f"SELECT marks FROM atom_marks {where}", atom, before))
            self._database.run(f"DELETE FROM atom_marks {where}", atom, before)
            marks = as_marks(bytes(blob))
            where_to = bucket_of(marks, buckets)
            for bucket in np.unique(where_to).tolist():
                own = marks[where_to == bucket]
                self._database.run("INSERT INTO atom_marks VALUES (?, ?, ?)", atom, bucket, own.tobytes())

    # rows of one person that are linked over time

    def links(self) -> Iterator[Link]:
        """All rows of persons who had several over time, or left, by the columns they had."""
        by_columns: dict[str, list[tuple[bytes, bytes, bytes]]] = defaultdict(list)
        for person, row, columns, cells in self._database.rows("SELECT person, row, columns, cells FROM linked"):
            by_columns[columns].append((bytes(person), bytes(row), bytes(cells)))
        for text, found in by_columns.items():
            columns = tuple(json.loads(text))
            cells = np.frombuffer(b"".join(one for *_, one in found), dtype=np.uint64).reshape(-1, len(columns))
            persons, rows = (as_marks(b"".join(row[k] for row in found)) for k in (0, 1))
            yield Link(persons, rows, columns, cells)

    def link(self, link: Link) -> None:
        """Remember rows of persons who have several."""
        columns, statement = json.dumps(link.columns), "INSERT OR REPLACE INTO linked VALUES (?, ?, ?, ?)"
        parts = (cut(link.persons, MARK_BYTES), cut(link.rows, MARK_BYTES), cut(link.cells, 8 * len(link.columns)))
        rows = ((person, row, columns, cells) for person, row, cells in zip(*parts, strict=True))
        self._database.run_many(statement, rows)

    def blind(self, person: Mark, token_bytes: Callable[[int], bytes]) -> None:
        """Forget the values, even by marks, of a person who was erased; which of them were the same stays known."""
        query = "SELECT row, columns, cells FROM linked WHERE person = ?"
        tokens: dict[tuple[str, int], bytes] = {}
        for row, text, cells in list(self._database.rows(query, person)):
            columns, marks = json.loads(text), np.frombuffer(cells, dtype=np.uint64).tolist()
            blinded = [tokens.setdefault(one, token_bytes(8)) for one in zip(columns, marks, strict=True)]
            statement = "UPDATE linked SET cells = ? WHERE person = ? AND row = ?"
            self._database.run(statement, b"".join(blinded), person, row)

    # what was seen, missed and handed over

    def seen(self, fingerprint: str) -> int | None:
        """The edition that rows with this fingerprint are, if they were compared before."""
        rows = self._database.rows("SELECT edition FROM seen WHERE fingerprint = ?", fingerprint)
        return next((int(number) for (number,) in rows), None)

    def note_seen(self, fingerprint: str, edition: int) -> None:
        """Remember that rows with this fingerprint are an edition."""
        self._database.run("DELETE FROM seen WHERE edition NOT IN (SELECT number FROM editions WHERE current = 1)")
        self._database.run("INSERT OR REPLACE INTO seen VALUES (?, ?)", fingerprint, edition)

    def missed(self) -> dict[Mark, tuple[int, str]]:
        """Persons of current editions who are gone from the table: the edition, and the date until which it waits."""
        rows = self._database.rows("SELECT person, edition, due FROM missed")
        return {bytes(person): (int(edition), str(due)) for person, edition, due in rows}

    def note_missed(self, edition: int, persons: Iterable[Mark], due: str) -> None:
        """Remember who is gone; a date that was named before stays."""
        statement = "INSERT OR IGNORE INTO missed VALUES (?, ?, ?)"
        self._database.run_many(statement, ((person, edition, due) for person in persons))

    def forget_missed(self, editions: Iterable[int]) -> None:
        """Nobody is missed in editions any more: they were replaced, or their rows came back."""
        for edition in editions:
            self._database.run("DELETE FROM missed WHERE edition = ?", edition)

    def forget_missed_persons(self, persons: Iterable[Mark]) -> None:
        """Persons who are there again, with the rows that they had."""
        self._database.run_many("DELETE FROM missed WHERE person = ?", ((person,) for person in persons))

    def handed_over(self) -> MarkVector:
        """Persons whose rows came from, or went to, another site; sorted."""
        rows = self._database.rows("SELECT person FROM handed_over ORDER BY 1")
        return as_marks(b"".join(bytes(one) for (one,) in rows))

    def note_handed_over(self, persons: Iterable[Mark]) -> None:
        """Remember such persons."""
        self._database.run_many("INSERT OR IGNORE INTO handed_over VALUES (?)", ((person,) for person in persons))

    # answers that left, to be given again

    def answer(self, edition: str, digest: str) -> bytes | None:
        """What was answered to a question about an edition, if it was."""
        rows = self._database.rows("SELECT sums FROM answers WHERE edition = ? AND digest = ?", edition, digest)
        return next((bytes(sums) for (sums,) in rows), None)

    def keep_answer(self, edition: str, digest: str, sums: bytes) -> None:
        """Keep an answer, to give the same bytes again."""
        self._database.run("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", edition, digest, sums)

    def forget_answers(self, labels: Iterable[str]) -> None:
        """Delete the answers about editions that were replaced."""
        for label in labels:
            self._database.run("DELETE FROM answers WHERE edition = ?", label)


def cut(array: np.ndarray[Any, Any], width: int) -> Iterator[bytes]:
    """The bytes of an array, so many at a time."""
    raw = np.ascontiguousarray(array).tobytes()
    return (raw[start : start + width] for start in range(0, len(raw), width))
