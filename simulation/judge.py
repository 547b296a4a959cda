"""What must be true whatever happens: a judge that sees what is summed and what leaves, and believes nobody."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.federation.edition_histories import Released as Summed
from tests.federation.edition_histories import told_people

from fedrcd.data.table import Table
from fedrcd.errors import FedrcdError
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.refresh_messages import ContributionReply, LedgerNews, NewsReply
from fedrcd.federation.ledger.verify import verify_ledger
from fedrcd.federation.masking.statements import RollCall
from fedrcd.federation.masking.vectors import Shape
from fedrcd.federation.messages.envelope import is_message, unpack_message
from fedrcd.federation.messages.masked import MaskedAsk, MaskedCallReply, MaskedEndReply, MaskedReply, ReplayAsk
from fedrcd.federation.messages.requests import Reply, unpack_reply, unpack_request
from fedrcd.federation.messages.roll_call import RollCallReply
from fedrcd.federation.site import release
from fedrcd.federation.site.editions.row_marks import is_among
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.masked import REPLIES
from fedrcd.federation.site.release import REPEATED, Door, Occasion, Released
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.wire import Packet, digest_of, to_bytes
from fedrcd.runs.finding import Finding
from fedrcd.statistics.grid import ARITHMETIC

if TYPE_CHECKING:
    from simulation.world import World

LEAST_ROWS = 100
SALT_DIGITS = 64
MASKED = (MaskedAsk, ReplayAsk)
ANSWERS = (RollCallReply, ContributionReply, NewsReply, MaskedCallReply, MaskedReply, MaskedEndReply)
Key = tuple[str, str, str]
"""Site, run and digest of a question."""


@dataclass
class Behind:
    """The rows that were summed for an answer, and the sums before they were masked."""

    rows: dict[str, np.ndarray]
    depth: int
    numbers: int
    plain: bytes = b""
    who: set[str | None] = field(default_factory=set)
    """Whose rows they are, once they left."""


NOTHING = Behind({}, 0, 0)


@dataclass
class Judge:
    """Notes what every site summed and sent, and says what is wrong."""

    world: World
    problems: list[str] = field(default_factory=list)
    releases: list[Summed] = field(default_factory=list)
    people: dict[bytes, str] = field(default_factory=dict)
    forced: set[str] = field(default_factory=set)
    erased: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    behind: dict[Key, Behind] = field(default_factory=dict)
    maybe: dict[Key, Behind] = field(default_factory=dict)
    computing: list[tuple[str, int, np.ndarray]] = field(default_factory=list)
    left: dict[tuple[str, str, str], np.ndarray] = field(default_factory=dict)
    runs: dict[tuple[str, str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """By site, block and digest of sums: in which runs they left."""
    old: dict[str, bytes] = field(default_factory=dict)
    """The salt of the contribution that a site has replaced: the sums of the same rows would be the same."""
    answered: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    spent: dict[str, dict[bytes, dict[bytes, int]]] = field(default_factory=lambda: defaultdict(dict))
    vectors: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    run_keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    statements: set[str] = field(default_factory=set)
    declared: dict[tuple[str, str], int] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    """Sites whose stores are older copies just now."""
    cohorts: dict[str, set[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(set))
    heads: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    contributed: dict[tuple[str, str, int], np.ndarray] = field(default_factory=dict)
    entries: dict[int, str] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    inexact: set[str] = field(default_factory=set)
    """Sites that were trusted to answer without a grid: they go on so."""
    checks: Counter[str] = field(default_factory=Counter)

    def wrong(self, what: str) -> None:
        """Something is not as it must be."""
        if what not in self.problems:
            self.problems.append(what)

    def require(self, check: str, holds: object, what: str) -> None:
        """Count a check; note what is wrong if it does not hold."""
        self.checks[check] += 1
        if not holds:
            self.wrong(f"{check}: {what}")

    # what a site sums

    def begin(self) -> None:
        """A door is about to sum."""
        self.computing.clear()

    def summed(self, key: Key, depth: int, released: list[Released] | None, asked: Any) -> None:
        """A door is done; without `released` it may have been stopped after it wrote."""
        if not self.computing:
            return
        rows = {block: values for block, _, values in self.computing}
        numbers = max((sums.entries for one in released or () for _, sums in one.blocks if sums is not None), default=0)
        found = Behind(rows, depth, numbers)
        if released is None:
            self.maybe[key] = found
            return
        question, occasion = asked
        if occasion.masked:
            shape = Shape.of(question, occasion.layout)
            sums = [part for one in released for _, part in one.blocks if part is not None]
            found.plain = shape.ring.to_bytes(shape.vector(sums))
        self.behind[key] = found

    # what leaves a site

    def sees(self, site: str, request: Packet, reply: Packet) -> str:
        """A reply leaves; in a word, what it is."""
        if is_message(reply):
            message: Any = unpack_message(reply, ANSWERS)
            if message.refusal is not None:
                return f"{type(message).__name__} refused: {message.refusal}"
            if isinstance(message, RollCallReply):
                self.declared |= {(site, one.label): one.rows for one in message.blocks}
            elif isinstance(message, ContributionReply):
                self._contributes(site, message)
            elif isinstance(message, NewsReply):
                self._believes(site, request, message)
            elif isinstance(message, MaskedCallReply):
                self._called(site, message)
            elif isinstance(message, MaskedReply):
                self._masks(site, request, message)
            return type(message).__name__
        answer = unpack_reply(reply)
        if answer.refusal is not None:
            return f"refused: {answer.refusal.value}"
        self._answers(site, request, answer)
        return "answered"

    def _answers(self, site: str, packet: Packet, reply: Reply) -> None:
        world, asked = self.world, unpack_request(packet)
        question = asked.question
        plain = question.each
        in_order = tuple(one for one in world.life.sites if one in asked.cohort)
        fair = (
            asked.site == site
            and asked.federation == world.digest
            and asked.cohort == in_order
            and site in in_order
            and question.variables == world.federation.variables
            and digest_of(question.frame) == digest_of(world.federation.declared_frame())
            and question.grid in ARITHMETIC.values()
            and (world.life.trusting or not plain.needs_trust)
            and question.given is None
        )
        self.require("no rule is bypassed", fair, f"site {site} answered what it must refuse: {question.describe()}")
        if question.grid is None:
            self.inexact.add(site)
        self.require("nothing in clear", world.life.kind != "masked", f"site {site} answered in the clear")
        self.require("withdrawn", site not in self.withdrawn, f"site {site} answered about a block that is out")
        self._released(site, (site, reply.run, reply.digest), dict(reply.blocks))
        self.answered[site].add((reply.run, reply.digest))

    def _contributes(self, site: str, reply: ContributionReply) -> None:
        for signed in reply.items:
            made = signed.contribution
            self.require("nothing in clear", self.world.life.kind != "masked", f"site {site} contributed in the clear")
            run = f"contribution {made.version} of block {made.block}"
            key = site, run, f"{made.configuration} version {made.version} of block {made.block}"
            self._released(site, key, {made.block: next(iter(made.sums.values()))})
            self.contributed[made.site, made.block, made.version] = self._rows(key).get(made.block, np.empty((0, 0)))
            self.answered[site].add(key[1:])
            before = self.world.held.get((site, made.block))
            if before is not None and before != made.to_bytes():
                self.old[site] = before[before.index(b'"salt":"') + 8 :][:SALT_DIGITS]

    def _called(self, site: str, reply: MaskedCallReply) -> None:
        said = RollCall.read(reply.statement)
        known = self.run_keys.setdefault(said.key, (site, said.run))
        self.require("masks", known == (site, said.run), f"sites {known[0]} and {site} used a run key twice")
        self.statements.add(reply.statement)

    def _masks(self, site: str, packet: Packet, reply: MaskedReply) -> None:
        ask: Any = unpack_message(packet, tuple(REPLIES))
        key = site, reply.run, ask.question
        if isinstance(ask, MaskedAsk) and key not in self.vectors:  # what left before is sent again as it was
            said = [RollCall.read(text) for text, _ in ask.roll_calls]
            true = all(text in self.statements for text, _ in ask.roll_calls) and len({one.terms for one in said}) == 1
            true = true and said[0].run == reply.run
            self.require("masks", true, f"site {site} masked after a roll call that was not held")
            self.cohorts[site].add(said[0].cohort)
            told = len(self.cohorts[site]) == 1
            self.require("masks", told, f"site {site} answered in two cohorts whose totals tell a site")
        before = self.vectors.setdefault(key, reply.data)
        self.require("masks", before == reply.data, f"site {site} masked two vectors with one mask")
        same = [known for known, data in self.vectors.items() if known != key and data == reply.data]
        self.require("masks", not same, f"site {site} sent the same masked numbers twice")
        earlier = [known for known in self.vectors if known[:2] == key[:2] and known != key]
        if isinstance(ask, MaskedAsk):
            self.require("masks", not earlier, f"site {site} answered two questions in one round of a run")
        known = self.behind.get(key) or self.maybe.get(key)
        self.require("masks", known is None or known.plain != reply.data, f"site {site} sent its sums without a mask")
        self.world.masked_run = reply.run
        self._released(site, key, None)
        self.answered[site].add(key[1:])

    def _rows(self, key: Key) -> dict[str, np.ndarray]:
        found = self.behind.get(key) or self.maybe.get(key)
        return {} if found is None else found.rows

    def _released(self, site: str, key: Key, sums: dict[str, Any] | None) -> None:
        """Sums of rows leave."""
        self.require("history", site not in self.stale, f"site {site} sent sums from an older copy of its store")
        found = self.behind.get(key) or self.maybe.get(key)
        self.require("log", found is not None, f"site {site} sent sums that it never summed")
        if found is None:
            return
        for block, rows in found.rows.items():
            self.require("rows", len(rows) >= LEAST_ROWS, f"site {site} sent sums of {len(rows)} rows")
            who = self.whose(site, rows)
            found.who |= who
            gone = who & self.erased[site]
            self.require("erased", not gone, f"site {site} sent sums of {len(gone)} erased persons")
            strange = None in who
            self.require("rows", not strange, f"site {site} sent sums of rows that it never had")
            if sums is not None and sums.get(block) is not None:
                same = site, block, digest_of(sums[block])
                self.left[same] = rows
                self.runs[same].add(key[1])
            if site not in self.world.renewed:
                self._spend(site, rows, found.numbers)
        self.releases.append(Summed(site, found.depth, np.concatenate(list(found.rows.values()))))

    def whose(self, site: str, rows: np.ndarray) -> set[str | None]:
        """Whose rows they are; None for those of nobody."""
        return {self.people.get(site.encode() + row.tobytes()) for row in rows}

    def _spend(self, site: str, rows: np.ndarray, numbers: int) -> None:
        """Count what was told about every row: at least the most that left about each set of rows."""
        told = self.spent[site]
        together = rows[np.lexsort(rows.T)].tobytes()
        for row in rows:
            mine = told.setdefault(row.tobytes(), {})
            mine[together] = max(mine.get(together, 0), numbers)
        most = max(sum(told[row.tobytes()].values()) for row in rows)
        allowed = self.world.rules[site].share * rows.size
        self.require("budget", most <= allowed, f"site {site} told {most} numbers about a row, of {allowed:.0f}")

    def _believes(self, site: str, packet: Packet, reply: NewsReply) -> None:
        """A site believes what it is shown of the ledger: nothing of it may be otherwise than before."""
        news, seen = unpack_message(packet, LedgerNews), self.heads[site]
        if news.acknowledged and site in self.old:
            stays = any(self.old[site] in path.read_bytes() for path in self.world.ledger.parent.glob("ledger.db*"))
            self.require("old bytes", not stays, f"what site {site} replaced is in the files of the ledger")
        changed = [one.number for one in news.entries if seen.get(one.number, one.hash) != one.hash]
        self.require("ledger", not changed, f"site {site} believed a ledger that was rewritten")
        longest = max(seen, default=0)
        shown = news.entries[-1].number if news.entries else 0
        self.require("ledger", shown >= longest, f"site {site} believed a ledger that was rolled back")
        seen |= {one.number: one.hash for one in news.entries}
        assert reply.site == site

    # what a coordinator finds

    def found(self, finding: Finding, recorded: list[tuple[str, str, Any, Any]]) -> None:
        """A run ended: its result is that of the rows behind the answers of its sites."""
        world = self.world
        tables: list[Table] = []
        for site in finding.sites:
            rows = self._behind_run(site, recorded)
            if rows is None:
                return
            for block, values in rows.items():
                tables.append(Table(values, site, block, columns=world.federation.variables))
        frame = world.federation.declared_frame()
        transport = in_process(tables, world.federation.variables, frame=frame, grid=ARITHMETIC["exact"])
        direct = run(build(finding.method, **dict(finding.options)).rounds(transport.setting), transport)
        same = direct.B.tobytes() == finding.estimate.B.tobytes() and (direct.order == finding.estimate.order).all()
        self.require("sum", same, f"{finding.method} over {'+'.join(finding.sites)} is not that of their rows")

    def _behind_run(self, site: str, recorded: list[tuple[str, str, Any, Any]]) -> dict[str, np.ndarray] | None:
        """The rows that a site answered a run about; None if its answers were changed on the way."""
        if self.world.life.kind == "masked":
            mine = [key for key in self.vectors if key[0] == site and key[1] == self.world.masked_run]
            self.require("sum", mine, f"a masked run counts site {site}, which did not answer")
            return self._rows(mine[-1]) if mine else None
        rows: dict[str, np.ndarray] = {}
        for name, block, _, sums in recorded:
            if name == site:
                most = self.declared.get((site, block), sums.most_rows)
                self.require("declared", sums.most_rows <= most, f"sums of more rows than site {site} declared count")
                known = self.left.get((site, block, digest_of(sums)))
                if known is None:
                    lied = site in self.world.tainted
                    self.require("sum", lied, f"a run counts sums that site {site} never sent")
                    return None
                asked = any(one.startswith(f"{self.world.run}.") for one in self.runs[site, block, digest_of(sums)])
                self.require("sum", asked or site in self.world.tainted, f"site {site} is counted by an earlier run")
                rows[block] = known
        self.require("sum", rows, f"a run counts site {site}, which did not answer")
        return rows or None

    # what lies on disks

    def looks(self, site: str) -> None:
        """What a site acknowledged is in its store."""
        try:
            with self.world.service(site).store() as store:
                entries = store.entries()
                ids = sorted(self.erased[site])
                kept = is_among(store.marker.of_ids(ids), store.struck.persons())
                runs = [json.loads(str(one)) for (one,) in store._database.rows("SELECT state FROM masked_runs")]
                labels = {one.label for one in store.editions.editions()}
                stored = {str(one) for (one,) in store._database.rows("SELECT edition FROM answers")}
                damage = store._database.damage()
        except FedrcdError as problem:
            if "never finished" in str(problem) and not self.answered[site] and not self.erased[site]:
                self.world.begins_anew(site)
                return
            self.wrong(f"durable: the store of site {site} cannot be read: {problem}")
            return
        logged = {(one.run, one.digest) for one in entries if one.outcome in (ANSWERED, REPEATED)}
        lost = self.answered[site] - logged
        self.require("durable", not lost, f"site {site} forgot {len(lost)} answers that left")
        self.require("durable", kept.all(), f"site {site} forgot {len(ids) - int(kept.sum())} erasures")
        self.require("durable", not damage, f"the store of site {site} is damaged: {damage[:1]}")
        heard = self.world.heard_masked.get(site)
        if heard is not None:
            over = [one for one in runs if one["expires"] <= heard and (one["secret"] or one["answer"])]
            self.require("masks", not over, f"site {site} keeps keys of {len(over)} runs that are over")
        used = [one for one in runs if one["secret"] and any(key[:2] == (site, one["run"]) for key in self.vectors)]
        self.require("masks", not used, f"site {site} keeps keys of masks that it has used")
        gone = {
            one.version
            for one in entries
            if self.behind.get((site, one.run, one.digest), NOTHING).who & self.erased[site]
        }
        self.require("erased", not gone & stored, f"site {site} keeps answers about erased persons")
        apart = {one.version for one in entries if one.outcome == ANSWERED} - labels
        self.require("durable", not apart, f"site {site} logged answers about editions that it does not know")
        broken = [one.detail for one in entries if one.outcome == "failed" or "damaged" in one.detail]
        self.require("ends", not broken, f"site {site} failed: {broken[:1]}")

    def looks_at_ledger(self) -> None:
        """The ledger verifies, holds what it acknowledged, and its sums are those of the rows that were contributed."""
        world = self.world
        for problem in verify_ledger(world.ledger, surroundings=world.edges.of("coordinator")):
            self.wrong(f"ledger: {problem}")
        with Ledger.open(world.ledger, surroundings=world.edges.of("coordinator")) as ledger:
            hashes = {entry.number: entry.hash for entry in ledger.entries}
            lost = [number for number, text in self.entries.items() if hashes.get(number) != text]
            self.require("durable", not lost, f"the ledger forgot entries {lost}")
            self.entries = hashes
            standings, pooled = ledger.roster.active(), ledger.pooled()
        if not standings:
            return
        tables = []
        for one in standings:
            rows = self.contributed.get((one.site, one.block, one.version))
            self.require("ledger", rows is not None, f"version {one.version} of site {one.site} was never sent")
            if rows is None or not rows.size:
                return
            tables.append(Table(rows, one.site, one.block, columns=world.federation.variables))
        frame = world.federation.declared_frame()
        transport = in_process(tables, world.federation.variables, frame=frame, grid=ARITHMETIC["exact"])
        same = to_bytes(transport.pool(transport.setting.tensor())) == to_bytes(pooled["tensor"])
        self.require("sum", same, "the sums in the ledger are not those of the rows that were contributed")

    def ends(self) -> None:
        """What all answers together tell."""
        for problem in told_people(self):  # type: ignore[arg-type]
            self.wrong(f"differences: {problem}")
        self.checks["differences"] += 1


@contextmanager
def watching(judge: Judge) -> Iterator[None]:
    """Whatever is summed at a door is seen by the judge."""
    answer, released = LocalSite.answer, release.Door.release
    within: list[int] = []

    def note(self: LocalSite, question: Any, layout: Any = None) -> Any:
        if not within:
            values = np.concatenate([chunk.values for chunk in self.rows.chunks()])
            judge.computing.append((self.block, question.depth, values))
        within.append(1)
        try:
            return answer(self, question, layout)
        finally:
            within.pop()

    def through(self: Door, questions: Any, tables: Any, occasion: Occasion, *more: Any, **also: Any) -> Any:
        judge.begin()
        key = self.site, occasion.run, occasion.digest
        depth = max(one.depth for one in questions)
        done: list[Released] | None = None
        try:
            done = released(self, questions, tables, occasion, *more, **also)
        finally:
            judge.summed(key, depth, done, (questions[0], occasion))
        return done

    LocalSite.answer, release.Door.release = note, through  # type: ignore[method-assign]
    try:
        yield
    finally:
        LocalSite.answer, release.Door.release = answer, released  # type: ignore[method-assign]
