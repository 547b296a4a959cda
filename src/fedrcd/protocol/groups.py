"""Rows in secret groups: what a site sends so that others can resample without learning which rows are where.

A coordinator that knew which rows a weighted sum counts how often could solve for the rows. So every site splits its
rows once, by a keyed hash of their identifiers with a secret of its own, and sends the sums of each group, all in one
round; whoever resamples draws whole groups. A row's group depends on nothing but its identifier and the secret: it
stays where it is when other rows come or go.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import Chunk, Derived, Rows, numbered
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Asking, Share
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import Grid
from fedrcd.statistics.grouped_sums import GroupedSums, Origin
from fedrcd.typing import IntVector, Matrix

LEAST_GROUPS = 10

IN_MEMORY = 1 << 20
"""Bytes of marks of rows that are held in memory."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """How a site splits its rows.

    Parameters
    ----------
    secret : bytes
        Key of the hash, at most 64 bytes. Sites that hold columns of the same rows must share it, and nobody else.
    least : int
        Rows that every group must have; a question that would make smaller groups is refused.
    drawn : bool
        Whether rows come with the numbers that were drawn for them in place of identifiers.
    """

    secret: bytes
    least: int = 1
    drawn: bool = False

    def labels(self, ids: Iterable[str], groups: int) -> IntVector:
        """The group of every row, shape (n,)."""
        labels: IntVector = (self.numbers(ids) % np.uint64(groups)).astype(np.int64)
        return labels

    def numbers(self, ids: Iterable[str]) -> npt.NDArray[np.uint64]:
        """The number that decides the group of every row, however many groups there are; shape (n,)."""
        if self.drawn:
            return np.array([int(one) for one in ids], dtype=np.uint64)
        digests = b"".join(
            hashlib.blake2b(one.encode(), key=self.secret, digest_size=8, person=b"fedrcd group").digest()
            for one in ids
        )
        return np.frombuffer(digests, dtype=">u8").astype(np.uint64)

    def tag(self, rows: str) -> str:
        """Tells this way to split from another, and nothing else; `rows` says what the rows are known by."""
        return hashlib.blake2b(rows.encode(), key=self.secret, digest_size=16, person=b"fedrcd split tag").hexdigest()

    def labelled(self, rows: Rows, groups: int) -> Iterator[tuple[Chunk, IntVector]]:
        """All rows, with the group of every row; those without identifiers are known by their places."""
        for chunk in numbered(rows.chunks()):
            places = map(str, () if chunk.places is None else chunk.places)
            yield chunk, self.labels(places if chunk.ids is None else chunk.ids, groups)

    def require_large(self, sizes: IntVector, site: str) -> None:
        """Raise if a group would have too few rows."""
        groups = len(sizes)
        if sizes.min() < self.least:
            advice = "ask for fewer groups"
            if groups <= LEAST_GROUPS:
                advice = (
                    "these are too few rows for groups; where all rows are in one process, resample='rows' draws rows"
                )
            raise ProtocolError(
                f"site {site} refuses {groups} groups: the smallest would have {sizes.min()} rows and must have "
                f"{self.least}; {advice}"
            )

    def split(self, rows: Rows, groups: int, site: str) -> list[Rows]:
        """The rows of every group, none of them too small; takes a pass, and one for each group that is read."""
        sizes, marks = np.zeros(groups, dtype=np.int64), _Marks(groups)
        for _, labels in self.labelled(rows, groups):
            marks.add(labels)
            sizes += np.bincount(labels, minlength=groups)
        self.require_large(sizes, site)
        return [_GroupRows(rows, marks, group, int(sizes[group])) for group in range(groups)]


class _Marks:
    """The group of every row, beyond some thousand rows in a file that vanishes."""

    def __init__(self, groups: int) -> None:
        self._kind = np.min_scalar_type(max(groups - 1, 1))
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed when nobody holds it
        weakref.finalize(self, self._file.close)

    def add(self, labels: IntVector) -> None:
        """Take the groups of the next rows."""
        self._file.write(labels.astype(self._kind).tobytes())

    def of(self, first: int, count: int) -> IntVector:
        """The groups of so many rows."""
        self._file.seek(first * self._kind.itemsize)
        return np.frombuffer(self._file.read(count * self._kind.itemsize), dtype=self._kind)


@dataclass(frozen=True, eq=False)
class _GroupRows(Derived):
    """The rows of one group."""

    rows: Rows
    marks: _Marks
    group: int
    count: int

    def chunks(self) -> Iterator[Chunk]:
        """The rows of this group."""
        first = 0
        for chunk in self.rows.chunks():
            labels = self.marks.of(first, len(chunk.values))
            first += len(chunk.values)
            yield chunk.keep(labels == self.group)


def together(parts: Sequence[Rows]) -> Iterator[tuple[Chunk, IntVector]]:
    """All rows of groups, with the group of every row: those of a split in one pass."""
    first, start = parts[0], 0
    if isinstance(first, _GroupRows):
        for chunk in first.rows.chunks():
            yield chunk, first.marks.of(start, len(chunk.values)).astype(np.int64)
            start += len(chunk.values)
        return
    for number, part in enumerate(parts):
        for chunk in part.chunks():
            yield chunk, np.full(len(chunk.values), number)


@dataclass(frozen=True, slots=True, eq=False)
class GroupedQuestion(Asking):
    """Asks what another question asks, group by group."""

    rules: ClassVar[tuple[str, ...] | None] = ("split", "groups")

    each: PairQuestion | TensorQuestion = field()
    groups: int = field()

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise ConfigError(f"groups must be at least 1, got {self.groups}")

    @property
    def variables(self) -> tuple[str, ...]:
        """Those of the question behind."""
        return self.each.variables

    @property
    def frame(self) -> Frame:
        """That of the question behind."""
        return self.each.frame

    @property
    def grid(self) -> Grid | None:
        """That of the question behind."""
        return self.each.grid

    @property
    def maskable(self) -> bool:
        """As the question behind."""
        return self.each.maskable

    @property
    def clips(self) -> bool | None:
        """As the question behind."""
        return self.each.clips

    @property
    def depth(self) -> int:
        """As the question behind."""
        return self.each.depth

    @property
    def needs_trust(self) -> bool:
        """As the question behind."""
        return self.each.needs_trust

    def put_to(self, site: Any, layout: Layout | None) -> GroupedSums | None:
        """The sums of each group of the site's rows."""
        sums: GroupedSums | None = site.sums_by_group(self, layout)
        return sums

    def describe(self) -> str:
        """What an answer would tell, in one line."""
        return f"for each of {self.groups} secret groups of rows: {self.each.describe()}"

    def accepts(self, sums: Any, origin: Origin) -> bool:
        """Whether there are as many groups as asked for, of nobody else, and each holds what is asked for."""
        if sums.kind != GroupedSums.kind or set(sums.groups) != {origin}:
            return False
        parts = sums.groups[origin]
        return len(parts) == self.groups and all(self.each.accepts(part, origin) for part in parts)

    def share(self, layout: Layout | None, holding: int) -> Share[GroupedSums] | None:  # noqa: ARG002
        """A site answers group by group, each with the share of the question behind."""
        raise ProtocolError("a grouped question is answered group by group")

    def answer(self, blocks: Iterable[Matrix], *, gaps: bool = False) -> Any:  # noqa: ARG002
        """A site answers group by group, each with the question behind."""
        raise ProtocolError("a grouped question is answered group by group")
