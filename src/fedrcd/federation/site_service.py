"""A site of a federation: reads its table, checks its rules, keeps its log, answers; no word of a network."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedrcd.data.federation import Federation, SiteEntry
from fedrcd.data.labelled import open_tables
from fedrcd.data.site_tables import site_tables
from fedrcd.errors import ConfigError, DataError, FileError, ProtocolError
from fedrcd.federation.approvals import Approvals, Pending
from fedrcd.federation.block_answer import answer_block
from fedrcd.federation.messages import (
    Agreement,
    Reply,
    Request,
    pack_reply,
    read_agreement,
    unpack_request,
)
from fedrcd.federation.refusals import Refusal, Refused
from fedrcd.federation.rules import Case, Rules
from fedrcd.federation.secret import group_key, read_secret, write_secret
from fedrcd.federation.site_log import ANSWERED, Entry, SiteLog, now
from fedrcd.federation.trimming import trim_block, trim_tag
from fedrcd.federation.words import describe
from fedrcd.protocol.embedded import LocalBlock, complete_rows
from fedrcd.protocol.groups import GroupedQuestion, Grouping
from fedrcd.protocol.site import TableSite
from fedrcd.protocol.wire import Packet
from fedrcd.statistics.coverage import Layout
from fedrcd.statistics.frame import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What a site process needs to know; `fedrcd site serve` writes it, every process reads it.

    Parameters
    ----------
    name : str
        The site's name in the federation file.
    federation, data : str
        Paths of the federation file and of the site's table.
    state : str
        Folder of the site's log, its secret and its approvals.
    approve : bool
        Whether every answer waits for a person.
    deadline : float
        Seconds after which a question is given up.
    rules : Rules
        The rules of disclosure.
    group_secret : str
        Path of a secret by which rows are split into groups, for sites that hold columns of the same rows: they must
        have the same. Others use one of their own.
    trim : float, optional
        Leave out rows with a value more than this many scales of the declared frame from its centre.
    """

    name: str
    federation: str
    data: str
    state: str
    approve: bool = False
    deadline: float = 300.0
    rules: Rules = field(default_factory=Rules)
    group_secret: str = ""
    trim: float | None = None

    def __post_init__(self) -> None:
        if self.trim is not None and not 0 < self.trim < math.inf:
            raise ConfigError(f"trim must be a number above 0, got {self.trim!r}")
        if not self.deadline > 0:
            raise ConfigError(f"deadline must be above 0 seconds, got {self.deadline!r}")
        for one in fields(Rules):
            least, given = one.default, getattr(self.rules, one.name)
            stricter = given <= least if one.name in {"share", "checks"} else given >= least
            if not stricter:
                raise ConfigError(f"the rule {one.name!r} may only be made stricter than {least}, got {given}")

    def write(self, path: Path) -> None:
        """Write them to a file that only the owner can read."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        except OSError as problem:
            raise FileError(f"cannot write {path}: {problem.strerror}") from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SiteSettings:
        """The settings in a file."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(**{**content, "rules": Rules(**content["rules"])})
        except (OSError, ValueError, TypeError, KeyError):
            raise FileError(f"cannot read the settings of a site in {path}; run `fedrcd site serve` again") from None


