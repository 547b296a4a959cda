"""The one door of a site: whatever leaves it, leaves here.

Serving a run, contributing to a ledger, erasing, previewing, checking and resampling all come this way, in this order:

1. rows that were erased are struck out;
2. rows with gaps, beyond the site's own limit, of rare combinations or too large a part are left out;
3. the edition: the rows as they are, or as they were, so that no difference tells few persons;
4. the rules of disclosure, by what ever left before about these rows;
5. the sums;
6. the budget, and a person's approval where the site asks for it;
7. the log and the edition, on the disk;
8. out.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from fedrcd.data.federation import Federation
from fedrcd.data.repeated import most_repeated
from fedrcd.data.rows import Chunk, Converted, count_rows, is_complete
from fedrcd.data.table import Table
from fedrcd.errors import DataError, FedrcdError, FileError, StatisticError
from fedrcd.federation.masking.site_run import RunAborted, RunRefused
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.requests import SUMS
from fedrcd.federation.messages.roll_call import LeftOutReason
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.approvals import APPROVED, REFUSED, Pending
from fedrcd.federation.site.cell_counts import without_rare_cells
from fedrcd.federation.site.chosen_moments import beside_own
from fedrcd.federation.site.disclosure import allowance, check_budget, check_question, family_of, is_implied
from fedrcd.federation.site.dominance import without_dominant_rows
from fedrcd.federation.site.editions.choosing import EditionChoice, EditionChooser, Inquiry
from fedrcd.federation.site.editions.chosen_rows import BlockRows, Chosen
from fedrcd.federation.site.editions.exposure import Exposure, exposures
from fedrcd.federation.site.editions.making import EditionMaker
from fedrcd.federation.site.editions.row_marks import is_among
from fedrcd.federation.site.editions.tables import Edition
from fedrcd.federation.site.log import ANSWERED, LogEntry
from fedrcd.federation.site.noise_rules import loss_spent, require_loss
from fedrcd.federation.site.own_question import Compared, compared_with_own
from fedrcd.federation.site.rule_context import RuleContext
from fedrcd.federation.site.secret import group_key
from fedrcd.federation.site.store import FILL, NOW, Store
from fedrcd.federation.site.trimming import leaving_tag, other_trim, trimmed
from fedrcd.graphs.past_names import earlier
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.in_process import Within, after_own, own_frame
from fedrcd.protocol.questions import Question
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.wire import digest_of, from_bytes, to_bytes
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.frame import Frame
from fedrcd.typing import BoolMatrix

LEDGER = "ledger"
"""In place of a federation's digest, in the log: what left was put into a ledger."""

REPEATED = "repeated"
"""The outcome of a question whose answer was given before: the same bytes leave again."""


class Occasion(NamedTuple):
    """Why a question is asked: the run and round, its digest and that of the federation file, who holds what."""

    run: str
    round: int
    digest: str
    layout: Layout | None
    federation: str = ""
    rejoins: bool = False
    """Whether a block that was taken out comes back with it."""
    masked: bool = False
    """Whether the sums go under masks before they leave."""
    replayed: bool = False
    """Whether the site worked the question out itself, from totals that it added up."""
    within: Within = "none"
    """Whether rows are expressed by moments of their own before they are summed."""
    noise_parts: int = 1
    """How many sites add noise of which nobody else knows."""
    editions: str = ""
    """Digest of the editions of all sites, where sums of all sites are seen together alone."""

    def names(self, block: str) -> str:
        """By what an answer about a block is kept."""
        return " ".join(filter(None, (self.digest, self.editions, block)))


class Released(NamedTuple):
    """What left about every block of rows, None where it has nothing to say; `version` is the label of the editions."""

    version: str
    blocks: tuple[tuple[str, Any], ...]


