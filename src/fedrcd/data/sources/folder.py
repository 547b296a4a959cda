"""Many files as one table: a folder, or a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fedrcd.data.sources.kinds import kind_in_words
from fedrcd.data.sources.source import Source
from fedrcd.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class Folder:
    """Files with the same columns, one after the other in the order of their names."""

    files: tuple[Source, ...] = field(repr=False)
    name: str
    waits: bool = True

    @property
    def count(self) -> int | None:
        """Of all files, where all tell."""
        counts = [one.count for one in self.files]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def stamp(self) -> object:
        """Of all files."""
        return tuple((one.name, one.stamp()) for one in self.files)

    def schema(self) -> pa.Schema:
        """That of the first file; the others must have the same columns, and numbers where it has numbers."""
        import pyarrow as pa

        first, *others = self.files
        schema = first.schema()
        for other in others:
            found = other.schema()
            if sorted(found.names) != sorted(schema.names):
                different = sorted({*found.names} ^ {*schema.names}) or sorted(found.names)
                raise DataError(
                    f"{other.name} and {first.name} of {self.name} differ in column {different[0]!r}; all files must "
                    "have the same columns"
                )
            for one in found:
                before = schema.field(one.name).type
                if before == one.type:
                    continue
                if pa.types.is_null(before):
                    schema = schema.set(schema.get_field_index(one.name), one)
                    continue
                here, there = kind_in_words(before), kind_in_words(one.type)
                if not pa.types.is_null(one.type) and here != there:
                    raise DataError(
                        f"column {one.name!r} is {here} in {first.name} of {self.name} and {there} in {other.name}; "
                        "write the files anew with one type"
                    )
        return schema

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Those of every file."""
        for one in self.files:
            yield from one.batches(columns, texts)
