"""Answers that wait for a person: a note per question, and what the person said.

A site that needs approval does not hold the line: it says that it is waiting, and the coordinator asks again later.
What was approved is the question, by its digest, so it holds for the same question asked again and for nothing else.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from fedrcd.errors import ConfigError, FileError

SHORT = 12
"""Characters of a digest by which people name a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A question whose answer waits: what it is, and how much would leave."""

    digest: str
    time: str
    run: str
    round: int
    question: str
    numbers: int
    numbers_per_row: float
    decision: str = ""
    """Empty, "approved" or "refused"."""


@dataclass(frozen=True, slots=True)
class Approvals:
    """The notes of a site, one file each in a folder."""

    folder: Path

    def decision(self, digest: str) -> str | None:
        """What was decided: None for a question that was never held."""
        path = self._path(digest)
        return _read(path).decision if path.exists() else None

    def hold(self, pending: Pending) -> None:
        """Write the note of a question."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self._path(pending.digest), pending)

    def all(self) -> list[Pending]:
        """All notes, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted((_read(path) for path in self.folder.glob("*.json")), key=lambda one: one.time)

    def decide(self, begins: str, decision: str) -> Pending:
        """Write what a person said of the one waiting question whose digest begins so."""
        waiting = [one for one in self.all() if one.digest.startswith(begins) and not one.decision]
        if len(waiting) != 1:
            known = ", ".join(one.digest[:SHORT] for one in self.all() if not one.decision) or "none"
            raise ConfigError(f"no single waiting answer begins with {begins!r}; waiting: {known}")
        decided = Pending(**{**asdict(waiting[0]), "decision": decision})
        _write(self._path(decided.digest), decided)
        return decided

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest[:32]}.json"


def _read(path: Path) -> Pending:
    try:
        return Pending(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise FileError(f"cannot read {path}: it is not a note of a waiting answer") from None


def _write(path: Path, pending: Pending) -> None:
    """Replace a note in one step: it is read while it is written."""
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(asdict(pending), indent=1) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None
