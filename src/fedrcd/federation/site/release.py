"""The one door of a site: whatever leaves it, leaves here.

Serving a run, contributing to a ledger, erasing, previewing, checking and resampling all come this way, in this order:

1. rows whose erasure was carried out are struck out;
2. rows with gaps, and rows beyond the site's own limit, are left out;
3. (the edition: the site answers about the rows as they are now)
4. the rules of disclosure, by what ever left before;
5. the sums;
6. the budget, and a person's approval where the site asks for it;
7. the log, on the disk;
8. out.
"""

from __future__ import annotations

import hashlib
import hmac
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.data.rows import Chunk, count_rows, is_complete
from fedrcd.data.table import Table
from fedrcd.errors import DataError, FileError, StatisticError
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.case import Case
from fedrcd.federation.site.disclosure import check_budget, check_question, family_of, is_implied
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.federation.site.marks import Mark
from fedrcd.federation.site.secret import group_key
from fedrcd.federation.site.store import Pending, Store
from fedrcd.federation.site.trimming import trim_tag, trimmed
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.questions import Question
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.coverage import Layout
from fedrcd.typing import BoolMatrix


class Occasion(NamedTuple):
    """Why a question is asked: the run and round, its digest and that of the federation file, who holds what."""

    run: str
    round: int
    digest: str
    layout: Layout | None
    federation: str = ""
    rejoins: bool = False
    """Whether a block that was taken out comes back with it."""


class Released(NamedTuple):
    """What left about every block of rows, None where it has nothing to say; `version` tags the rows as they are."""

    version: str
    blocks: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What the door of a site knows: whose it is, what it obeys, and what it remembers.

    `group_secret` splits rows that other sites hold columns of, too. `dry_run` collects what would have been logged:
    then nothing is written, and nothing may leave.
    """

    site: str
    federation: Federation
    store: Store
    rules: Rules = field(default_factory=Rules)
    trim: float | None = None
    trusts: bool = False
    approve: bool = False
    group_secret: bytes = b""
    threads: int | None = None
    dry_run: list[LogEntry] | None = None

    def release(
        self,
        questions: Sequence[Question[Any]],
        tables: Sequence[Table],
        occasion: Occasion,
        also: Callable[[list[Released]], None] | None = None,
    ) -> list[Released]:
        """The sums that questions ask of the rows of this site, if every rule allows them to leave.

        Parameters
        ----------
        questions : sequence of Question
            All are answered, or none.
        tables : sequence of Table
            The rows, a table per block.
        occasion : Occasion
            What it is for.
        also : callable
            Is told what leaves while the log is written: what it stores is there if and only if the log is.

        Raises
        ------
        Refused
            When a rule forbids it. The refusal is in the log, as is any other failure.
        """
        try:
            released, entries = self._judged(questions, tables, occasion)
            if self.approve:
                self._require_approval(questions, occasion, entries)
        except Exception as problem:
            self.note(questions, occasion, problem)
            raise
        if self.dry_run is not None:
            self.dry_run.extend(entries)
        else:
            self.store.append(entries, None if also is None else partial(also, released))
        return released

    def present(self, table: Table) -> Table:
        """The rows of a block that take part: neither struck out nor left out."""
        complete = self.unstruck(table).select(is_complete)
        if not count_rows(complete):
            raise DataError(f"{self.site} has no row without missing values")
        return complete if self.trim is None else trimmed(complete, self.federation, self.trim)

    def unstruck(self, table: Table, also: frozenset[Mark] = frozenset()) -> Table:
        """The rows of a block whose erasure was not carried out, nor is by these marks."""
        return unstruck(table, self.store, also)

    def note(self, questions: Sequence[Question[Any]], occasion: Occasion, problem: BaseException) -> None:
        """Log a refusal or a failure; a log that cannot be written must not turn into an answer, nor its text into one.

        A question that waits for a person is not noted: it is asked again and again.
        """
        code = code_of(problem)
        if self.dry_run is not None or code is Refusal.WAITING:
            return
        known = isinstance(problem, Refused | DataError | FileError)
        detail = str(problem) if known else "".join(traceback.format_exception(problem, limit=-3))
        try:
            self.store.append(self._entry(question, occasion, code.value, detail=detail) for question in questions)
        except FileError:
            return

    def _judged(
        self, questions: Sequence[Question[Any]], tables: Sequence[Table], occasion: Occasion
    ) -> tuple[list[Released], list[LogEntry]]:
        """What would leave, and what to log of it."""
        present = [self.present(table) for table in tables]
        version = self._version(present)
        history = [*self.store.entries(), *(self.dry_run or ())]
        released: list[Released] = []
        entries: list[LogEntry] = []
        for question in questions:
            blocks = []
            for table in present:
                sums, entry = self._sums(question, table, occasion, version, [*history, *entries])
                blocks.append((table.block, sums))
                entries += [entry] if entry else []
            released.append(Released(version, tuple(blocks)))
        return released, entries

    def _sums(
        self, question: Question[Any], table: Table, occasion: Occasion, version: str, history: Sequence[LogEntry]
    ) -> tuple[Any, LogEntry | None]:
        """The sums of one block, and what to log of them; nothing where it has nothing to say."""
        if self.store.is_withdrawn(table.block) and not occasion.rejoins:
            raise Refused(Refusal.WITHDRAWN)
        site = LocalSite(self.site, table, table.block)
        if self.threads is not None:
            site = replace(site, threads=self.threads)
        layout = occasion.layout
        if question.each.share(layout, 0 if layout is None else site.place_in(layout)) is None:
            return None, None
        split_tag = ""
        if question.groups:
            grouping = self._grouping(table.block)
            site = replace(site, grouping=grouping)
            split_tag = grouping.tag("by identifier" if table.identified else version)
        case = Case(
            question=question,
            run=occasion.run,
            variables=self.federation.variables,
            frame=self.federation.declared_frame(),
            rows=table,
            history=history,
            rules=self.rules,
            block=table.block,
            version=self._version([table]),
            share=_share_tag(layout, table),
            split=site.split,
            split_tag=split_tag,
            trim=trim_tag(table.columns, self.federation, self.trim),
            trusted=self.trusts,
        )
        check_question(case)
        sums = site.answer(question, layout)
        assert sums is not None  # it has a share
        _require_finite(sums)
        answer = digest_of(sums)
        check_budget(case, sums.entries, answer)
        return sums, self._entry(question, occasion, ANSWERED, **_kept(case, sums, answer))

    def _require_approval(
        self, questions: Sequence[Question[Any]], occasion: Occasion, entries: Sequence[LogEntry]
    ) -> None:
        """Raise unless a person approved this question; hold it if nobody was asked yet."""
        version = " ".join(entry.version for entry in entries)
        decision = self.store.decision(occasion.digest, version)
        if decision == "approved":
            return
        if decision == "refused":
            raise Refused(Refusal.APPROVAL)
        if decision is None:
            numbers, rows = sum(entry.numbers for entry in entries), sum(entry.rows for entry in entries)
            self.store.hold(
                Pending(
                    digest=occasion.digest,
                    time=self.store.now(),
                    run=occasion.run,
                    round=occasion.round,
                    question="; ".join(question.describe() for question in questions),
                    numbers=numbers,
                    numbers_per_row=numbers / max(rows, 1),
                    version=version,
                )
            )
        raise Refused(Refusal.WAITING)

    def _version(self, tables: Sequence[Table]) -> str:
        """A tag of the rows as they are, keyed with a secret of the site so that nobody else can guess rows by it."""
        state = hmac.new(self.store.secret, digestmod=hashlib.sha256)
        for table in tables:
            state.update(repr((table.block, table.columns, (count_rows(table), len(table.columns)))).encode())
            for values, *_ in table.chunks():
                state.update(np.ascontiguousarray(values).data)
        return state.hexdigest()[:32]

    def _grouping(self, block: str) -> Grouping:
        """How the rows of a block are split: by a secret of this site's own, or one it shares with those it must."""
        if sum(block in site.blocks for site in self.federation.sites) == 1:
            secret = self.store.secret
        elif self.group_secret:
            secret = self.group_secret
        elif self.dry_run is not None:
            secret = self.store.secret
        else:
            raise Refused(Refusal.SECRET)
        return Grouping(group_key(secret), least=0)  # how many rows a group must have is for the rules to say

    def _entry(self, question: Question[Any], occasion: Occasion, outcome: str, **more: Any) -> LogEntry:
        return LogEntry(
            time=self.store.now(),
            run=occasion.run,
            round=occasion.round,
            federation=occasion.federation,
            digest=occasion.digest,
            question=_described(question),
            outcome=outcome,
            **more,
        )