@dataclass(frozen=True, slots=True)
class SiteService:
    """Answers requests under the rules of a site."""

    settings: SiteSettings

    @property
    def log(self) -> SiteLog:
        """The record of what left."""
        return SiteLog(Path(self.settings.state) / "log.jsonl")

    @property
    def approvals(self) -> Approvals:
        """Answers that wait for a person."""
        return Approvals(Path(self.settings.state) / "approvals")

    def respond(self, packet: Packet) -> Packet:
        """The reply to a request, whatever it is: sums, or a fixed code; the text of no exception leaves."""
        try:
            request = unpack_request(packet)
        except ProtocolError:
            return pack_reply(Reply("", "", self.settings.name, refusal=Refusal.MESSAGE))
        return pack_reply(self.reply(request))

    def reply(self, request: Request) -> Reply:
        """The reply to a request that was understood; what happened is in the log before this returns."""
        try:
            return self._answer(request)
        except Refused as refused:
            if refused.code is not Refusal.WAITING:
                self._note(request, refused.code, str(refused))
            return self._refuse(request, refused.code)
        except (DataError, FileError) as problem:
            self._note(request, Refusal.DATA, str(problem))
            return self._refuse(request, Refusal.DATA)
        except Exception:  # whatever it is, its text may hold data: it goes into the log here, a fixed code leaves
            self._note(request, Refusal.FAILED, traceback.format_exc(limit=-3))
            return self._refuse(request, Refusal.FAILED)

    def _answer(self, request: Request) -> Reply:
        agreement = read_agreement(self.settings.federation)
        federation = agreement.federation
        if request.federation != agreement.digest:
            raise Refused(Refusal.FEDERATION)
        if request.site != self.settings.name:
            raise Refused(Refusal.NAME)
        cohort = frozenset(request.cohort)
        in_order = tuple(site.name for site in federation.sites if site.name in cohort)
        if request.cohort != in_order or self.settings.name not in in_order:
            raise Refused(Refusal.MESSAGE)
        blocks = open_blocks(federation, self.settings.name, self.settings.data, self.settings.trim)
        version = self._version(blocks)
        with self.log.locked():
            history = self.log.entries()
            answers, entries = [], []
            for block in blocks:
                sums, entry = self._answer_for_block(request, agreement, block, version, history)
                answers.append((block.block, sums))
                entries += [entry] if entry else []
            if self.settings.approve:
                self._require_approval(request, entries, sum(len(block.rows) for block in blocks))
            self.log.append(*entries)
        return Reply(request.run, request.digest, self.settings.name, version, tuple(answers))

    def _answer_for_block(
        self, request: Request, agreement: Agreement, block: LocalBlock, version: str, history: Sequence[Entry]
    ) -> tuple[Any, Entry | None]:
        """The sums of one block, and what to log of them; nothing where it has nothing to say."""
        question, layout = request.question, agreement.layout(request.cohort)
        each = question.each if isinstance(question, GroupedQuestion) else question
        if each.share(layout, _place(layout, block)) is None:
            return None, None
        site = TableSite(block.site, block.rows, block.columns, block.block, ids=block.ids)
        split_tag = ""
        if isinstance(question, GroupedQuestion):
            grouping = self._grouping(agreement.federation, block.block)
            site = replace(site, grouping=grouping)
            split_tag = grouping.tag("by identifier" if block.identified else version)
        case = Case(
            question=question,
            run=request.run,
            variables=agreement.federation.variables,
            frame=declared_frame(agreement.federation),
            columns=block.columns,
            rows=block.rows,
            history=history,
            rules=self.settings.rules,
            block=block.block,
            version=version,
            split=site.split,
            split_tag=split_tag,
            trim=trim_tag(block.columns, agreement.federation, self.settings.trim),
        )
        sums, kept = answer_block(case, site, layout)
        return sums, self._entry(request, ANSWERED, **kept)

    def _require_approval(self, request: Request, entries: Sequence[Entry], rows: int) -> None:
        """Raise unless a person approved this question; hold it if nobody was asked yet."""
        decision = self.approvals.decision(request.digest)
        if decision == "approved":
            return
        if decision == "refused":
            raise Refused(Refusal.APPROVAL)
        if decision is None:
            numbers = sum(entry.numbers for entry in entries)
            self.approvals.hold(
                Pending(
                    digest=request.digest,
                    time=now(),
                    run=request.run,
                    round=request.round,
                    question=describe(request.question),
                    numbers=numbers,
                    numbers_per_row=numbers / max(rows, 1),
                )
            )
        raise Refused(Refusal.WAITING)

    def _version(self, blocks: Sequence[LocalBlock]) -> str:
        """A tag of the rows as they are, keyed with a secret of the site so that nobody else can guess rows by it."""
        state = hmac.new(self._secret(), digestmod=hashlib.sha256)
        for block in blocks:
            state.update(repr((block.block, block.columns, block.rows.shape)).encode())
            state.update(np.ascontiguousarray(block.rows).data)
        return state.hexdigest()[:32]

    def _grouping(self, federation: Federation, block: str) -> Grouping:
        """How the rows of a block are split: by a secret of this site's own, or one it shares with those it must."""
        if sum(block in site.blocks for site in federation.sites) == 1:
            secret = self._secret()
        elif self.settings.group_secret:
            secret = read_secret(Path(self.settings.group_secret))
        else:
            raise Refused(Refusal.SECRET)
        return Grouping(group_key(secret), least=0)  # how many rows a group must have is for the rules to say

    def _secret(self) -> bytes:
        path = Path(self.settings.state) / "secret"
        if not path.exists():
            write_secret(path)
        return read_secret(path)

    def _refuse(self, request: Request, code: Refusal) -> Reply:
        return Reply(request.run, request.digest, self.settings.name, refusal=code)

    def _note(self, request: Request, code: Refusal, detail: str) -> None:
        """Log a refusal; a log that cannot be written must not turn into an answer, nor its text into one."""
        try:
            with self.log.locked():
                self.log.append(self._entry(request, code.value, detail=detail))
        except FileError:
            return

    def _entry(self, request: Request, outcome: str, **more: Any) -> Entry:
        return Entry(
            time=now(),
            run=request.run,
            round=request.round,
            federation=request.federation,
            digest=request.digest,
            question=describe(request.question),
            outcome=outcome,
            **more,
        )


def _place(layout: Layout | None, block: LocalBlock) -> int:
    """Number of a block among the holdings of a layout."""
    if layout is None:
        return 0
    return [(holding.site, holding.block) for holding in layout.holdings].index((block.site, block.block))


def declared_frame(federation: Federation) -> Frame | None:
    """The frame that a federation file declares, if it does for every variable."""
    return federation.declared_frame()


def site_entry(federation: Federation, name: str) -> SiteEntry:
    """What the federation file says of a site."""
    return federation.site(name)


def open_blocks(
    federation: Federation, name: str, data: str | os.PathLike[str], trim: float | None = None
) -> list[LocalBlock]:
    """The complete rows of a site's table, block by block; without those beyond `trim` scales of the declared frame."""
    tables = site_tables(federation, site_entry(federation, name), data)
    opened = [one for table in tables for one in open_tables(table, os.path.basename(data), gaps=True)]
    blocks = [
        LocalBlock(one.site, one.block, one.names, one.values, one.ids, identified=one.ids is not None)
        for one in opened
    ]
    complete = [complete_rows(block) for block in blocks]
    if trim is None:
        return complete
    return [trim_block(block, federation, trim) for block in complete]
