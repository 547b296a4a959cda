"""A site's part in the roll call: it goes through the run that is planned, on its own rows, and lets nothing out.

The door judges every question of the plan as it would in the run, budget included. In a method of several rounds the
later questions depend on what all sites answer; here they follow from this site's own rows, which is enough to know how
many numbers they ask for and under which rules they fall. A site that lacks columns goes as far as it can alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fedrcd.data.rows import count_rows, is_complete
from fedrcd.data.survey import few_levels
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from fedrcd.federation.messages.printable import printable
from fedrcd.federation.messages.refusals import Refusal, Refused
from fedrcd.federation.messages.roll_call import (
    PROGRAM,
    DeclaredBlock,
    LeftOutReason,
    LeftOutShare,
    Plan,
    RollCallReply,
    RollCallRequest,
    bound_on,
)
from fedrcd.federation.site.approvals import CalledRun
from fedrcd.federation.site.log import ANSWERED, CALLED, UNLIKE, LogEntry
from fedrcd.federation.site.noise_rules import loss_spent, require_loss, require_offered
from fedrcd.federation.site.own_question import parts_of
from fedrcd.federation.site.preview import PreviewTransport, ask_checks, estimated, frame_here
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.unit_check import UnlikeColumn, unlike_columns
from fedrcd.methods.auto import AUTO
from fedrcd.methods.registry import PRIVATE
from fedrcd.methods.settings import DELTA, EPSILON
from fedrcd.methods.skeleton import Parts
from fedrcd.protocol.in_process import WITHIN, Within, after_own
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.few_levels import FEW_LEVELS
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.privacy_loss import loss_within

SEPARATOR = ", "
"""Between the codes of an entry of the log."""


@dataclass(frozen=True, slots=True)
class RollCallAnswer:
    """What a site answers to the roll call of one run."""

    door: Door
    tables: Sequence[Table]
    request: RollCallRequest
    layout: Layout | None

    def reply(self) -> RollCallReply:
        """What the run would meet here; it is in the log before this returns."""
        plan, request = self.request.plan, self.request
        if plan.method in PRIVATE:
            return self._of_noise()
        quiet = replace(self.door, dry_run=[], approve=False)
        within, frame = _within(plan), frame_here(quiet, self.tables)
        federation = quiet.federation
        setting = Setting(
            federation.variables, after_own(frame, within), self.layout, grid=_grid(plan), past=federation.lags
        ).knowing(None)
        transport = PreviewTransport(quiet, self.tables, setting, goes_on=False, within=within)
        estimate = estimated(transport, _parts(plan), plan.groups)
        refused = self._refusal(transport)
        if estimate is not None and plan.check:
            ask_checks(transport, estimate)
        no_checks = self._refusal(transport) if refused is None else None
        unlike, few = self._odd_columns(quiet, transport)
        entries = list(self._entries(_answered(quiet), unlike, refused))
        self.door.store.append(entries, self._note_run)
        blocks = tuple(
            DeclaredBlock(
                one.block,
                one.version,
                bound_on(one.rows),
                _parsed(one.detail),
                _codes(unlike[one.block]),
                few[one.block],
            )
            for one in entries
            if one.outcome == CALLED
        )
        later, now = (None if one is None else one.code.value for one in (no_checks, refused))
        return RollCallReply(self.door.site, request.run, request.digest, PROGRAM, blocks, checks=later, refusal=now)

    def _note_run(self) -> None:
        """Remember what the run is for, and how it was planned; in the transaction of the log."""
        request, store = self.request, self.door.store
        plan = {**asdict(request.plan), "options": dict(request.plan.options)}
        title, purpose = (printable(text) for text in (request.title, request.purpose))
        called = CalledRun(
            run=request.run, time=store.now(), method=request.plan.method, title=title, purpose=purpose, plan=plan
        )
        store.approvals.note_run(called)

    def _of_noise(self) -> RollCallReply:
        """What a run under noise would meet here: nothing that is said depends on rows, but for labels of editions."""
        request, federation = self.request, self.door.federation
        quiet = replace(self.door, dry_run=[], approve=False)
        frame = federation.declared_frame()
        if frame is None or _within(request.plan) != "none" or request.plan.groups or request.plan.check:
            raise Refused(Refusal.PLAN)
        setting = Setting(federation.variables, frame, self.layout, grid=_grid(request.plan))
        question = next(_parts(request.plan).rounds(setting))
        options = request.plan.options
        loss = loss_within(options.get(EPSILON, 1.0), options.get(DELTA, 1e-6))  # type: ignore[arg-type]
        with quiet.chosen(quiet.asked([question]), self.tables) as choice:
            labels = dict(zip((one.rows.block for one in choice.blocks), choice.labels, strict=True))
        history = self.door.store.entries()
        require_offered(self.door.most_loss, history)
        if not self._begun(history, set(labels.values())):
            require_loss(loss_spent(history), loss, self.door.most_loss)
        told = [self._entry(CALLED, block=block, version=label) for block, label in labels.items()]
        self.door.store.append(told, self._note_run)
        about = {block.label: block.rows for block in federation.blocks}
        blocks = tuple(DeclaredBlock(block, label, bound_on(max(about[block], 1))) for block, label in labels.items())
        return RollCallReply(self.door.site, request.run, request.digest, PROGRAM, blocks)

    def _begun(self, history: Sequence[LogEntry], labels: Collection[str]) -> bool:
        """Whether this plan was gone through about these editions, as far as it went: what was drawn costs nothing."""
        about = [one for one in history if one.version in labels]
        runs = {one.run for one in about if one.outcome == ANSWERED}
        return any((one.outcome, one.digest) == (CALLED, self.request.digest) and one.run in runs for one in about)

    def _odd_columns(
        self, quiet: Door, transport: PreviewTransport
    ) -> tuple[Mapping[str, list[UnlikeColumn]], Mapping[str, tuple[str, ...]]]:
        """By block, in the edition that would be answered about: columns that do not fit their frame; of few levels."""
        if not _answered(quiet):
            return {}, {}
        with quiet.chosen(quiet.asked(transport.questions[:1]), self.tables) as choice:
            unlike = {one.rows.block: list(unlike_columns(one.rows, self.door.federation)) for one in choice.blocks}
            return unlike, {one.rows.block: tuple(few_levels(one.rows, FEW_LEVELS)) for one in choice.blocks}

    def _refusal(self, transport: PreviewTransport) -> Refused | None:
        """What the door refused so far, if the run would meet it."""
        refused = transport.refusals[0] if transport.refusals else None
        if refused is not None and refused.code is Refusal.BUDGET and self._is_repeated(transport):
            return None
        return refused

    def _is_repeated(self, transport: PreviewTransport) -> bool:
        """Whether this plan was gone through so far about these editions: the same answers cost nothing again."""
        log, labels = self.door.store.entries(), {entry.version for entry in _answered(transport.door)}
        questions = len(transport.releases) + 1
        for call in log:
            if (call.outcome, call.digest) == (CALLED, self.request.digest) and call.version in labels:
                answered = {one.digest for one in log if (one.run, one.outcome) == (call.run, ANSWERED)}
                if len(answered) >= questions:
                    return True
        return False

    def _entries(
        self, told: Sequence[LogEntry], unlike: Mapping[str, list[UnlikeColumn]], refused: Refused | None
    ) -> Iterator[LogEntry]:
        """What is logged of the roll call: every block that would be answered about, what is odd, and a refusal."""
        seen: set[str] = set()
        for entry in told:
            if entry.block in seen:
                continue
            seen.add(entry.block)
            [table] = [one for one in self.tables if one.block == entry.block]
            codes = self._left_out(table, entry.version)
            yield self._entry(CALLED, block=entry.block, rows=entry.rows, version=entry.version, detail=codes)
            for one in unlike[entry.block]:
                yield self._entry(UNLIKE, block=entry.block, version=entry.version, detail=one.explanation)
        if refused is not None:
            yield self._entry(refused.code.value, detail=str(refused))

    def _left_out(self, table: Table, label: str) -> str:
        """Why rows are left out, coarsely; what was said of an edition once is said of it again."""
        for entry in self.door.store.entries():
            if (entry.outcome, entry.version, entry.block) == (CALLED, label, table.block):
                return entry.detail
        unstruck = self.door.unstruck(table)
        whole, complete = count_rows(unstruck), count_rows(unstruck.select(is_complete))
        lost = {LeftOutReason.GAPS: whole - complete, **self.door.left(table)[1]}
        return SEPARATOR.join(f"{reason}={LeftOutShare.of(rows, whole)}" for reason, rows in lost.items() if rows)

    def _entry(self, outcome: str, **more: Any) -> LogEntry:
        request = self.request
        return LogEntry(
            time=self.door.store.now(),
            run=request.run,
            round=0,
            federation=request.federation,
            digest=request.digest,
            question=f"the roll call of a run of {request.plan.method}",
            outcome=outcome,
            title=request.title,
            purpose=request.purpose,
            **more,
        )


def _answered(quiet: Door) -> list[LogEntry]:
    """What would have been logged as answered."""
    return [entry for entry in quiet.dry_run or () if entry.outcome == ANSWERED]


def _parts(plan: Plan) -> Parts[Any]:
    """The method of a plan."""
    try:
        return parts_of(plan.method, dict(plan.options), plan.groups)
    except (ConfigError, TypeError) as problem:
        raise Refused(Refusal.PLAN, str(problem)) from None


def _within(plan: Plan) -> Within:
    """How rows will be expressed; where that is found out, as if sites did not differ."""
    if plan.within == AUTO:
        return "none"
    for one in WITHIN:
        if plan.within == one:
            return one
    raise Refused(Refusal.PLAN, "the plan expresses rows in a way that is not known here")


def _grid(plan: Plan) -> Any:
    if plan.arithmetic not in ARITHMETIC:
        raise Refused(Refusal.PLAN, "the arithmetic of the plan is not known here")
    return ARITHMETIC[plan.arithmetic]


def _codes(columns: Sequence[UnlikeColumn]) -> tuple[tuple[str, str], ...]:
    """What others are told of columns that do not fit."""
    return tuple((one.name, one.mismatch.value) for one in columns)


def _parsed(detail: str) -> tuple[tuple[str, str], ...]:
    """Reasons and shares in an entry of the log."""
    codes = [code.partition("=") for code in detail.split(SEPARATOR) if code]
    return tuple((reason, share) for reason, _, share in codes)
