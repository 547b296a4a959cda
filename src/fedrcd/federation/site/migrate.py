"""Bringing what the first release kept in several files into the one store of a site."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.database import Database
from fedrcd.federation.site.log import parsed
from fedrcd.federation.site.secret import read_secret
from fedrcd.federation.site.store import FILE, FILE_KIND, OLD_FILES, SCHEMA, SECRET_BYTES, Pending, Store
from fedrcd.federation.surroundings import REAL, Surroundings

OLD_KIND = 0x46524331
"""Marks the files that `fedrcd contribute` of the first release kept beside the table."""

TABLES = ("versions", "present", "struck", "outbox", "withdrawn")
"""What such a file holds besides its settings; the store has the same tables."""


def migrate(
    folder: Path, site: str, contributions: Path | None = None, surroundings: Surroundings = REAL
) -> dict[str, int]:
    """Make the store of a site from its old files, which are then renamed to NAME.old; what it holds, by kind.

    Parameters
    ----------
    folder : path
        The state folder of `fedrcd site serve`, with log.jsonl, secret and approvals; it may lack any of them.
    site : str
        Whose it is.
    contributions : path, optional
        SITE.contributions.db, which `fedrcd contribute` kept beside the table.
    """
    if (folder / FILE).exists():
        return _taken_in(folder, site, contributions, surroundings)
    if contributions is None and not any((folder / name).exists() for name in OLD_FILES):
        raise FileError(f"there is nothing of an earlier version in {folder}")
    lines = _lines(folder / "log.jsonl")
    parsed(lines, str(folder / "log.jsonl"))  # a log that somebody changed is not taken over
    held = [_note(path) for path in sorted((folder / "approvals").glob("*.json"))]
    secret = (folder / "secret").exists() and read_secret(folder / "secret")
    key, rows = _contributed(contributions, site) if contributions else (b"", {})
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = folder / f"{FILE}.draft"
    draft.unlink(missing_ok=True)
    with Database(draft, "store of a site", FILE_KIND, SCHEMA, create=True, connect=surroundings.connect) as database:
        settings = {"site": site.encode(), "secret": secret or surroundings.token_bytes(SECRET_BYTES)}
        settings["key"] = key or surroundings.token_bytes(SECRET_BYTES)
        with database.changes():
            for name, value in settings.items():
                database.run("INSERT INTO settings VALUES (?, ?)", name, value)
            for text, digest in _hashed(lines):
                database.run("INSERT INTO log (text, hash) VALUES (?, ?)", text, digest)
            for pending in held:
                database.run("INSERT INTO approvals VALUES (?, ?)", pending["digest"], json.dumps(pending))
            for table, several in rows.items():
                for one in several:
                    database.run(f"INSERT INTO {table} VALUES ({', '.join('?' * len(one))})", *one)
    draft.rename(folder / FILE)
    for path in [*(folder / name for name in OLD_FILES), *filter(None, [contributions])]:
        if path.exists():
            path.rename(path.with_name(f"{path.name}.old"))
    return {"entries": len(lines), "approvals": len(held), **{table: len(several) for table, several in rows.items()}}


def _taken_in(folder: Path, site: str, contributions: Path | None, surroundings: Surroundings) -> dict[str, int]:
    """Take old contributions into a store that has none of its own yet."""
    with Store(folder, site, surroundings) as store:
        if contributions is None or store.sent() or store.has_struck():
            raise FileError(f"{folder / FILE} exists: this site was brought over before")
        key, rows = _contributed(contributions, site)
        store.take_in(key, rows)
    contributions.rename(contributions.with_name(f"{contributions.name}.old"))
    return {table: len(several) for table, several in rows.items()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: it is not a text file") from None
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None


def _hashed(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((text, hashlib.sha256(text.encode()).hexdigest()) for text in lines)


def _note(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        Pending(**content)
    except (OSError, ValueError, TypeError):
        raise FileError(f"cannot read {path}: it is not a note of a waiting answer") from None
    return content


def _contributed(path: Path, site: str) -> tuple[bytes, dict[str, list[tuple[Any, ...]]]]:
    """The key and the tables of an old file of contributions."""
    if not path.is_file():
        raise FileError(f"there is no file {path}")
    try:
        with closing(sqlite3.connect(path)) as old:
            if old.execute("PRAGMA application_id").fetchone()[0] != OLD_KIND:
                raise FileError(f"{path} is not a contribution log of the first release")
            settings = dict(old.execute("SELECT name, value FROM settings"))
            if settings["site"].decode() != site:
                raise ConfigError(f"{path} is the log of site {settings['site'].decode()!r}, not of {site!r}")
            return settings["key"], {table: old.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}
    except KeyError:
        raise FileError(f"{path} was never finished; delete it and begin anew") from None
    except sqlite3.Error as problem:
        raise FileError(f"cannot read {path}: {problem}") from None
