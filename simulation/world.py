"""One federation in this process: real code of coordinator and sites, on clocks, disks and a network that are drawn."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.federation.edition_histories import ENDS

from fedrcd.api.membership import membership, withdraw
from fedrcd.cli.site_editions import permit
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import Fault, RetryPolicy, SiteLost
from fedrcd.federation.coordinator.recorded_answers import ANSWERS
from fedrcd.federation.coordinator.refresh import Refreshed
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.refresh_messages import LedgerNews
from fedrcd.federation.messages.envelope import is_message
from fedrcd.federation.messages.requests import federation_digest, pack_request, unpack_reply
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.erasure import strike_rows
from fedrcd.federation.site.service import SiteService, open_door, read_tables
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import FILE, Store
from fedrcd.methods.settings import Settings
from fedrcd.protocol.wire import Packet
from fedrcd.statistics.grid import ARITHMETIC
from simulation import lies
from simulation.disk import Disk, Failing, Killed
from simulation.edges import Edges, key_of
from simulation.events import COORDINATOR, DISKS, Event, Life
from simulation.judge import Judge
from simulation.network import Network

P = 3
NAMES = tuple(f"v{k}" for k in range(P))
POOL, ROWS = 420, (130, 230)
"""People whom a site may ever have, and how many it begins with."""

DAY = 86400.0
ONCE = ("fedrcd-ni", "fedrcd-s", "fedrcd-ni", "fedrcd-t", "fedrcd-sp")
MASKABLE = ("fedrcd-ni", "fedrcd-s", "fedrcd-ni", "fed-direct")
SEVERAL = ("fed-direct", "fedrcd-x", "fedrcd-sx")
SCARCE = 0.12
"""Share of the rows that released numbers may determine, at sites with a small budget."""


class World:
    """A federation in the course of its life."""

    def __init__(self, life: Life, folder: Path) -> None:
        self.life, self.folder = life, folder
        self.rng = np.random.default_rng([life.seed, 0])
        self.edges = Edges(life.seed)
        self.disk = Disk(folder / "machines", lambda n: int(self.rng.integers(n)))
        self.network = Network(self)
        self.story: list[str] = []
        self.coverage: Counter[str] = Counter()
        self.tables: dict[str, pd.DataFrame] = {}
        self.pools: dict[str, pd.DataFrame] = {}
        self.handed: dict[str, SiteSettings] = {}
        self.written: set[str] = set()
        """Sites whose file holds their table as it is."""
        self.copies: dict[str, list[bytes]] = defaultdict(list)
        """Copies of stores, and of the ledger, from before."""
        self.news: dict[str, list[LedgerNews]] = defaultdict(list)
        """What each site was told of the ledger."""
        self.roll_calls: list[tuple[tuple[str, str], ...]] = []
        self.rules = {site: Rules(share=SCARCE if self.rng.random() < 0.4 else 0.5) for site in life.sites}
        self.unfinished: RunPlan | None = None
        self.runs = 0
        self.masked_run = self.run = ""
        self.held: dict[tuple[str, str], bytes] = {}
        """What the ledger held before a refresh."""
        self.tainted: set[str] = set()
        """Sites whose replies were changed on the way since the last run began."""
        self.renewed: set[str] = set()
        self.heard_masked: dict[str, int] = {}
        self.leaving: set[str] = set()
        """Sites that took, or began to take, a block out."""
        self.touched: set[str] = set()
        self.told_entries: dict[str, list[int]] = defaultdict(list)
        self.judge = Judge(self)

    # the beginning

    def begin(self) -> None:
        """The sites have their first rows, and nobody was asked anything."""
        keyed = self.life.kind != "trial"
        sites = tuple(SiteEntry(one, NAMES, (one,), key_of(one)[0] if keyed else "") for one in self.life.sites)
        blocks = tuple(BlockEntry(one, 200) for one in self.life.sites)
        frame = {name: VariableFrame(0.0, 2.0) for name in NAMES}
        self.federation = Federation(NAMES, sites, blocks, frame, trial=not keyed)
        self.digest = federation_digest(self.federation)
        self.file = self.folder / "federation.toml"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_federation(self.file, self.federation)
        for site in (*self.life.sites, COORDINATOR):
            (self.disk.root / site).mkdir(parents=True)
        for k, site in enumerate(self.life.sites):
            if keyed:
                (self.disk.root / site / "key").write_bytes(key_of(site)[1])
            self.pools[site] = _people(site, np.random.default_rng([self.life.seed, 1, k]))
            self.put(site, self.pools[site].iloc[: int(self.rng.integers(*ROWS))])
        self.ledger = self.disk.root / COORDINATOR / "ledger.db"
        self.has_ledger = self.life.kind != "masked"
        if self.has_ledger:
            admitted = {site.name: site.key for site in sites}
            configuration = configure(self.federation, grid=ARITHMETIC["exact"])
            self.configuration = configuration
            surroundings = self.edges.of(COORDINATOR)
            Ledger.create(self.ledger, configuration, admitted, surroundings=surroundings).__exit__()

    def put(self, site: str, table: pd.DataFrame) -> None:
        """The table of a site from now on; whose rows they are is told to the judge."""
        self.tables[site] = table.reset_index(drop=True)
        self.written.discard(site)
        for one, values in zip(table["id"], table[list(NAMES)].to_numpy(float), strict=True):
            if not np.isnan(values).any():
                self.judge.people[site.encode() + values.tobytes()] = one

    # what is told

    def told(self, what: str, where: str = "") -> None:
        """A line of the story, which is also the trace."""
        self.story.append(f"    {where}: {what}" if where else what)

    def covered(self, what: str) -> None:
        """Something happened, and is counted."""
        self.coverage[what] += 1

    @property
    def trace(self) -> str:
        """The digest of all that was told."""
        return hashlib.sha256("\n".join(self.story).encode()).hexdigest()

    # a site

    def settings(self, site: str) -> SiteSettings:
        """How a site is served, with its table as it is now."""
        path = self.folder / f"{site}.parquet"
        if site not in self.written:
            self.tables[site].to_parquet(path, index=False)
            self.written.add(site)
        keyed = self.life.kind != "trial"
        return SiteSettings(
            name=site,
            federation=str(self.file),
            data=str(path),
            state=str(self.disk.root / site),
            rules=self.rules[site],
            key=str(self.disk.root / site / "key") if keyed else "",
            clear=self.life.kind == "keyed",
            trust_coordinator=self.life.trusting,
        )

    def service(self, site: str) -> SiteService:
        """The processes of a site."""
        known = self.handed.get(site)
        if known is None:
            known = self.handed[site] = self.settings(site)
        return SiteService(known, self.edges.of(site))

    def respond(self, site: str, packet: Packet) -> Packet | Fault:
        """What a site replies to a packet; nothing if its process ends meanwhile."""
        self.touched.add(site)
        heard = int(self.edges.now(site).timestamp())
        try:
            reply = self.service(site).respond(packet)
        except Killed:
            self.disk.end(site)
            self.told("is killed", site)
            return Fault.DIED
        except Exception as problem:
            self.judge.wrong(f"ends: site {site} raised {type(problem).__name__}: {problem}")
            return Fault.RAISED
        if self.life.kind == "masked" and is_message(reply) and site not in self.judge.stale:
            self.heard_masked[site] = heard
        what = self.judge.sees(site, packet, reply)
        self.told(f"{what} {_digest(reply)}", site)
        self.covered(what)
        return reply

    def at_door(self, site: str, do: Callable[[Any, Any], object]) -> None:
        """What people of a site do there themselves."""
        self.touched.add(site)
        service = self.service(site)
        with service.store() as store:
            do(open_door(service.settings, self.federation, store), read_tables(self.federation, service.settings))

    def begins_anew(self, site: str) -> None:
        """People delete a store that was never finished, as it says, before anything has left."""
        self.covered("stores never finished")
        for path in (self.disk.root / site).glob(f"{FILE}*"):
            path.unlink()

    # an event

    def happen(self, event: Event) -> None:
        """Let an event happen, and be judged."""
        self.rng = np.random.default_rng([self.life.seed, event.seed])
        self.told(f"{event.kind} {event.site} {' '.join(f'{a}@{b}:{c}' for a, b, c in event.troubles)}")
        self.covered(f"event {event.kind}")
        self.handed.clear()
        self.touched = {event.site}
        self.network.begin(event.troubles)
        for one in event.troubles:
            if one.what in DISKS:
                self.disk.failing[one.machine] = Failing(one.what, one.at)
        try:
            getattr(self, f"do_{event.kind.replace('-', '_')}")(event)
        except Killed as killed:
            self.told("is killed", str(killed))
        except Exception as problem:
            self.judge.wrong(f"ends: {event.kind} raised {type(problem).__name__}: {problem}")
        for machine in (*self.life.sites, COORDINATOR):
            failing = self.disk.failing.get(machine)
            if failing is not None:
                self.touched.add(machine)
            self.disk.end(machine)
        for machine, mode in self.disk.struck:
            self.covered(f"{mode} at {'the coordinator' if machine == COORDINATOR else 'a site'}")
            self.told(f"its disk: {mode}", machine)
        self.disk.struck.clear()
        self.handed.clear()
        for site in sorted(self.touched - {COORDINATOR}):
            self.judge.looks(site)
        if event.kind in ("run", "refresh"):
            self._copy()
        if self.has_ledger and (event.kind == "refresh" or COORDINATOR in self.touched):
            self.judge.looks_at_ledger()

    # rows of a site

    def do_arrive(self, event: Event) -> None:
        """New rows come into a table."""
        site, have = event.site, self.tables[event.site]
        new = self.pools[site][~self.pools[site]["id"].isin([*have["id"], *self.judge.erased[site]])]
        self.put(site, pd.concat([have, new.iloc[: int(self.rng.choice([1, 5, 35, 35, 60]))]]))

    def do_correct(self, event: Event) -> None:
        """Some values of one column are others; now and then they go back to what they were."""
        table, pool = self.tables[event.site].copy(), self.pools[event.site].set_index("id")
        rows = self.rng.permutation(len(table))[: int(self.rng.choice([1, 3, 35, 60]))]
        column = NAMES[int(self.rng.integers(P))]
        if self.rng.random() < 0.3:
            table[column] = pool.loc[table["id"], column].to_numpy()
        else:
            change = self.rng.integers(1, 2**20, len(rows)) / 2.0**20
            table.loc[rows, column] = table.loc[rows, column] + change
        self.put(event.site, table)

    def do_delete(self, event: Event) -> None:
        """Few rows vanish from a table."""
        self._without(event.site, int(self.rng.choice([1, 2, 33])), 110)

    def do_shrink(self, event: Event) -> None:
        """Many do."""
        self._without(event.site, int(self.rng.choice([60, 100])), 40)

    def _without(self, site: str, number: int, least: int) -> None:
        table = self.tables[site]
        if len(table) - number >= least:
            self.put(site, table.drop(index=self.rng.permutation(len(table))[:number].tolist()))

    def do_gap(self, event: Event) -> None:
        """Values are missing."""
        table = self.tables[event.site].copy()
        rows = self.rng.permutation(len(table))[: int(self.rng.choice([1, 2, 31]))]
        table.loc[rows, NAMES[int(self.rng.integers(P))]] = np.nan
        self.put(event.site, table)

    def do_mend(self, event: Event) -> None:
        """They are filled in."""
        table, pool = self.tables[event.site].copy(), self.pools[event.site].set_index("id")
        truth, values = pool.loc[table["id"], list(NAMES)].to_numpy(), table[list(NAMES)].to_numpy()
        table[list(NAMES)] = np.where(np.isnan(values), truth, values)
        self.put(event.site, table)

    def do_erase(self, event: Event) -> None:
        """People of a site have persons erased."""
        site, judge = event.site, self.judge
        there = [one for one in self.tables[site]["id"] if one not in judge.erased[site]]
        chosen = [there[k] for k in self.rng.permutation(len(there))[: int(self.rng.choice([1, 2, 32, 40]))].tolist()]
        try:
            self.at_door(site, lambda door, tables: strike_rows(door, tables, chosen, door.store.today()))
        except FedrcdError as problem:
            self.told(f"erases nobody: {type(problem).__name__}", site)
            return
        judge.erased[site].update(chosen)
        self.covered("erasures")
        if self.rng.random() < 0.5:
            table = self.tables[site]
            self.put(site, table[~table["id"].isin(chosen)])

    def do_wait(self, event: Event) -> None:
        """Days pass."""
        del event
        self.edges.wait(float(self.rng.choice([1, 7, 31])) * DAY)

    def do_clock(self, event: Event) -> None:
        """A clock jumps, or goes right again."""
        machine = event.site if self.rng.random() < 0.7 else COORDINATOR
        self.edges.offsets[machine] = float(self.rng.choice([-40, -3, -0.05, 0, 0, 0.05, 3, 9])) * DAY

    def do_permit(self, event: Event) -> None:
        """People of a site allow what waits."""
        now = bool(self.rng.random() < 0.3)
        with redirect_stderr(StringIO()):
            try:
                self.at_door(event.site, lambda door, tables: permit(door, tables, now=now, fill=not now))
            except FedrcdError as problem:
                self.told(f"permits nothing: {type(problem).__name__}", event.site)
                return
        if now:
            self.judge.forced.add(event.site)

    def do_withdraw(self, event: Event) -> None:
        """A site takes its block out, at the place of the ledger."""
        site = event.site
        self.leaving.add(site)
        surroundings = self.edges.of(site)
        key = self.service(site).settings.key or None
        try:
            with (
                membership(
                    self.federation,
                    site,
                    self.configuration,
                    self.disk.root / site,
                    self.rules[site],
                    key=key,
                    surroundings=surroundings,
                ) as member,
                Ledger.open(self.ledger, surroundings=self.edges.of(COORDINATOR)) as ledger,
            ):
                self.touched.add(COORDINATOR)
                withdraw(member, [site], ledger)
        except FedrcdError as problem:
            self.told(f"withdraws nothing: {type(problem).__name__}", site)
            return
        self.judge.withdrawn.add(site)

    # what is asked

    def policy(self) -> RetryPolicy:
        """How patient the coordinator is."""
        return RetryPolicy(deadline=10.0, give_up_after=60.0, pause=2.0, approval=3600.0)

    def plan(self) -> RunPlan:
        """A new run of any method."""
        self.runs += 1
        masked = self.life.kind == "masked"
        methods = MASKABLE if masked else (*ONCE, *SEVERAL, *SEVERAL) if self.life.trusting else ONCE
        settings = Settings.of(
            methods[int(self.rng.integers(len(methods)))], arithmetic="exact", **({"masked": True} if masked else {})
        )
        return RunPlan(
            run=f"run{self.runs}",
            federation=str(self.file),
            folder=str(self.disk.root / COORDINATOR / "runs" / str(self.runs)),
            settings=settings,
            allow_missing=bool(self.rng.random() < 0.4),
            by_key=False,
            wait=0.0,
            retry_policy=self.policy(),
            trust_coordinator=self.life.trusting,
        )

    def do_run(self, event: Event) -> None:
        """A run of some method."""
        self.conduct(self.plan(), event)

    def do_resume(self, event: Event) -> None:
        """The last run that did not end is taken up again."""
        if self.unfinished is not None:
            self.conduct(self.unfinished, event)

    def conduct(self, plan: RunPlan, event: Event) -> None:
        """The coordinator conducts a run to its end, or is stopped."""
        self.unfinished, self.tainted, self.run = plan, set(), plan.run
        self.touched.add(COORDINATOR)
        recorded: list[tuple[str, str, Any, Any]] = []

        def recorder(site: str, block: str, question: Any, sums: Any) -> None:
            recorded.append((site, block, question, sums))

        conductor = Conductor(plan, self.federation, recorder, lambda _: None, surroundings=self.edges.of(COORDINATOR))
        try:
            finding = conductor.run(self.network, self.life.sites)
        except FedrcdError as problem:
            self.told(f"{plan.settings.method} fails: {type(problem).__name__}: {problem}", COORDINATOR)
            self.covered(f"run fails: {type(problem).__name__}")
            self._require_due(problem, event, plan.settings.method)
            return
        finally:
            self.tainted |= self.network.altered
        self.unfinished = None
        self.told(
            f"{finding.method} over {'+'.join(finding.sites)} finds {_digest_of(finding.estimate.B)}", COORDINATOR
        )
        self.covered(f"finds by {finding.method}")
        self.judge.found(finding, recorded)
        left = (Path(plan.folder) / ANSWERS).exists()
        self.judge.require("durable", not left, "sums of sites lie in the folder of a finished run")

    def _require_due(self, problem: FedrcdError, event: Event, what: str) -> None:
        """A run that meets no fault ends, or a site says by which rule not."""
        if event.troubles or self.network.late:
            return
        refused = isinstance(problem, SiteLost) and problem.refusal is not None
        said = any(one in str(problem) for one in ("refused: ", "masks hide nobody", "start a new run"))
        self.judge.require(
            "ends", refused or said, f"{what} fails without a fault: {type(problem).__name__}: {problem}"
        )

    def do_refresh(self, event: Event) -> None:
        """The ledger is brought up to date."""
        if not self.has_ledger:
            return
        self.judge.old.clear()
        try:
            self.held = self._payloads()
        except FedrcdError as problem:  # a full disk
            self.told(f"the ledger cannot be opened: {type(problem).__name__}", COORDINATOR)
            return
        self.touched.add(COORDINATOR)
        plan = replace(self.plan(), ledger=str(self.ledger), settings=Settings(arithmetic="exact"))
        conductor = Conductor(plan, self.federation, None, lambda _: None, surroundings=self.edges.of(COORDINATOR))
        try:
            refreshed = conductor.refresh(self.network, self.life.sites)
        except FedrcdError as problem:
            self.told(f"refresh fails: {type(problem).__name__}: {problem}", COORDINATOR)
            self.covered(f"refresh fails: {type(problem).__name__}")
            self._require_due(problem, event, "a refresh")
            return
        self._refreshed(refreshed)

    def _payloads(self) -> dict[tuple[str, str], bytes]:
        """What the ledger holds of every block."""
        with Ledger.open(self.ledger, surroundings=self.edges.of(COORDINATOR)) as ledger:
            return {place: ledger.payload(place) for place in ledger.roster.standings}

    def _refreshed(self, refreshed: Refreshed) -> None:
        self.covered("refreshes")
        self.told(f"refreshed {json.dumps(refreshed.as_dict(), sort_keys=True)}", COORDINATOR)
        try:
            with Ledger.open(self.ledger, surroundings=self.edges.of(COORDINATOR)) as ledger:
                standing = {site: one.version for (site, _), one in ledger.roster.standings.items()}
        except FedrcdError:  # a full disk
            standing = {}
        for site, version in standing.items():
            rows = self.judge.contributed.get((site, site, version), np.empty((0, P)))
            gone = self.judge.whose(site, rows) & self.judge.erased[site]
            waits = not gone or refreshed.pending.get(site) or site in self.judge.withdrawn or site in self.judge.stale
            self.judge.require("erased", waits, f"the erasure of {len(gone)} at site {site} is neither done nor waits")
        for site, numbers in refreshed.entries.items():
            self.told_entries[site] += numbers
            if numbers:
                self.judge.withdrawn.discard(site)

    # lies

    def do_lie(self, event: Event) -> None:
        """A coordinator asks what it may not, or shows sites what was never said."""
        if self.life.kind == "masked" and self.rng.random() < 0.8:
            self.network.twist = lies.twisted(self)
            self.conduct(self.plan(), event._replace(troubles=(lies.TOLD,)))
            return
        if self.has_ledger and any(self.news.values()) and self.rng.random() < 0.4:
            self.network.twist = lies.retold(self)
            self.do_refresh(event._replace(troubles=(lies.TOLD,)))
            return
        asked = lies.fair if self.life.kind == "masked" else lies.unfair
        self.respond(event.site, pack_request(asked(self, event.site)))

    def _copy(self) -> None:
        """Backups, as people make them."""
        for site in self.life.sites:
            path = self.disk.root / site / FILE
            if path.exists() and not path.with_name(f"{FILE}-wal").exists():
                self.copies[site].append(path.read_bytes())
        if self.has_ledger and not self.ledger.with_name(f"{self.ledger.name}-wal").exists():
            self.copies[COORDINATOR].append(self.ledger.read_bytes())

    def do_stale_store(self, event: Event) -> None:
        """An older copy of a store is brought back; then the newest again."""
        site, path = event.site, self.disk.root / event.site / FILE
        if not self.copies[site] or not path.exists():
            return
        newest, older = path.read_bytes(), self.copies[site][int(self.rng.integers(len(self.copies[site])))]
        entries, _ = self._remembered(site)
        path.write_bytes(older)
        before, contributed = self._remembered(site)
        if before == entries or (self.life.kind == "trial" and self._version_of(site) <= contributed):
            path.write_bytes(newest)
            return
        self.covered("older stores")
        self.judge.stale.add(site)
        if self.life.kind == "trial":  # only the ledger knows better
            self.do_refresh(event._replace(troubles=(lies.TOLD,)))
        else:
            self.conduct(self.plan(), event._replace(troubles=(lies.TOLD,)))
        path.write_bytes(newest)
        self.judge.stale.clear()

    def _remembered(self, site: str) -> tuple[int, int]:
        """How far the log of a store goes, and how many contributions it made."""
        with Store(self.disk.root / site, site, self.edges.of(site)) as store:
            return len(store.lines()), store.sent.latest_version(site)

    def _version_of(self, site: str) -> int:
        """The latest contribution of a site that the ledger has taken in."""
        with Ledger.open(self.ledger, surroundings=self.edges.of(COORDINATOR)) as ledger:
            return ledger.roster.versions.get((site, site), 0)

    def do_stale_ledger(self, event: Event) -> None:
        """A ledger is brought back as it was, and may be continued otherwise; then the newest again."""
        if self.ledger.with_name(f"{self.ledger.name}-wal").exists():
            return  # a copy of the file alone is no copy
        newest = self.ledger.read_bytes()
        others = [one for one in self.copies[COORDINATOR] if one != newest]
        if not others:
            return
        older = others[int(self.rng.integers(len(others)))]
        self.covered("older ledgers")
        self.ledger.write_bytes(older)
        if self.rng.random() < 0.6:
            with Ledger.open(self.ledger, surroundings=self.edges.of(COORDINATOR)) as ledger:
                for _ in range(int(self.rng.integers(1, 8))):
                    ledger.record_result("another", {}, "past")
        self.do_refresh(event._replace(troubles=(lies.TOLD,)))
        self.ledger.write_bytes(newest)

    # the end

    def heals(self) -> None:
        """Nothing goes wrong any more and all dates pass: every site answers, or more rows would end its refusal."""
        self.edges.offsets.clear()
        self.network.begin(())
        self.handed.clear()
        self.told("nothing goes wrong any more")
        if self.life.kind == "masked":
            return
        for _ in range(2):
            self.edges.wait(31 * DAY)
            refused = {}
            for site in self.life.sites:
                reply = self.respond(site, pack_request(lies.fair(self, site)))
                refused[site] = "" if isinstance(reply, Fault) else str(unpack_reply(reply).refusal or "")
        for site, code in refused.items():
            due = code in ("", *ENDS) or (code == "withdrawn" and site in self.leaving)
            due = due or (code == "frame" and site in self.judge.inexact)
            due = due and (code != "data" or self._too_few(site))
            self.judge.require("ends", due, f"site {site} answers no more: {code}")

    def _too_few(self, site: str) -> bool:
        """Whether a site says that too few rows are left to hide those who are gone among, or that there are none."""
        with self.service(site).store() as store:
            detail = store.entries()[-1].detail
        return "too few rows to hide" in detail or "no row without missing" in detail


def _people(site: str, rng: np.random.Generator) -> pd.DataFrame:
    """Everybody whom a site may ever have: linear, with noise that is not Gaussian; the same on any machine."""
    noise = rng.integers(-(2**20), 2**20, (POOL, P)) / 2.0**20
    noise = noise**3 * 4.0
    first = noise[:, 0]
    second = np.rint((0.75 * first + noise[:, 1]) * 2**20) / 2**20
    third = np.rint((0.5 * first - 0.5 * second + noise[:, 2]) * 2**20) / 2**20
    table = pd.DataFrame({"v0": first, "v1": second, "v2": third})
    table.insert(0, "id", [f"{site}{k}" for k in range(POOL)])
    return table


def _digest(packet: Packet) -> str:
    said = json.dumps(packet.header, sort_keys=True).encode()
    return hashlib.sha256(said + b"".join(np.ascontiguousarray(one).tobytes() for one in packet.arrays)).hexdigest()[
        :12
    ]


def _digest_of(B: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(B).tobytes()).hexdigest()[:12]
