"""What a place where rows lie must be able to do; `ArrowRows` makes numbers of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from fedrcd.data.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 16_384
"""Rows that are read at a time, where the source leaves the choice."""


@runtime_checkable
class Source(Protocol):
    """A place where rows lie: it gives them in batches, in one order, as often as it is asked."""

    @property
    def name(self) -> str:
        """What messages call it; never a secret."""
        ...

    @property
    def count(self) -> int | None:
        """How many rows there are; None if that takes a pass."""
        ...

    @property
    def waits(self) -> bool:
        """Whether reading waits for a disk or another process, so that it is worth being a batch ahead."""
        ...

    def stamp(self) -> object:
        """Something that stays equal as long as the rows are the same, where the source can tell; else None."""
        ...

    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        ...

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns at least; `texts` are those that identify or label rows."""
        ...


class Cluster(Protocol):
    """Machines that add up what a function makes of parts."""

    def add_up(self, function: Callable[[Rows], Any], parts: Sequence[Rows]) -> Any:
        """What a function makes of every part, added."""
        ...


@runtime_checkable
class SpreadSource(Source, Protocol):
    """A source in parts that a cluster reads."""

    @property
    def cluster(self) -> Cluster:
        """The machines."""
        ...

    def parts(self) -> Sequence[Source]:
        """Sources of their own."""
        ...