class Companion(Protocol):
    """Something that is done with an answer, in the transaction that writes it down, or not at all."""

    def before(self, choice: EditionChoice) -> None:
        """Is told which rows were chosen, before they are an edition."""
        ...

    def after(self, released: list[Released], editions: Sequence[Edition]) -> None:
        """Is told what leaves, about which editions."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What the door of a site knows: whose it is, what it obeys, and what it remembers.

    `group_secret` splits rows that other sites hold columns of, too. `force` and `fill` are a person's word about the
    next edition, as in `editions.Inquiry`. `most_loss` is what all answers with noise may lose of privacy. `dry_run`
    collects what would have been logged: then nothing is written, and nothing may leave.
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
    force: bool = False
    fill: bool = False
    most_loss: float = 0.0
    dry_run: list[LogEntry] | None = None

    def release(
        self,
        questions: Sequence[Question[Any]],
        tables: Sequence[Table],
        occasion: Occasion,
        also: Companion | None = None,
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
        also : Companion
            What it stores is there if and only if the log is.

        Raises
        ------
        Refused
            When a rule forbids it. The refusal is in the log, as is any other failure.
        """
        try:
            again = self._given_again(questions, tables, occasion)
            if again is not None:
                return again
            run = "" if occasion.federation == LEDGER else occasion.run
            with self.chosen(self.asked(questions, run), tables) as choice:
                released, entries = self._judged(questions, choice, occasion)
                if self.approve:
                    who = self._approved_by(questions, choice, occasion, entries)
                    entries = [replace(entry, who=who) for entry in entries]
                if self.dry_run is None:
                    self._write(questions, choice, occasion, released, entries, also)
                else:
                    self.dry_run.extend(entries)
        except Exception as problem:
            self.note(questions, occasion, problem)
            raise
        return released

    @contextmanager
    def chosen(self, asked: Inquiry, tables: Sequence[Table]) -> Iterator[EditionChoice]:
        """The rows that would be answered about: of an edition, or of one to be."""
        self._require_same_trim(tables)
        with self._chooser.choose(self._blocks(tables), asked) as choice:
            yield choice

    def rules_for(self, most: int) -> Rules:
        """The rules for rows of which a subject has so many at most, counted by what is protected."""
        return self.rules.for_units_of(max(most, self.federation.rows_of_unit))

    def most_rows(self, table: Table) -> int:
        """The most rows of one subject in a table, where subjects are protected; takes a pass."""
        if self.federation.unit == "row" or not table.identified:
            return 1
        return max(1, most_repeated(chunk.ids or () for chunk in table.chunks()))

    @property
    def _past(self) -> tuple[int, ...]:
        """The variables of steps before, earliest first."""
        return earlier(len(self.federation.present), self.federation.lags)

    def allow(self, tables: Sequence[Table]) -> None:
        """A person's word that the rows as they are now may be an edition, whoever is told by it."""
        self._chooser.allow(self._blocks(tables))

    @property
    def _chooser(self) -> EditionChooser:
        declared, rules = self.federation.site(self.site).blocks, self.rules_for(1)  # editions count rows of subjects
        return EditionChooser(self.store, rules, self.site, declared, notices=self.dry_run is None)

    def _blocks(self, tables: Sequence[Table]) -> list[BlockRows]:
        return [BlockRows(self.unstruck(table), self.present(table), self._grouping(table.block)) for table in tables]

    def _require_same_trim(self, tables: Sequence[Table]) -> None:
        """Refuse another trim than the newest edition of a block was made with: few rows would seem to be gone."""
        for table in tables:
            tag = self._leaving(table)
            newest = [one for one in self.store.editions.editions() if one.current and one.block == table.block]
            labels = {edition.label for edition in newest}
            told = [one for one in self._history() if one.version in labels and one.outcome == ANSWERED]
            for other in sorted({entry.trim for entry in told} - {tag}):
                raise Refused(Refusal.TRIM, other_trim(table.block, tag, other))

    def asked(self, questions: Sequence[Question[Any]], run: str = "") -> Inquiry:
        """What questions need to know about the rows; a run stays with the editions that it began with."""
        answered = [entry for entry in self._history() if (entry.run, entry.outcome) == (run, ANSWERED) and run]
        answered = [entry for entry in answered if entry.federation != LEDGER]  # whoever asks chooses names of runs
        return Inquiry(
            depth=max(question.depth for question in questions),
            groups=max(question.groups for question in questions),
            labels={entry.block: entry.version for entry in reversed(answered)},
            force=self.force,
            fill=self.fill or bool(self.store.permits(FILL)),
            noisy=all(question.loss is not None for question in questions),
        )

    def present(self, table: Table) -> Table:
        """The rows of a block that take part: neither struck out nor left out."""
        return self.left(table)[0]

    def left(self, table: Table) -> tuple[Table, dict[LeftOutReason, int]]:
        """The rows of a block that take part, and how many complete ones are left out, by the reason."""
        complete, rules = self.unstruck(table).select(is_complete, by_values=True), self.rules
        if rules.suppress:
            rules = self.rules_for(self.most_rows(complete))
        if not count_rows(complete):
            raise DataError(f"{self.site} has no row without missing values")
        kept = complete if self.trim is None else trimmed(complete, self.federation, self.trim)
        out = {} if self.trim is None else {LeftOutReason.TRIM: count_rows(complete) - count_rows(kept)}
        steps: dict[LeftOutReason, Callable[[Table], Table]] = {}
        if rules.dominance < 1:
            steps[LeftOutReason.DOMINANT] = partial(without_dominant_rows, share=rules.dominance)
        if rules.suppress:
            steps[LeftOutReason.RARE] = partial(without_rare_cells, rules=rules)
        before = None
        while before is not kept:  # without the one the other may be again
            before = kept
            for reason, without in steps.items():
                smaller = without(kept)
                out[reason] = out.get(reason, 0) + count_rows(kept) - count_rows(smaller)
                kept = smaller
        if not count_rows(kept):
            raise DataError(f"--suppress and --dominance leave no row of block {table.block!r}; take others")
        return kept, out

    def _leaving(self, table: Table) -> str:
        """Tells how rows of a block are left out."""
        return leaving_tag(table.columns, self.federation, self.trim, self.rules)

    def unstruck(self, table: Table) -> Table:
        """The rows of a block that were not erased."""
        return unstruck(table, self.store)

    def note(self, questions: Sequence[Question[Any]], occasion: Occasion, problem: BaseException) -> None:
        """Log a refusal or a failure; a log that cannot be written must not turn into an answer, nor its text into one.

        A question that waits for a person is not noted: it is asked again and again.
        """
        code = code_of(problem)
        if self.dry_run is not None or code is Refusal.WAITING:
            return
        known = isinstance(problem, FedrcdError)
        lines = "".join(traceback.format_exception(problem, limit=-3)).splitlines()
        detail = str(problem) if known else " | ".join(line.strip() for line in lines)
        try:
            self.store.append(self._entry(question, occasion, code.value, detail=detail) for question in questions)
        except FileError:
            return

    def _history(self) -> list[LogEntry]:
        """What was logged, also by a dry run."""
        return [*self.store.entries(), *(self.dry_run or ())]

    def _given_again(
        self, questions: Sequence[Question[Any]], tables: Sequence[Table], occasion: Occasion
    ) -> list[Released] | None:
        """The bytes that left before, if the run was given this answer already."""
        if len(questions) != 1 or self.dry_run is not None or occasion.federation == LEDGER or occasion.masked:
            return None
        for entry in self.store.entries():
            if entry.federation != LEDGER and (entry.run, entry.digest, entry.outcome) == (
                occasion.run,
                occasion.digest,
                ANSWERED,
            ):
                return self._stored(questions[0], [table.block for table in tables], occasion)
        return None

    def _stored(self, question: Question[Any], blocks: Sequence[str], occasion: Occasion) -> list[Released] | None:
        """What the run was answered to a question, logged once more; None where it is kept no longer."""
        mine = [one for one in self.store.entries() if (one.run, one.digest) == (occasion.run, occasion.digest)]
        labels = {entry.block: entry.version for entry in mine if entry.outcome == ANSWERED}
        found = []
        for block in blocks:
            kept = self.store.editions.answer(labels.get(block, ""), occasion.names(block))
            if kept is None or self.store.sent.is_withdrawn(block):
                return None
            found.append((block, from_bytes(kept, SUMS) if kept else None))
        version = "+".join(labels[block] for block in blocks)
        self.store.append([self._entry(question, occasion, REPEATED, version=version)])
        return [Released(version, tuple(found))]

    def _judged(
        self, questions: Sequence[Question[Any]], choice: EditionChoice, occasion: Occasion
    ) -> tuple[list[Released], list[LogEntry]]:
        """What would leave, and what to log of it."""
        history, exposed = self._history(), exposures(choice)
        released: list[Released] = []
        entries: list[LogEntry] = []
        for question in questions:
            blocks = []
            for one, label, exposure in zip(choice.blocks, choice.labels, exposed, strict=True):
                sums, entry = self._sums(question, one, label, exposure, occasion, [*history, *entries])
                blocks.append((one.rows.block, sums))
                entries += [entry] if entry else []
            released.append(Released(choice.label, tuple(blocks)))
        return released, entries

    def _sums(
        self,
        question: Question[Any],
        chosen: Chosen,
        label: str,
        exposure: Exposure,
        occasion: Occasion,
        history: Sequence[LogEntry],
    ) -> tuple[Any, LogEntry | None]:
        """The sums of one block, and what to log of them; nothing where it has nothing to say."""
        table = chosen.rows
        if self.store.sent.is_withdrawn(table.block, exposure.editions) and not occasion.rejoins:
            raise Refused(Refusal.WITHDRAWN)
        site = LocalSite(self.site, table, table.block)
        if self.threads is not None:
            site = replace(site, threads=self.threads)
        layout = occasion.layout
        if question.each.share(layout, 0 if layout is None else site.place_in(layout)) is None:
            return None, None
        split_tag = ""
        if question.groups:
            if chosen.grouping is None:
                raise Refused(Refusal.SECRET)
            site = replace(site, grouping=chosen.grouping)
            split_tag = chosen.grouping.tag("by identifier" if table.identified else label)
        own = own_frame(table, occasion.within, exact=question.grid is not None)
        declared = self.federation.declared_frame()
        context = RuleContext(
            question=question,
            run=occasion.run,
            variables=self.federation.variables,
            frame=None if declared is None else after_own(declared, occasion.within),
            within=occasion.within,
            pinned=self.store.pinned_frame(),
            rows=table if own is None else Converted(table, table.columns, own.express),
            history=history,
            related=exposure.labels | {label},
            vectors=exposure.vectors,
            rules=self.rules_for(chosen.most),
            block=table.block,
            version=label,
            share=_share_tag(layout, table),
            split=site.split,
            split_tag=split_tag,
            trim=self._leaving(table),
            trusted=self.trusts or occasion.replayed,
            replayed=occasion.replayed,
            past=self._past,
            single_rows=self.federation.single_rows,
            most_loss=self.most_loss,
            noise_parts=occasion.noise_parts,
        )
        check_question(context)
        sums = None if question.loss is None else self._drawn(context, occasion)
        if sums is None:
            sums = replace(site, own=own, random=self.store.surroundings.token_bytes).answer(question, layout)
            if question.loss is not None:
                require_loss(loss_spent(history), question.loss, self.most_loss)
        assert sums is not None  # it has a share
        _require_finite(sums)
        answer = digest_of(sums)
        if question.loss is None:
            check_budget(context, sums.entries, answer)
        masked = occasion.masked or None
        detail = beside_own(context) if self.approve else ""
        kept = _kept(context, sums, answer)
        return sums, self._entry(question, occasion, ANSWERED, masked=masked, detail=detail, **kept)

    def _drawn(self, context: RuleContext, occasion: Occasion) -> Any:
        """The sums whose noise was drawn before: the same question about the same editions is answered by the same."""
        kept = self.store.editions.answer(context.version, occasion.names(context.block))
        return from_bytes(kept, SUMS) if kept else None

    def _write(
        self,
        questions: Sequence[Question[Any]],
        choice: EditionChoice,
        occasion: Occasion,
        released: list[Released],
        entries: Sequence[LogEntry],
        also: Companion | None,
    ) -> None:
        """Write the log, the editions and the answer, all or nothing."""

        def together() -> None:
            if also is not None:
                also.before(choice)
            editions = EditionMaker(self.store).commit(choice)
            self._pin(questions)
            if choice.forced or any(one.edition is None for one in choice.blocks):
                allowed = self.store.permits(NOW)
                self.store.use_permits(one.tag for one in choice.blocks if allowed)
            kept = not occasion.masked or questions[0].loss is not None  # noise is drawn once, masks or not
            if len(released) == 1 and occasion.federation != LEDGER and kept:
                for (block, sums), label in zip(released[0].blocks, choice.labels, strict=True):
                    body = b"" if sums is None else to_bytes(sums)
                    self.store.editions.keep_answer(label, occasion.names(block), body)
            if also is not None:
                also.after(released, editions)

        self.store.append(entries, together)

    def _pin(self, questions: Sequence[Question[Any]]) -> None:
        """Remember the frame in which sums left; moments from which one is made are in none."""
        for question in questions:
            if digest_of(question.frame) != digest_of(Frame.identity(len(question.variables))):
                values = zip(question.frame.centre.tolist(), question.frame.scale.tolist(), strict=True)
                self.store.pin_frame(dict(zip(question.variables, values, strict=True)))

    def _approved_by(
        self, questions: Sequence[Question[Any]], choice: EditionChoice, occasion: Occasion, entries: Sequence[LogEntry]
    ) -> str:
        """Who approved this question; raises if nobody did, and holds it if nobody was asked yet."""
        version, approvals = " ".join(entry.version for entry in entries), self.store.approvals
        known = approvals.decision(occasion.digest, version, occasion.run)
        if known is not None and known.decision == APPROVED:
            return known.who
        if known is not None and known.decision == REFUSED:
            raise Refused(Refusal.APPROVAL)
        compared = self._compared(questions, occasion)
        agreed = approvals.who_agreed(occasion.run) if compared.is_own or self.trusts else ""
        if not agreed:
            if known is None:
                approvals.hold(self._pending(questions, choice, occasion, entries, compared))
            raise Refused(Refusal.WAITING)
        return agreed

    def _compared(self, questions: Sequence[Question[Any]], occasion: Occasion) -> Compared:
        """What the site's own copy of the method says to questions."""
        if occasion.federation == LEDGER:
            return Compared(True, "this site asks itself, for what the ledger stores")
        if occasion.masked:
            return Compared(True, "this site worked it out itself, from the plan that all sites signed")
        run = self.store.approvals.run(occasion.run)
        return compared_with_own(questions[0], self.federation, occasion.layout, run)

    def _pending(
        self,
        questions: Sequence[Question[Any]],
        choice: EditionChoice,
        occasion: Occasion,
        entries: Sequence[LogEntry],
        compared: Compared,
    ) -> Pending:
        """What a person has to know of questions to decide on them."""
        numbers, rows = sum(entry.numbers for entry in entries), sum(entry.rows for entry in entries)
        history, run = self._history(), self.store.approvals.run(occasion.run)
        in_ledger = occasion.federation == LEDGER
        budgets = [
            allowance(history, exposure.vectors, label, self._base_budget(one))
            for one, label, exposure in zip(choice.blocks, choice.labels, exposures(choice), strict=True)
        ]
        least = min(budgets, key=lambda one: one.left)
        named = [question.rules for question in questions]
        named += [question.replay_rules for question in questions if occasion.replayed]
        return Pending(
            digest=occasion.digest,
            time=self.store.now(),
            run=occasion.run,
            round=occasion.round,
            question=("under masks: " if occasion.masked else "")
            + "; ".join(question.describe() for question in questions),
            numbers=numbers,
            numbers_per_row=numbers / max(rows, 1),
            version=" ".join(entry.version for entry in entries),
            detail="; ".join(entry.detail for entry in entries if entry.detail),
            title=run.title if run else "A contribution to a ledger" if in_ledger else "",
            purpose=run.purpose if run else "to keep the coordinator's ledger up to date" if in_ledger else "",
            method=run.method if run else "",
            rows=rows,
            rules=tuple(sorted({name for names in named for name in names or ()})),
            spent=least.spent,
            allowed=least.allowed,
            is_own=compared.is_own,
            compared=compared.words,
        )

    def _base_budget(self, one: Chosen) -> int:
        """How many numbers may leave about some rows without a person's word."""
        return self.rules_for(one.most).budget(count_rows(one.rows), len(one.rows.columns))

    def _grouping(self, block: str) -> Grouping | None:
        """How the rows of a block are split: by a secret of this site's own, or one it shares with those it must."""
        shared = sum(block in site.blocks for site in self.federation.sites) > 1
        if shared and not self.group_secret and self.dry_run is None:
            return None
        secret = self.group_secret if shared and self.group_secret else self.store.secret
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


