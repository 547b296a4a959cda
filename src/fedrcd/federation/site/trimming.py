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
from fedrcd.federation.rules import Rules
from fedrcd.protocol.outliers import columns_with_gross_errors, rows_within
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.frame import Frame, propose_frame

SEPARATOR = "; "
"""Between the parts of a tag."""


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


def leaving_tag(columns: Sequence[str], federation: Federation, limit: float | None, rules: Rules) -> str:
    """Tells one way to leave rows out from another, by all that decides which; "" where none is left out."""
    parts = [trim_tag(columns, federation, limit)]
    if rules.suppress:
        parts.append(f"suppress {rules.suppress} of {rules.levels} levels below {rules.cell}")
    if rules.dominance < 1:
        parts.append(f"dominance {rules.dominance:.17g}")
    return SEPARATOR.join(filter(None, parts))


def tagged_limit(tag: str) -> str:
    """How rows are left out by a tag, for people."""
    parts = [part.split() for part in tag.split(SEPARATOR) if part]
    options = [f"--{one[0]} {one[1]}" if one[0].isalpha() else f"--trim {one[0]}" for one in parts]
    return " ".join(options) or "no row left out"


def other_trim(block: str, tag: str, before: str) -> str:
    """That rows were trimmed otherwise before, in words."""
    limit = tagged_limit(before)
    if limit == tagged_limit(tag):
        trim, trim_before = (one.split(SEPARATOR)[0] for one in (tag, before))
        limit += " under other rules" if trim == trim_before else " in another frame"
    return (
        f"block {block!r}: its rows were summed with {limit} before; keep to that: only rows of a new block may be "
        "left out otherwise"
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
