"""Bringing what earlier versions kept of a site into its one store: several files, or a store without editions.

Earlier versions did not remember which rows they answered about, but for a tag of all of them, and marks of those in
the latest contribution. If the table still is what that says, its rows become the first edition. Else nobody can tell
by how much it differs, and the store is not brought over unless somebody says to forget that.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.data.rows import Chunk, count_rows, is_complete
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError, FileError
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.approvals import Pending
from fedrcd.federation.site.editions.choosing import Inquiry
from fedrcd.federation.site.editions.making import EditionMaker
from fedrcd.federation.site.editions.row_marks import MARK_BYTES, Mark, Marker
from fedrcd.federation.site.erasure import strike_persons
from fedrcd.federation.site.log import ANSWERED, LogEntry, parsed
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.secret import read_secret
from fedrcd.federation.site.store import FILE, OLD_FILES, OLDER_KIND, Store
from fedrcd.federation.site.trimming import trimmed
from fedrcd.federation.surroundings import REAL, Surroundings
from fedrcd.protocol.questions import PAIR_DEPTH, TENSOR, TENSOR_DEPTH
from fedrcd.typing import BoolMatrix

FIRST_KIND = 0x46524331
"""Marks the files that `fedrcd contribute` of the first release kept beside the table."""

DRAFT = "migrating"
"""Folder in which the new store is made."""

FormerRows = list[tuple[Any, ...]]


@dataclass(slots=True)
class Former:
    """What an earlier version kept of a site."""

    secret: bytes = b""
    key: bytes = b""
    lines: list[str] = field(default_factory=list)
    approvals: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, FormerRows] = field(default_factory=dict)
    """Of contributions: versions, present, struck, outbox, withdrawn."""

    def rows(self, table: str) -> FormerRows:
        """The rows of a table of contributions."""
        return self.tables.get(table, [])

    def entries(self, where: str) -> list[LogEntry]:
        """The entries of the log."""
        return parsed(self.lines, where)


def migrate(
    folder: Path,
    site: str,
    contributions: Path | None = None,
    *,
    federation: Federation | None = None,
    tables: Sequence[Table] = (),
    trim: float | None = None,
    forget: bool = False,
    surroundings: Surroundings = REAL,
) -> dict[str, int]:
    """Make the store of a site from its old files, which are then renamed to NAME.old; what it holds, by kind.

    Parameters
    ----------
    folder : path
        The state folder of the site, with `site.db` of an earlier version, or log.jsonl, secret and approvals.
    site : str
        Whose it is.
    contributions : path, optional
        SITE.contributions.db, which `fedrcd contribute` of the first release kept beside the table.
    federation, tables, trim
        The federation and the rows of the site, as it last answered about them; needed if it ever did.
    forget : bool
        Go on although the rows that were answered about are not known.
    """
    old = _former(folder, site, contributions)
    answered = [entry for entry in old.entries(str(folder)) if entry.outcome == ANSWERED]
    knows = not forget and bool(answered or old.rows("versions"))
    if knows:
        _require_as_before(old, answered, federation, tables, site, trim)
    draft = folder / DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    with Store(draft, site, surroundings) as store:
        _fill(store, old, pending=not knows)
    with Store(draft, site, surroundings) as store:
        if knows:
            assert federation is not None
            _adopt(Door(site=site, federation=federation, store=store, trim=trim), tables, answered, old)
    _put_in_place(folder, draft, contributions)
    numbers = {name: len(several) for name, several in old.tables.items() if name != "present"}
    return {"entries": len(old.lines), "approvals": len(old.approvals), **numbers}


def _former(folder: Path, site: str, contributions: Path | None) -> Former:
    """What was kept, wherever it was kept."""
    path = folder / FILE
    if path.exists():
        if contributions is not None:
            raise FileError(f"{path} exists: the contributions of this site were brought over before")
        return _from_store(path, site)
    if contributions is None and not any((folder / name).exists() for name in OLD_FILES):
        raise FileError(f"there is nothing of an earlier version in {folder}")
    former = Former(lines=_lines(folder / "log.jsonl"))
    former.approvals = [_note(one) for one in sorted((folder / "approvals").glob("*.json"))]
    former.secret = read_secret(folder / "secret") if (folder / "secret").exists() else b""
    if contributions is not None:
        content = _read(contributions, FIRST_KIND, site)
        former.key, former.tables = content.key, content.tables
    return former


def _from_store(path: Path, site: str) -> Former:
    """What a store without editions holds."""
    former = _read(path, OLDER_KIND, site)
    with closing(sqlite3.connect(path)) as file:
        former.lines = [text for (text,) in file.execute("SELECT text FROM log ORDER BY number")]
        former.approvals = [json.loads(text) for (text,) in file.execute("SELECT text FROM approvals")]
    return former


def _read(path: Path, kind: int, site: str) -> Former:
    """Keys and contributions in a file of an earlier version."""
    if not path.is_file():
        raise FileError(f"there is no file {path}")
    tables = ("versions", "present", "struck", "outbox", "withdrawn")
    try:
        with closing(sqlite3.connect(path)) as file:
            if file.execute("PRAGMA application_id").fetchone()[0] != kind:
                raise FileError(f"{path} was not written by an earlier version, or was brought over before")
            settings = dict(file.execute("SELECT name, value FROM settings"))
            if settings["site"].decode() != site:
                raise ConfigError(f"{path} is the log of site {settings['site'].decode()!r}, not of {site!r}")
            rows = {table: file.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
            return Former(secret=settings.get("secret", b""), key=settings["key"], tables=rows)
    except KeyError:
        raise FileError(f"{path} was never finished; delete it and begin anew") from None
    except sqlite3.Error as problem:
        raise FileError(f"cannot read {path}: {problem}") from None


def _require_as_before(
    old: Former,
    answered: Sequence[LogEntry],
    federation: Federation | None,
    tables: Sequence[Table],
    site: str,
    trim: float | None,
) -> None:
    """Raise unless the rows are those that an earlier version last answered about."""
    if federation is None:
        raise ConfigError(
            f"site {site!r} has answered: give its table as it was then with --data, and the federation file with "
            "--federation, so that its rows are known; or say --forget-history"
        )
    last = {entry.block: entry.version for entry in answered if entry.federation != "ledger"}
    present = {str(block): marks for block, _, marks in old.rows("present")}
    for table in tables:
        summed = _summed(old, table, federation, trim)
        same = last.get(table.block) in {None, former_tag(old.secret, summed)}
        if present.get(table.block):
            same = same and Counter(_split(present[table.block])) == Counter(_former_marks(old, summed))
        if not same:
            raise DataError(
                f"the rows of block {table.block!r} in {table.source} are not those that sums left about last: give "
                "the table as it was then, and change it afterwards; or say --forget-history, and earlier answers are "
                "not compared with later ones"
            )


def _summed(old: Former, table: Table, federation: Federation, trim: float | None) -> Table:
    """The rows that an earlier version summed: erasures that waited were not carried out yet."""
    gone = {bytes(mark) for block, mark, _, _, version in old.rows("struck") if block == table.block and version}

    def stays(chunk: Chunk) -> BoolMatrix:
        marks = [Marker(old.key).of_id_in_block(table.block, one) for one in chunk.ids or ()]
        return np.array([mark not in gone for mark in marks], dtype=bool)

    kept = (table.select(stays) if gone else table).select(is_complete)
    return kept if trim is None else trimmed(kept, federation, trim)


def former_tag(secret: bytes, table: Table) -> str:
    """The tag of complete rows as versions before editions logged it."""
    state = hmac.new(secret, digestmod=hashlib.sha256)
    state.update(repr((table.block, table.columns, (count_rows(table), len(table.columns)))).encode())
    for values, *_ in table.chunks():
        state.update(np.ascontiguousarray(values).data)
    return state.hexdigest()[:32]


def _former_marks(old: Former, table: Table) -> Iterator[Mark]:
    """Marks of rows as contributions before editions had them."""

    def marked(*parts: bytes) -> Mark:
        framed = b"".join(piece for part in parts for piece in (len(part).to_bytes(8, "little"), part))
        return hashlib.blake2b(framed, key=old.key, digest_size=MARK_BYTES).digest()

    block = table.block.encode()
    for chunk in table.chunks():
        names = [block] * len(chunk.values)
        if chunk.ids is not None:
            names = [marked(b"id", block, one.encode()) for one in chunk.ids]
        yield from (marked(b"row", name, one.tobytes()) for name, one in zip(names, chunk.values, strict=True))


def _split(blob: bytes) -> list[Mark]:
    return [bytes(blob[k : k + MARK_BYTES]) for k in range(0, len(blob), MARK_BYTES)]


def _fill(store: Store, old: Former, *, pending: bool) -> None:
    """Put what was kept into a new store; with or without the erasures that still wait."""
    struck = [row[:4] for row in old.rows("struck") if pending or row[4]]
    versions = [(*row[:6], row[7]) for row in old.rows("versions")]
    store.take_in(old.secret, old.key, old.lines, [Pending(**one) for one in old.approvals])
    with store.changes():
        store.struck.take_in(struck)
        store.sent.take_in(versions, old.rows("withdrawn"), old.rows("outbox"))


def _adopt(door: Door, tables: Sequence[Table], answered: Sequence[LogEntry], old: Former) -> None:
    """Make the rows that were answered about the first edition of each block; the log keeps calling it as before."""
    families = {entry.family.split(" ")[0] for entry in answered}
    depth = TENSOR_DEPTH if TENSOR in families or old.rows("versions") else PAIR_DEPTH
    known = {entry.block for entry in answered} | {str(row[0]) for row in old.rows("versions")}
    chosen = [table for table in tables if table.block in known]
    store, lenient = door.store, replace(door, rules=replace(Rules(), off=("batch",)))
    groups = max((entry.groups for entry in answered), default=0)
    with lenient.chosen(Inquiry(depth=depth, groups=groups), chosen) as choice, store.changes():
        for edition in EditionMaker(store).commit(choice):
            for tag in dict.fromkeys(entry.version for entry in answered if entry.block == edition.block):
                store.editions.add_alias(tag, edition.number)
            store.sent.adopt(edition.block, edition.number)
    for table in chosen:
        waiting = {bytes(row[1]): row[3] for row in old.rows("struck") if row[0] == table.block and not row[4]}
        ids = [one for chunk in table.chunks() for one in chunk.ids or ()]
        named = {one: store.marker.of_id_in_block(table.block, one) for one in ids}
        for one, mark in named.items():
            if mark in waiting:
                strike_persons(door, store.marker.of_ids([one]), date.fromisoformat(waiting[mark]))


def _put_in_place(folder: Path, draft: Path, contributions: Path | None) -> None:
    """Rename the old files, and put the new store in their place."""
    for path in [folder / FILE, *(folder / name for name in OLD_FILES), *filter(None, [contributions])]:
        if path.exists():
            path.rename(path.with_name(f"{path.name}.old"))
    (draft / FILE).rename(folder / FILE)
    shutil.rmtree(draft)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: it is not a text file") from None
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None


def _note(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        Pending(**content)
    except (OSError, ValueError, TypeError):
        raise FileError(f"cannot read {path}: it is not a note of a waiting answer") from None
    return content
