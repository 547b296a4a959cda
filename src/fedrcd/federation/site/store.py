"""All that a site remembers, in one file: what it was asked and what left, which editions of its rows, its secrets.

It never leaves the site. Rows are known by keyed marks; only of the rows of the newest editions are values kept, and of
erased rows never. The keys are in the file: guard it like the table itself.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.database import WAIT_SECONDS, Closing, Database
from fedrcd.federation.messages.printable import printable
from fedrcd.federation.site import approvals, known_ledgers, masked_runs, sent_contributions, struck_rows
from fedrcd.federation.site.approvals import Approvals, Pending, StandingApproval
from fedrcd.federation.site.editions import kept_values, tables
from fedrcd.federation.site.editions.kept_values import KeptValues
from fedrcd.federation.site.editions.row_marks import LEAST_BUCKETS, SEVERAL_BUCKETS, Marker, buckets_for
from fedrcd.federation.site.editions.tables import EditionTables
from fedrcd.federation.site.known_ledgers import KnownLedgers
from fedrcd.federation.site.log import DECIDED, ENTERED, START, LogEntry, chained, digest_of_line, parsed
from fedrcd.federation.site.masked_runs import MaskedRuns
from fedrcd.federation.site.sent_contributions import SentContributions
from fedrcd.federation.site.struck_rows import StruckRows
from fedrcd.federation.site.witness import Witness
from fedrcd.federation.surroundings import REAL, Surroundings

FILE = "site.db"
"""Its name in the folder of a site."""

OLD_FILES = ("log.jsonl", "secret", "approvals")
"""What the first release kept in that folder instead."""

FILE_KIND = 0x46525332
OLDER_KIND = 0x46525331
"""Of stores made before there were editions."""

SECRET_BYTES = 32

NOW, FILL = "now", "fill"
"""What a person may allow: that rows are an edition whoever is told by it; that others are left out to hide few."""

WHATEVER_ROWS = ""
"""In place of a tag of rows: what is allowed holds whatever the rows are."""

SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE log (number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE approvals (digest TEXT PRIMARY KEY, text TEXT NOT NULL)",
    "CREATE TABLE pinned (variable TEXT PRIMARY KEY, centre TEXT NOT NULL, scale TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE permits (name TEXT, rows TEXT, time TEXT NOT NULL, PRIMARY KEY (name, rows)) WITHOUT ROWID",
    "CREATE TRIGGER log_stays BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log stays'); END",
    "CREATE TRIGGER log_keeps BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log stays'); END",
    *tables.SCHEMA,
    *kept_values.SCHEMA,
    *known_ledgers.SCHEMA,
    *struck_rows.SCHEMA,
    *sent_contributions.SCHEMA,
    *masked_runs.SCHEMA,
    *approvals.SCHEMA,
)


class Store(Closing):
    """The open store of one site; nobody else can open it meanwhile."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        site: str,
        surroundings: Surroundings = REAL,
        *,
        witness: Witness | None = None,
        wait: float = WAIT_SECONDS,
    ) -> None:
        """Open the store in the folder of a site; a new one is made if there is none.

        A `witness` beside the site's key tells whether it is the one of before, and is told how far it goes.
        """
        path = Path(folder) / FILE
        is_new = not path.exists()
        _require_nothing_old(Path(folder), site)
        if is_new:
            _make_folder(Path(folder))
        self.surroundings = surroundings
        self._entries: list[LogEntry] | None = None  # those of the log, once they were read
        self._database = Database(
            path, "store of a site", FILE_KIND, SCHEMA, create=is_new, connect=surroundings.connect, wait=wait
        )
        if is_new:
            values = {"site": site.encode()}
            values |= {name: surroundings.token_bytes(SECRET_BYTES) for name in ("secret", "key", "identity")}
            with self._database.changes():
                for name, value in values.items():
                    self._database.run("INSERT INTO settings VALUES (?, ?)", name, value)
                self._database.note_layout(LEAST_BUCKETS)
        settings = {str(name): bytes(value) for name, value in self._database.rows("SELECT name, value FROM settings")}
        if settings.keys() != {"site", "secret", "key", "identity"}:
            self.close()
            raise FileError(f"the store {path} was never finished; delete it and begin anew")
        self.secret, self.marker = settings["secret"], Marker(settings["key"])
        self.editions, self.struck = EditionTables(self._database), StruckRows(self._database)
        self.sent, self.kept = SentContributions(self._database), KeptValues(self._database)
        self.approvals = Approvals(self._database)
        self.ledgers, self.masked = KnownLedgers(self._database), MaskedRuns(self._database)
        self.site, self._identity, self._witness = settings["site"].decode(), settings["identity"].hex(), witness
        if settings["site"].decode() != site:
            self.close()
            raise ConfigError(
                f"{path} is the store of site {settings['site'].decode()!r}, not of {site!r}; if it was given another "
                "name, say so with `fedrcd site rename`"
            )
        if witness is not None:
            try:
                hashes = self._hashes()
                witness.require(self._identity, hashes, path)
                if hashes:  # also of what was written without the key
                    witness.note(self._identity, len(hashes), hashes[-1])
            except FileError:
                self.close()
                raise

    def _hashes(self) -> list[str]:
        return [str(one) for (one,) in self._database.rows("SELECT hash FROM log ORDER BY number")]

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @property
    def path(self) -> Path:
        """Its file."""
        return self._database.path

    def now(self) -> str:
        """The time as the log writes it."""
        return self.surroundings.now().isoformat(timespec="milliseconds")

    def today(self) -> date:
        """The date, for what is due."""
        return self.surroundings.now().date()

    def changes(self) -> AbstractContextManager[None]:
        """All that is changed in the block is on the disk when it ends, or nothing is."""
        return self._database.changes()

    @property
    def buckets(self) -> int:
        """How many buckets the marks in it are kept in."""
        return self._database.layout or SEVERAL_BUCKETS  # stores that noted none have these

    def make_room(self, rows: int) -> None:
        """Keep marks in as many buckets as a table of so many rows needs: each of them must fit into memory."""
        buckets = buckets_for(rows)
        if buckets > self.buckets:
            with self.changes():
                self.editions.sort_anew(buckets)
                self.kept.sort_anew(buckets)
                self._database.note_layout(buckets)

    def take_in(self, secret: bytes, key: bytes, lines: Sequence[str], held: Iterable[Pending]) -> None:
        """Take over secrets, log and approvals of an earlier version; those of its secrets that it has."""
        self._entries = None
        with self._database.changes():
            for name, value in (("secret", secret), ("key", key)):
                if value:
                    self._database.run("UPDATE settings SET value = ? WHERE name = ?", value, name)
            for line in lines:
                self._database.run("INSERT INTO log (text, hash) VALUES (?, ?)", line, digest_of_line(line))
            for one in held:
                self.approvals.put(one)

    # what was asked, and what left

    def lines(self) -> list[str]:
        """The log as it is kept, a line of JSON an entry."""
        return [str(text) for (text,) in self._database.rows("SELECT text FROM log ORDER BY number")]

    def entries(self) -> list[LogEntry]:
        """All entries of the log, in order; `FileError` if one was changed or taken out."""
        if self._entries is None:
            self._entries = parsed(self.lines(), str(self.path))
        return list(self._entries)

    def append(self, entries: Iterable[LogEntry], also: Callable[[], None] | None = None) -> None:
        """Add entries to the log, on the disk before this returns; `also` is done with them, or not at all."""
        try:
            with self._database.changes():
                query = "SELECT hash FROM log ORDER BY number DESC LIMIT 1"
                before = next((str(last) for (last,) in self._database.rows(query)), START)
                for line in chained(entries, before):
                    self._database.run("INSERT INTO log (text, hash) VALUES (?, ?)", *line)
                self._entries = None
                if also:
                    also()
        finally:
            self._entries = None
        if self._witness is not None:
            hashes = self._hashes()
            self._witness.note(self._identity, len(hashes), hashes[-1] if hashes else START)

    def head(self) -> str:
        """How far the log goes, for others to remember: it tells them nothing of what is in it."""
        hashes = self._hashes()
        return self._head(hashes[-1]) if hashes else ""

    def has_head(self, head: str) -> bool:
        """Whether the log went, or goes, as far as was once said of it."""
        return any(self._head(one) == head for one in reversed(self._hashes()))

    def _head(self, line: str) -> str:
        return hashlib.blake2b(line.encode(), key=self.secret, digest_size=16, person=b"fedrcd log head").hexdigest()

    def rename(self, site: str) -> None:
        """The site has another name from now on; all that is known of its rows stays."""
        with self._database.changes():
            self._database.run("UPDATE settings SET value = ? WHERE name = 'site'", site.encode())
        self.site = site

    # the first frame, which stays

    def pinned_frame(self) -> Mapping[str, tuple[float, float]]:
        """Centre and scale of every variable that sums ever left about."""
        rows = self._database.rows("SELECT variable, centre, scale FROM pinned")
        return {str(name): (float.fromhex(centre), float.fromhex(scale)) for name, centre, scale in rows}

    def pin_frame(self, frame: Mapping[str, tuple[float, float]]) -> None:
        """Remember the frame of variables that have none yet; inside `append`."""
        values = ((name, centre.hex(), scale.hex()) for name, (centre, scale) in frame.items())
        self._database.run_many("INSERT OR IGNORE INTO pinned VALUES (?, ?, ?)", values)

    # what a person allowed for the next edition

    def permits(self, name: str) -> frozenset[str]:
        """For which rows something was allowed and not yet made use of, by their tags."""
        return frozenset(str(rows) for (rows,) in self._database.rows("SELECT rows FROM permits WHERE name = ?", name))

    def permit(self, name: str, rows: Iterable[str] = (WHATEVER_ROWS,)) -> None:
        """Allow something for the next edition."""
        with self._database.changes():
            statement, time = "INSERT OR REPLACE INTO permits VALUES (?, ?, ?)", self.now()
            self._database.run_many(statement, ((name, tag, time) for tag in rows))

    def use_permits(self, rows: Iterable[str]) -> None:
        """An edition of some rows was made: what was allowed for it is not for the next; inside `append`."""
        statement = "DELETE FROM permits WHERE rows = ?"
        self._database.run_many(statement, ((tag,) for tag in (WHATEVER_ROWS, *rows)))

    # what a person decides

    def decide(self, begins: str, decision: str, *, who: str, reason: str = "", rest: bool = False) -> Pending:
        """Write what a person said of the one waiting question whose digest begins so; `rest` is of its whole run."""
        chosen = self.approvals.chosen(begins)
        decided = replace(chosen, decision=decision, who=who, reason=printable(reason))
        also = ", and the rest of its run" if rest else ""

        def together() -> None:
            self.approvals.put(decided)
            if rest:
                self.approvals.approve_rest(chosen.run, who)

        self.append([self._decided(f"{decision}{also}: {chosen.question}", who, reason, run=chosen.run)], together)
        return decided

    def allow(self, approval: StandingApproval) -> None:
        """Allow runs of some kind in advance."""
        self.append(
            [self._decided(f"allowed in advance: {approval}", approval.who)], partial(self.approvals.allow, approval)
        )

    def withdraw_approval(self, approval: StandingApproval, who: str) -> None:
        """Be asked about them again."""
        said = self._decided(f"no longer allowed in advance: {approval}", who)
        self.append([said], partial(self.approvals.withdraw, approval))

    def note_action(self, what: str, who: str, detail: str = "") -> None:
        """Log what somebody did, or was not let do, at the console."""
        entry = LogEntry(time=self.now(), round=0, question=what, outcome=ENTERED, who=who, detail=detail)
        self.append([entry])

    def _decided(self, what: str, who: str, reason: str = "", run: str = "") -> LogEntry:
        return LogEntry(time=self.now(), run=run, round=0, question=what, outcome=DECIDED, who=who, detail=reason)

    def rehearsal(self) -> Store:
        """The same in memory, to see what something would do: nothing of it is on the disk."""
        copied = self._database.in_memory()
        surroundings = replace(self.surroundings, connect=lambda *_, **__: copied)
        return Store(self.path.parent, self.site, surroundings)


def owner_of(folder: Path) -> str:
    """The name of the site whose store is in a folder; empty if there is none yet."""
    _require_nothing_old(folder, "NAME")
    if not (folder / FILE).is_file():
        return ""
    with Database(folder / FILE, "store of a site", FILE_KIND, SCHEMA, create=False) as database:
        names = [bytes(value).decode() for (value,) in database.rows("SELECT value FROM settings WHERE name = 'site'")]
    return names[0] if names else ""


def is_older(path: Path) -> bool:
    """Whether a file is a store made before there were editions, by the mark in its header."""
    with path.open("rb") as file:
        return file.read(72)[68:] == OLDER_KIND.to_bytes(4, "big")


def _require_nothing_old(folder: Path, site: str) -> None:
    """Raise if a folder holds what an earlier version kept there."""
    first = not (folder / FILE).exists() and any((folder / name).exists() for name in OLD_FILES)
    if first or ((folder / FILE).is_file() and is_older(folder / FILE)):
        raise FileError(
            f"{folder} was written by an earlier version; bring it over with "
            f"`fedrcd site migrate --name {site} --state {folder}`"
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise FileError(f"cannot make the folder {folder}: {problem.strerror}") from None
