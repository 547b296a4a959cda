"""What a site remembers of masked runs: its state in each, which totals its sums went into, and who agreed to what.

A state is replaced in the transaction of the answer: the secret run key and the masked numbers are never both on the
disk. When a run has ended, only that it did is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from fedrcd.federation.database import Database
from fedrcd.federation.masking.cohorts import Total, total_of, total_text
from fedrcd.federation.masking.site_run import SiteRun, Stage

SCHEMA = (
    "CREATE TABLE masked_runs (run TEXT PRIMARY KEY, terms TEXT NOT NULL, state TEXT NOT NULL, vector BLOB NOT NULL) "
    "WITHOUT ROWID",
    "CREATE TABLE masked_totals (text TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE masked_consents (site TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE masked_results (run TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE accepted_federations (number INTEGER PRIMARY KEY, text TEXT NOT NULL)",
)


class MaskedRuns:
    """The tables of masked runs in the open store of a site."""

    def __init__(self, database: Database) -> None:
        self._database = database
        known = database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'accepted_federations'")
        if not list(known):  # a store from before there were masks
            with database.changes():
                for statement in SCHEMA:
                    database.run(statement.replace("TABLE", "TABLE IF NOT EXISTS"))

    def find(self, run: str) -> tuple[str, SiteRun] | None:
        """The terms of a run and the state of this site in it, if it was called."""
        rows = self._database.rows("SELECT terms, state, vector FROM masked_runs WHERE run = ?", run)
        return next(((str(terms), SiteRun.of(state, bytes(vector))) for terms, state, vector in rows), None)

    def put(self, terms: str, state: SiteRun) -> None:
        """Keep the state of a run, in place of the one before; inside `changes`."""
        statement = "INSERT OR REPLACE INTO masked_runs VALUES (?, ?, ?, ?)"
        kept = "" if state.stage is Stage.ENDED else terms
        self._database.run(statement, state.run, kept, state.text, state.numbers)

    def keep(self, terms: str, state: SiteRun, result: str = "") -> None:
        """Keep the state of a run, and what it found, on the disk before this returns."""
        with self._database.changes():
            self.put(terms, state)
            if result:
                self._database.run("INSERT OR REPLACE INTO masked_results VALUES (?, ?)", state.run, result)

    def results(self) -> dict[str, str]:
        """What runs found that this site replayed, by the number of the run."""
        return {str(run): str(text) for run, text in self._database.rows("SELECT run, text FROM masked_results")}

    def end_expired(self, now: int) -> None:
        """Erase the keys and answers of runs whose time is over."""
        rows = self._database.rows("SELECT state, vector FROM masked_runs WHERE terms <> ''")
        over = [one for one in (SiteRun.of(state, bytes(vector)) for state, vector in rows) if now >= one.expires]
        if over:
            with self._database.changes():
                for state in over:
                    self.put("", state.ended("expired"))

    def accepted(self) -> str:
        """The federation file that people here accepted last, or that was there at first; empty before that."""
        rows = self._database.rows("SELECT text FROM accepted_federations ORDER BY number DESC LIMIT 1")
        return next((str(text) for (text,) in rows), "")

    def accept(self, text: str) -> None:
        """Remember that a federation file is accepted here."""
        with self._database.changes():
            self._database.run("INSERT INTO accepted_federations (text) VALUES (?)", text)

    def totals(self) -> set[Total]:
        """All totals that sums of this site went into under masks."""
        return {total_of(str(text)) for (text,) in self._database.rows("SELECT text FROM masked_totals")}

    def consents(self) -> set[str]:
        """The marks of sites that accepted to be told by differences of totals, whenever they said so."""
        return {str(site) for (site,) in self._database.rows("SELECT site FROM masked_consents")}

    def note(self, totals: Iterable[Total], consents: Iterable[str]) -> None:
        """Remember what an answer goes into, and who agreed; inside `changes`."""
        self._database.run_many(
            "INSERT OR IGNORE INTO masked_totals VALUES (?)", ((total_text(one),) for one in totals)
        )
        self._database.run_many("INSERT OR IGNORE INTO masked_consents VALUES (?)", ((one,) for one in consents))