def _described(question: Question[Any]) -> str:
    """A question in words; one whose parts make no sense must be logged all the same."""
    try:
        return question.describe()
    except (TypeError, ValueError, IndexError):
        return f"a {type(question).__name__} that makes no sense"


def _share_tag(layout: Layout | None, table: Table) -> str:
    """Tells what of a block a site answers for: nothing where that is all it holds, else who answers before it."""
    if layout is None:
        return ""
    before = []
    for holding in layout.holdings:
        if (holding.site, holding.block) == (table.site, table.block):
            break
        if holding.block == table.block:
            before.append(sorted(holding.columns))
    return hashlib.sha256(repr(before).encode()).hexdigest()[:16] if before else ""


def unstruck(table: Table, store: Store, also: frozenset[Mark] = frozenset()) -> Table:
    """The rows of a block whose erasure was not carried out, nor is by these marks."""
    gone = store.gone(table.block) | also
    if not gone:
        return table
    if not table.identified:
        raise DataError(f"rows of block {table.block!r} were erased by their identifiers, and the table has none now")

    def stays(chunk: Chunk) -> BoolMatrix:
        return np.array([mark not in gone for mark in store.marker.of_ids(table.block, chunk)], dtype=bool)

    return table.select(stays)


def code_of(problem: BaseException) -> Refusal:
    """The code under which a failure is known to others: its text may hold data."""
    if isinstance(problem, Refused):
        return problem.code
    return Refusal.DATA if isinstance(problem, DataError | FileError) else Refusal.FAILED


def _kept(case: Case, sums: Any, answer: str) -> dict[str, Any]:
    """What the log keeps of an answer."""
    question = case.question
    basis = question.each.basis
    return {
        "block": case.block,
        "numbers": sums.entries,
        "rows": case.count,
        "variables": case.p,
        "version": case.version,
        "frame": digest_of(question.frame),
        "clips": question.clips,
        "basis": digest_of(basis.moments) if basis else "",
        "sources": basis.sources if basis else None,
        "groups": question.groups,
        "split": case.split_tag,
        "trim": case.trim,
        "family": family_of(case),
        "implied": is_implied(case) or None,
        "answer": answer,
    }


def _require_finite(sums: Any) -> None:
    """Refuse sums that overflowed: where they do would tell how large the largest value is."""
    try:
        sums.check()
    except StatisticError as problem:
        raise Refused(Refusal.OVERFLOW, str(problem)) from None
