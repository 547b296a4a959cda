"""What people at a site decided: on answers that wait, on the rest of a run, and on runs of some kind in advance.

Commands and the page of the site write and read the same records here. Who decided what is in the log, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fedrcd.errors import ConfigError
from fedrcd.federation.database import Database
from fedrcd.suggest import did_you_mean

APPROVED, REFUSED = "approved", "refused"

SHORT = 12
"""Characters of a digest by which people name a question."""

SCHEMA = (
    "CREATE TABLE called_runs (run TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE standing_approvals (method TEXT, purpose TEXT, text TEXT NOT NULL, PRIMARY KEY (method, purpose)) "
    "WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A question whose answer waits for a person: what it is and is for, and how much would leave."""

    digest: str
    time: str
    run: str
    round: int
    question: str
    numbers: int
    numbers_per_row: float
    version: str = ""
    """Of the rows that it would be about."""
    detail: str = ""
    """How far the moments that came with it are from those of the rows."""
    decision: str = ""
    """Empty, "approved" or "refused"."""
    title: str = ""
    purpose: str = ""
    method: str = ""
    """As the roll call of the run told them."""
    rows: int = 0
    rules: tuple[str, ...] = ()
    """The rules of disclosure that it passed, by their names."""
    spent: int = 0
    allowed: int = 0
    """The budget: numbers that left before about the rows with least left, and that may ever."""
    is_own: bool = False
    """Whether it is what the site's own copy of the method asks."""
    compared: str = ""
    """That, in words."""
    who: str = ""
    reason: str = ""
    """Who decided, and why."""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.digest[:SHORT]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledRun:
    """A run of which a roll call told: what it is for, and how it was planned; `rest_by` approved whatever it asks."""

    run: str
    time: str
    method: str
    title: str = ""
    purpose: str = ""
    plan: Mapping[str, Any] = field(default_factory=dict)
    rest_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingApproval:
    """A person's word in advance: runs of a method, for a purpose, need not be asked about; either may be left open."""

    method: str = ""
    purpose: str = ""
    who: str = ""
    time: str = ""

    def covers(self, run: CalledRun) -> bool:
        """Whether it is about a run."""
        return self.method in {"", run.method} and self.purpose in {"", run.purpose}

    def __str__(self) -> str:
        method = self.method or "any method"
        return f"{method} for {self.purpose!r}" if self.purpose else f"{method} for any purpose"


class Approvals:
    """The tables of what people decided, in the open store of a site."""

    def __init__(self, database: Database) -> None:
        self._database = database
        known = database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'called_runs'")
        if not list(known):  # a store from before runs had purposes
            with database.changes():
                for statement in SCHEMA:
                    database.run(statement)

    # answers that wait

    def decision(self, digest: str, version: str, run: str) -> Pending | None:
        """What was decided in a run on a question about these rows; None for one that was never held."""
        asked = (digest, version, run)
        return next((one for one in self.held() if (one.digest, one.version, one.run) == asked), None)

    def hold(self, pending: Pending) -> None:
        """Keep a question until a person decides."""
        with self._database.changes():
            self.put(pending)

    def put(self, pending: Pending) -> None:
        """Keep a question, or what was decided on it; inside `changes`."""
        key, text = f"{pending.digest} {pending.run}", json.dumps(asdict(pending))
        self._database.run("INSERT OR REPLACE INTO approvals VALUES (?, ?)", key, text)

    def held(self) -> list[Pending]:
        """All questions that were ever held, oldest first."""
        contents = [json.loads(text) for (text,) in self._database.rows("SELECT text FROM approvals")]
        read = [Pending(**{**one, "rules": tuple(one.get("rules", ()))}) for one in contents]
        return sorted(read, key=lambda one: one.time)

    def waiting(self) -> list[Pending]:
        """Those on which nobody has decided."""
        return [one for one in self.held() if not one.decision]

    def chosen(self, begins: str) -> Pending:
        """The one waiting question whose digest begins so."""
        waiting = self.waiting()
        found = [one for one in waiting if one.digest.startswith(begins)]
        if len(found) > 1 and len({one.digest for one in found}) == 1:
            found = found[:1]  # the same, asked in several runs: the oldest first
        if len(found) != 1:
            known = ", ".join(one.name for one in waiting) or "none"
            raise ConfigError(f"no single waiting answer begins with {begins!r}; waiting: {known}")
        return found[0]

    # runs

    def note_run(self, called: CalledRun) -> None:
        """Remember what a roll call told of a run; inside `changes`. What a person said of it before stays."""
        before = self.run(called.run)
        text = json.dumps(asdict(replace(called, rest_by=before.rest_by if before else "")))
        self._database.run("INSERT OR REPLACE INTO called_runs VALUES (?, ?)", called.run, text)

    def run(self, run: str) -> CalledRun | None:
        """What is known of a run."""
        rows = self._database.rows("SELECT text FROM called_runs WHERE run = ?", run)
        return next((CalledRun(**json.loads(text)) for (text,) in rows), None)

    def runs(self) -> list[CalledRun]:
        """All runs of which a roll call told, oldest first."""
        rows = self._database.rows("SELECT text FROM called_runs")
        return sorted((CalledRun(**json.loads(text)) for (text,) in rows), key=lambda one: one.time)

    def approve_rest(self, run: str, who: str) -> None:
        """A person's word that whatever a run still asks is approved; inside `changes`."""
        known = self.run(run)
        if known is None:
            raise ConfigError("no roll call told of this run, so only single answers of it can be approved")
        text = json.dumps(asdict(replace(known, rest_by=who)))
        self._database.run("INSERT OR REPLACE INTO called_runs VALUES (?, ?)", run, text)

    def who_agreed(self, run: str) -> str:
        """Who approved the rest of a run, or runs such as this in advance; empty if nobody did."""
        known = self.run(run)
        if known is None:
            return ""
        if known.rest_by:
            return f"{known.rest_by}, for the rest of the run"
        return next((f"{one.who}, in advance: {one}" for one in self.standing() if one.covers(known)), "")

    # in advance

    def standing(self) -> list[StandingApproval]:
        """What is allowed in advance."""
        rows = self._database.rows("SELECT text FROM standing_approvals ORDER BY method, purpose")
        return [StandingApproval(**json.loads(text)) for (text,) in rows]

    def allow(self, approval: StandingApproval) -> None:
        """Allow runs in advance; inside `changes`."""
        statement = "INSERT OR REPLACE INTO standing_approvals VALUES (?, ?, ?)"
        self._database.run(statement, approval.method, approval.purpose, json.dumps(asdict(approval)))

    def withdraw(self, approval: StandingApproval) -> None:
        """No longer allow them; inside `changes`."""
        statement = "DELETE FROM standing_approvals WHERE method = ? AND purpose = ?"
        self._database.run(statement, approval.method, approval.purpose)


def standing_approval(method: str, purpose: str, who: str, time: str, known: Iterable[str]) -> StandingApproval:
    """A word in advance that makes sense; `known` are the names of methods."""
    method, purpose = method.strip(), purpose.strip()
    if not method and not purpose:
        raise ConfigError("say for which method or which purpose; to be asked about nothing, serve without --approve")
    names = sorted(known)
    if method and method not in names:
        raise ConfigError(f"there is no method {method!r}{did_you_mean(method, names)}")
    return StandingApproval(method=method, purpose=purpose, who=who, time=time)
