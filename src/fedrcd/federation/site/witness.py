"""How far a site's log went, kept beside its key: a store that was deleted, rolled back or exchanged is noticed.

Whoever answers with a key has this file at hand. A site whose history is lost would count its budget anew and could not
tell which rows it answered about; so it refuses.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrcd.errors import FileError

ENDING = ".head"
"""What follows the name of the key's file."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The file beside a key."""

    path: Path

    @classmethod
    def beside(cls, key: str | os.PathLike[str]) -> Witness:
        """That of a key."""
        return cls(Path(f"{os.fspath(key)}{ENDING}"))

    def require(self, identity: str, hashes: list[str], store: Path) -> None:
        """Raise unless a store is the one that was seen last, and its log holds what it held then."""
        if not self.path.exists():
            return
        seen = self._read()
        known = seen["entries"] <= len(hashes) and (not seen["entries"] or hashes[seen["entries"] - 1] == seen["hash"])
        if seen["store"] != identity or not known:
            raise FileError(
                f"{store} is not the store that answered with this key before, or its log was cut: {self.path} knows "
                f"of {seen['entries']} entries. Bring that store back. If it is lost for good, what was answered about "
                f"is not known any more: take a new key, or delete {self.path} if the rows are others than before"
            )

    def note(self, identity: str, entries: int, last: str) -> None:
        """Remember how far the log goes; on the disk before this returns."""
        now = {"store": identity, "entries": entries, "hash": last}
        if self.path.exists() and self._read() == now:
            return
        content = json.dumps(now)
        draft = self.path.with_name(f"{self.path.name}.draft")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
                file.write(content + "\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        except OSError as problem:
            raise FileError(f"cannot write {self.path}: {problem.strerror}") from None

    def _read(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(self.path.read_text(encoding="ascii"))
            return {"store": str(content["store"]), "entries": int(content["entries"]), "hash": str(content["hash"])}
        except (OSError, ValueError, KeyError, TypeError):
            raise FileError(f"cannot read {self.path}, which says how far the log of this site goes") from None