def unstruck(table: Table, store: Store) -> Table:
    """The rows of a block that were neither erased nor left out for good."""
    persons, by_block = store.struck.persons(), store.struck.by_block()
    if not len(persons) and not by_block:
        return table
    if not table.identified:
        raise DataError(f"rows of {table.source} were erased by their identifiers, and the table has none now")

    def stays(chunk: Chunk) -> BoolMatrix:
        ids = chunk.ids or ()
        kept: BoolMatrix = ~is_among(store.marker.of_ids(ids), persons)
        for block, marks in by_block.items():
            kept &= np.array([store.marker.of_id_in_block(block, one) not in marks for one in ids], dtype=bool)
        return kept

    return table.select(stays)


def code_of(problem: BaseException) -> Refusal:
    """The code under which a failure is known to others: its text may hold data."""
    if isinstance(problem, Refused):
        return problem.code
    if isinstance(problem, RunAborted | RunRefused):
        return Refusal.RUN
    return Refusal.DATA if isinstance(problem, DataError | FileError) else Refusal.FAILED


def _kept(context: RuleContext, sums: Any, answer: str) -> dict[str, Any]:
    """What the log keeps of an answer."""
    question = context.question
    basis, derived = question.each.basis, question.each.derived
    return {
        "block": context.block,
        "numbers": sums.entries,
        "rows": context.count,
        "variables": context.p,
        "version": context.version,
        "frame": digest_of(question.frame),
        "clips": question.clips,
        "basis": "" if derived is None else digest_of(derived),
        "sources": basis.sources if basis else None,
        "groups": question.groups,
        "within": context.within_tag,
        "split": context.split_tag,
        "trim": context.trim,
        "family": family_of(context),
        "implied": is_implied(context) or None,
        "answer": answer,
        "loss": question.loss,
    }


def _require_finite(sums: Any) -> None:
    """Refuse sums that overflowed: where they do would tell how large the largest value is."""
    try:
        sums.check()
    except StatisticError as problem:
        raise Refused(Refusal.OVERFLOW, str(problem)) from None
