"""The site behind the pages: its settings, its store, its door and its table, opened for one request at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

from fedrcd.data.federation import Federation, read_federation
from fedrcd.data.table import Table
from fedrcd.errors import FedrcdError, ProtocolError
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.service import SiteService, open_door, read_tables
from fedrcd.federation.site.settings import SETTINGS, SiteSettings
from fedrcd.federation.site.store import FILE, Store
from fedrcd.federation.surroundings import REAL, Surroundings

PATIENCE = 5.0
"""Seconds that a page waits for an answer which is being made."""

LONG = 120.0
"""Seconds that what is done in any case waits for that."""


class StoreInUse(ProtocolError):
    """The console itself is at the store."""

    def __init__(self) -> None:
        super().__init__("the store is in use by another process; there can be only one at a time")


@dataclass(slots=True)
class SitePlace:
    """A site as its console sees it. `given` are settings for one that was never served; else they are read anew."""

    folder: Path
    given: SiteSettings | None = None
    surroundings: Surroundings = REAL
    _lock: Any = field(default_factory=RLock)

    @property
    def settings(self) -> SiteSettings:
        """The settings that the site was last served with."""
        if self.given is not None and not (self.folder / SETTINGS).exists():
            return self.given
        return SiteSettings.read(self.folder / SETTINGS)

    @property
    def federation(self) -> Federation:
        """The site's copy of the federation file."""
        return read_federation(self.settings.federation)

    @contextmanager
    def store(self, wait: float = PATIENCE) -> Iterator[Store]:
        """The store, for this request alone; made if there is none yet."""
        if not self._lock.acquire(timeout=wait):
            raise StoreInUse
        try:
            with SiteService(self.settings, self.surroundings).store(wait) as store:
                yield store
        finally:
            self._lock.release()

    @contextmanager
    def door(self) -> Iterator[tuple[Door, list[Table]]]:
        """The door and the rows, as a command of the site has them."""
        settings, federation = self.settings, self.federation
        with self.store() as store:
            yield open_door(settings, federation, store), read_tables(federation, settings)

    @contextmanager
    def copy(self) -> Iterator[tuple[Door, list[Table]]]:
        """The same with a copy of the store in memory: whoever looks for long keeps nobody from answering."""
        settings, federation = self.settings, self.federation
        with self.store() as store:
            copied = store.rehearsal()
        with copied:
            yield open_door(settings, federation, copied), read_tables(federation, settings)

    def note(self, what: str, who: str, detail: str = "") -> None:
        """Log what somebody did at the console."""
        with self.store(LONG) as store:
            store.note_action(what, who, detail)

    @property
    def stamp(self) -> str:
        """Another one whenever store, settings, table or federation file may have changed."""
        stamps = [_stamp(self.folder / FILE), _stamp(self.folder / SETTINGS), _stamp(self.folder / "certificates")]
        stamps.append(_stamp(self.folder / "proposed-federation.toml"))
        with suppress(FedrcdError):
            settings = self.settings
            stamps += [_stamp(Path(settings.federation)), _stamp(Path(settings.data))]
        return "-".join(stamps)


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return "0"
    return f"{stat.st_mtime_ns:x}.{stat.st_size:x}"
