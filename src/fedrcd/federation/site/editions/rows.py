"""The rows of an edition as they were: their values are kept in the store, read from it, and forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fedrcd.data.rows import Chunk, numbered
from fedrcd.data.table import Table
from fedrcd.federation.site.editions.census import BY_ROW, Census
from fedrcd.federation.site.editions.kept_values import KeptRows, KeptValues
from fedrcd.federation.site.editions.row_marks import MarkVector, Spool, as_marks, bucket_of, is_among
from fedrcd.federation.site.editions.row_places import RowPlaces
from fedrcd.federation.site.editions.tables import Edition, Link
from fedrcd.federation.site.store import Store
from fedrcd.protocol.groups import Grouping


@dataclass(frozen=True, eq=False)
class EditionRows:
    """A source of rows: in the order in which they are kept, each known by the number that decides its group."""

    kept: KeptValues = field(repr=False)
    edition: Edition
    identified: bool = True

    @property
    def source(self) -> str:
        """What messages call it."""
        return f"edition {self.edition.number}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the edition."""
        return self.edition.columns

    @property
    def count(self) -> int:
        """As many as the edition has."""
        return self.edition.rows

    def chunks(self) -> Iterator[Chunk]:
        """All rows."""
        first = 0
        for part in self.kept.chunks(self.edition.number):
            numbers = [str(one) for one in part.spread.view(np.uint64).tolist()]
            yield Chunk(part.values, numbers, np.arange(first, first + len(numbers)))
            first += len(numbers)


def edition_table(kept: KeptValues, edition: Edition, site: str, block: str) -> Table:
    """The rows of an edition as a table of a block."""
    rows = EditionRows(kept, edition)
    return Table(rows, site, block, columns=edition.columns, source=rows.source)


def edition_census(store: Store, edition: Edition, table: Table) -> Census:
    """Which rows these are."""
    by_row, place = Spool(BY_ROW), 0
    for bucket in range(store.buckets):
        _, rows = store.kept.marks(edition.number, bucket)
        records = np.empty(len(rows), dtype=BY_ROW)
        records["row"], records["place"] = rows, np.arange(place, place + len(rows))
        by_row.add(records)
        place += len(rows)
    return Census(table, edition.block_rows, edition.persons, edition.most, by_row, None, None)


def keep_rows(
    store: Store, edition: Edition, table: Table, grouping: Grouping | None, places: RowPlaces | None = None
) -> None:
    """Keep the values of the rows at some places, or of all; inside a transaction."""
    marker, order = store.marker, [table.columns.index(name) for name in edition.columns]
    for chunk in numbered(table.chunks()):
        wanted = chunk if places is None else chunk.keep(places.chosen(chunk))
        if not len(wanted.values) or wanted.ids is None:
            continue
        persons = marker.of_ids(wanted.ids)
        rows = marker.of_rows(table.columns, wanted, persons)
        spread = np.zeros(len(rows), dtype=np.int64)
        if grouping is not None:
            spread = grouping.numbers(wanted.ids).view(np.int64)
        store.kept.add(edition.number, KeptRows(persons, rows, spread, np.ascontiguousarray(wanted.values[:, order])))


def forget_values(store: Store, former: Edition, persons: MarkVector, *, links: bool) -> None:
    """Delete the values of persons, given sorted, of an edition; marks of them stay if they may come back."""
    p = len(former.columns)
    kept = store.kept.of_persons(former.number, persons, p)
    if links and len(kept.rows):
        cells = store.marker.of_cells(former.columns, kept.values)
        store.editions.link(Link(kept.persons, kept.rows, former.columns, cells))
    store.kept.drop(former.number, persons)


def are_remembered(store: Store, persons: MarkVector) -> npt.NDArray[np.bool_]:
    """Which persons are in an edition, or were: their values are kept, or marks of them."""
    linked = [as_marks(b"".join(store.editions.missed())), *(link.persons for link in store.editions.links())]
    found = is_among(persons, np.sort(np.concatenate(linked)))
    current = [one for one in store.editions.editions() if one.current]
    for bucket in np.unique(bucket_of(persons, store.buckets)).tolist():
        for edition in current:
            found |= is_among(persons, np.sort(store.kept.marks(edition.number, bucket)[0]))
    return found
