"""What was done at the console of a coordinator: one line each, chained, so that one that is taken out shows."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from fedrcd.errors import FileError
from fedrcd.federation.messages.printable import printable
from fedrcd.federation.surroundings import REAL, Surroundings

FILE = "console.log"
START = "0" * 64


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody did, or was not let do."""

    time: str
    what: str
    who: str
    detail: str = ""


class Actions:
    """The log of a console, in the folder of a coordinator."""

    def __init__(self, folder: Path, surroundings: Surroundings = REAL) -> None:
        self.path, self._surroundings, self._lock = folder / FILE, surroundings, Lock()

    def note(self, what: str, who: str, detail: str = "") -> None:
        """Log something; on the disk before this returns."""
        action = Action(self.now(), printable(what), printable(who), printable(detail))
        with self._lock:
            lines = self._lines()
            before = _digest(lines[-1]) if lines else START
            line = json.dumps({"before": before, **asdict(action)})
            try:
                with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:
                    file.write(line + "\n")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as problem:
                raise FileError(f"cannot write {self.path}: {problem.strerror}") from None

    def now(self) -> str:
        """The time as the log writes it."""
        return self._surroundings.now().isoformat(timespec="milliseconds")

    def all(self) -> list[Action]:
        """Everything, in order; `FileError` if a line was changed or taken out."""
        found, before = [], START
        for number, line in enumerate(self._lines(), 1):
            try:
                content: dict[str, Any] = json.loads(line)
                follows, action = content.pop("before"), Action(**content)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise FileError(f"{self.path}, line {number}: not a line of the log of a console") from None
            if follows != before:
                raise FileError(f"{self.path}, line {number}: the line before it was changed or taken out")
            found.append(action)
            before = _digest(line)
        return found

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError):
            raise FileError(f"cannot read {self.path}") from None


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()
