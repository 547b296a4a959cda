"""Rows that a Dask cluster reads: parts are summed where they are read, and exact sums are added as a tree.

A worker may die: its parts are summed by another, and a sum that two workers made is the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fedrcd.data.rows import Rows
from fedrcd.data.sources.folder import Folder
from fedrcd.data.sources.query import needs
from fedrcd.data.sources.source import ROWS_PER_BATCH, Source
from fedrcd.errors import FedrcdError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

ADDED_AT_ONCE = 8
"""Sums that one task adds."""

RETRIES = 3

SECONDS_TO_CONNECT = "10s"


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """A scheduler by its address, or the one that this process is connected to."""

    address: str = ""

    def add_up(self, function: Callable[[Rows], Any], parts: Sequence[Rows]) -> Any:
        """What a function makes of every part, added."""
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            raise needs("dask") from None
        try:
            if not self.address:
                return _sum_on(distributed.default_client(), function, parts)
            with distributed.Client(self.address, timeout=SECONDS_TO_CONNECT, set_as_default=False) as client:
                return _sum_on(client, function, parts)
        except FedrcdError:
            raise
        except (OSError, ValueError):
            raise FileError(f"no Dask scheduler answers at {self.address or 'the address of this process'}") from None
        except Exception as problem:  # whatever a worker raised may quote values
            kind = type(problem).__name__
            raise FileError(
                f"the Dask cluster {self.address} could not sum its parts ({kind}); look at the logs of its workers"
            ) from None


def _sum_on(client: Any, function: Callable[[Rows], Any], parts: Sequence[Rows]) -> Any:
    """One graph for the whole tree, so that the scheduler knows how to make again what a worker takes with it."""
    run = uuid4().hex
    keys = [f"fedrcd-part-{run}-{number}" for number in range(len(parts))]
    graph: dict[str, Any] = {key: (function, part) for key, part in zip(keys, parts, strict=True)}
    level = 0
    while len(keys) > 1:
        groups = [keys[first : first + ADDED_AT_ONCE] for first in range(0, len(keys), ADDED_AT_ONCE)]
        keys = [f"fedrcd-added-{run}-{level}-{number}" for number in range(len(groups))]
        graph |= {key: (_added, group) for key, group in zip(keys, groups, strict=True)}
        level += 1
    return client.get(graph, keys[0], retries=RETRIES)


def _added(sums: list[Any]) -> Any:
    total = sums[0]
    for one in sums[1:]:
        total = total + one
    return total


@dataclass(frozen=True, slots=True, eq=False)
class DaskFolder:
    """A folder of files that all workers can read, too."""

    folder: Folder = field(repr=False)
    cluster: DaskCluster
    waits: bool = True

    @property
    def name(self) -> str:
        """That of the folder."""
        return self.folder.name

    @property
    def count(self) -> int | None:
        """Of all files."""
        return self.folder.count

    def stamp(self) -> object:
        """Of all files."""
        return self.folder.stamp()

    def schema(self) -> pa.Schema:
        """Of all files."""
        return self.folder.schema()

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read here: only sums are made elsewhere."""
        yield from self.folder.batches(columns, texts)

    def parts(self) -> Sequence[Source]:
        """The files."""
        return self.folder.files


@dataclass(frozen=True, slots=True, eq=False)
class DaskFrame:
    """A DataFrame of Dask: its partitions are computed where they are summed."""

    frame: Any = field(repr=False)
    name: str
    cluster: DaskCluster = field(default_factory=DaskCluster)
    count: None = None
    waits: bool = True

    def stamp(self) -> None:
        """It cannot tell."""

    def schema(self) -> pa.Schema:
        """As the frame says."""
        import pyarrow as pa

        return pa.Schema.from_pandas(self.frame._meta, preserve_index=False)

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """One partition after the other."""
        for part in self.parts():
            yield from part.batches(columns, texts)

    def parts(self) -> Sequence[Source]:
        """The partitions."""
        schema = self.schema()
        return [DaskPartition(one, schema, self.name) for one in self.frame.to_delayed()]


@dataclass(frozen=True, slots=True, eq=False)
class DaskPartition:
    """One partition, computed when it is read, by whoever reads it."""

    partition: Any = field(repr=False)
    kinds: Any = field(repr=False)
    name: str
    count: None = None
    waits: bool = False

    def stamp(self) -> None:
        """It cannot tell."""

    def schema(self) -> pa.Schema:
        """As the whole frame says."""
        return self.kinds

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Its rows."""
        import pyarrow as pa

        frame = self.partition.compute(scheduler="synchronous")
        table = pa.Table.from_pandas(frame[list(columns)], preserve_index=False)
        yield from table.to_batches(max_chunksize=ROWS_PER_BATCH)
