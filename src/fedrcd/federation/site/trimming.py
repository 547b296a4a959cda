"""Rows with a value that lies far out: a site leaves them out of everything, or of nothing.

Whoever gets sums with and without the few rows beyond a limit knows the sums of these rows, and sums of few rows are
those rows. So the limit is not part of a question. A site sets it, in scales of the declared frame, and keeps to it as
long as it keeps its log: see `disclosure.one_trim`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.data.rows import Rows, count_rows, streamed
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.protocol.outliers import columns_with_gross_errors, rows_within
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.frame import Frame, propose_frame


def trimmed(table: Table, federation: Federation, limit: float) -> Table:
    """The table without rows that have a value more than `limit` scales of the declared frame from its centre."""
    kept = table.select(rows_within(frame_of(table.columns, federation), limit), by_values=True)
    if not count_rows(kept):
        raise DataError(
            f"--trim {limit:g} leaves none of {count_rows(table)} complete rows of block {table.block!r}; are its "
            "columns in the units of the federation file?"
        )
    return kept


def trim_tag(columns: Sequence[str], federation: Federation, limit: float | None) -> str:
    """Tells one way to trim from another: the limit, then a digest of the columns and their frame; "" for none."""
    if limit is None:
        return ""
    frame = digest_of(frame_of(columns, federation))
    return f"{limit:.17g} {hashlib.sha256(repr((tuple(columns), frame)).encode()).hexdigest()[:16]}"


def tagged_limit(tag: str) -> str:
    """The limit in a tag, for people."""
    return f"--trim {tag.split()[0]}" if tag else "no --trim"


def other_trim(block: str, tag: str, before: str) -> str:
    """That rows were trimmed otherwise before, in words."""
    limit = tagged_limit(before)
    how = f"{limit} in another frame" if limit == tagged_limit(tag) else limit
    return (
        f"block {block!r}: its rows were summed with {how} before; keep to that: only rows of a new block may be "
        "trimmed otherwise"
    )


def frame_of(columns: Sequence[str], federation: Federation) -> Frame:
    """The declared frame of some columns, as `--trim` needs it."""
    declared = [federation.frame[name] for name in columns if name in federation.frame]
    if len(declared) < len(columns):
        raise ConfigError(
            "--trim measures rows in the declared frame, which the federation file does not have for all columns here; "
            "see `fedrcd frame propose`"
        )
    return Frame(np.array([one.centre for one in declared]), np.array([one.scale for one in declared]))


def gross_errors(rows: Rows) -> list[str]:
    """Names of columns in which a few values stand far apart from all others."""
    frame = propose_frame([streamed(rows)], [count_rows(rows)])
    return [rows.columns[j] for j in columns_with_gross_errors(rows, frame)]
