"""What a site needs of a table, wherever it lies: names of columns, identifiers, and chunks of numbers.

A source of rows (a file larger than memory, a query, a cluster) is one class with the attributes of `Rows`. Nothing but
`Table`, for what lies in memory, needs all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from fedrcd.typing import BoolMatrix, IntVector, Matrix

ROWS_PER_CHUNK = 65_536
"""Rows of a table in memory that are handed out at a time; they are not copied."""


class Chunk(NamedTuple):
    """Some rows: values, shape (n, columns), NaN where one is missing, and identifiers, if there are any.

    `places` are those of the rows in the table they were read from: rows without identifiers are known by them, and
    keep them when others are left out. A source need not tell them.
    """

    values: Matrix
    ids: Sequence[str] | None = None
    places: IntVector | None = None

    def keep(self, kept: BoolMatrix) -> Chunk:
        """Some of these rows."""
        if kept.all():
            return self
        ids = None if self.ids is None else [one for one, stays in zip(self.ids, kept, strict=True) if stays]
        return Chunk(self.values[kept], ids, None if self.places is None else self.places[kept])


@runtime_checkable
class Rows(Protocol):
    """Rows that can be read any number of times, in one order."""

    @property
    def source(self) -> str:
        """What messages call them."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Name of each column."""
        ...

    @property
    def identified(self) -> bool:
        """Whether chunks have identifiers."""
        ...

    @property
    def count(self) -> int | None:
        """How many rows there are; None if that takes a pass."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """All rows, float64, in an order that stays."""
        ...


T = TypeVar("T")


def asked_once(rows: Rows, key: object, ask: Callable[[], T]) -> T:
    """What a pass over rows tells; where they keep it (`told`), nobody asks twice."""
    kept: dict[object, Any] | None = getattr(rows, "told", None)
    if kept is None:
        return ask()
    if key not in kept:
        kept[key] = ask()
    found: T = kept[key]
    return found


Keep = Callable[[Chunk], BoolMatrix]
"""Which rows of a chunk stay, shape (n,)."""


class Spread(NamedTuple):
    """Rows in parts that other machines read, and what adds up what a function makes of each part there."""

    parts: Sequence[Rows]
    add_up: Callable[[Callable[[Rows], Any], Sequence[Rows]], Any]

    def through(self, change: Callable[[Rows], Rows]) -> Spread:
        """The same with something made of every part."""
        return self._replace(parts=[change(part) for part in self.parts])


def spread_of(rows: Any) -> Spread | None:
    """How rows are spread over a cluster, if they are."""
    found: Spread | None = rows.spread() if hasattr(rows, "spread") else None
    return found


class Derived:
    """What rows that are made of others have from them."""

    __slots__ = ()

    rows: Rows

    @property
    def source(self) -> str:
        """That of the rows behind."""
        return self.rows.source

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the rows behind."""
        return self.rows.columns

    @property
    def identified(self) -> bool:
        """As of the rows behind."""
        return self.rows.identified


@dataclass(frozen=True, eq=False)
class Selected(Derived):
    """Those rows of others that stay, judged chunk by chunk whenever they are read."""

    rows: Rows = field(repr=False)
    stays: Keep = field(repr=False)
    count: int | None = None
    by_values: bool = False
    """Whether the values of a row alone decide: then parts of a cluster can be judged where they are read."""
    told: dict[object, Any] = field(default_factory=dict, repr=False)

    def spread(self) -> Spread | None:
        """As the rows behind."""
        behind = spread_of(self.rows) if self.by_values else None
        return behind and behind.through(lambda part: Selected(part, self.stays))

    def chunks(self) -> Iterator[Chunk]:
        """The rows that stay."""
        return (chunk.keep(self.stays(chunk)) for chunk in numbered(self.rows.chunks()))


@dataclass(frozen=True, eq=False)
class Converted(Derived):
    """Rows with some of their columns, and values changed on the way."""

    rows: Rows = field(repr=False)
    columns: tuple[str, ...] = ()
    change: Callable[[Matrix], Matrix] | None = field(repr=False, default=None)
    told: dict[object, Any] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int | None:
        """As of the rows behind."""
        return self.rows.count

    def spread(self) -> Spread | None:
        """As the rows behind."""
        behind = spread_of(self.rows)
        return behind and behind.through(lambda part: Converted(part, self.columns, self.change))

    def chunks(self) -> Iterator[Chunk]:
        """The chosen columns."""
        chosen = [self.rows.columns.index(name) for name in self.columns]
        whole = chosen == list(range(len(self.rows.columns)))
        for chunk in self.rows.chunks():
            values = chunk.values if whole else chunk.values[:, chosen]
            yield chunk._replace(values=values if self.change is None else self.change(values))


def numbered(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Chunks that tell the places of their rows."""
    first = 0
    for chunk in chunks:
        if chunk.places is None:
            chunk = chunk._replace(places=np.arange(first, first + len(chunk.values)))
        first += len(chunk.values)
        yield chunk


def streamed(rows: Rows) -> Callable[[], Iterator[Matrix]]:
    """The values alone, as often as they are asked for."""
    return lambda: (chunk.values for chunk in rows.chunks())


def count_rows(rows: Rows) -> int:
    """How many rows there are; takes a pass where the source does not know."""
    return sum(len(chunk.values) for chunk in rows.chunks()) if rows.count is None else rows.count


def is_complete(chunk: Chunk) -> BoolMatrix:
    """Which rows lack no value."""
    complete: BoolMatrix = np.logical_not(np.isnan(chunk.values).any(axis=1))
    return complete


def pieces(chunks: Iterator[Chunk], size: int) -> Iterator[Matrix]:
    """The values of chunks cut anew, `size` rows each but the last: what is summed must not depend on the source."""
    held: list[Matrix] = []
    rows = 0
    for values, *_ in chunks:
        start = 0
        while rows + len(values) - start >= size:
            end = start + size - rows
            held.append(values[start:end])
            yield held[0] if len(held) == 1 else np.concatenate(held)
            held, rows, start = [], 0, end
        if start < len(values):
            held.append(values[start:])
            rows += len(values) - start
    if held:
        yield held[0] if len(held) == 1 else np.concatenate(held)
