"""Random lives of five sites, and a checker of its own: what all their answers together tell about anybody.

The checker knows nothing of editions. It notes the rows behind every answer where they are summed, and asks, for sums
of every set of columns, whether combinations of answers isolate fewer persons than a batch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedrcd.api.from_ledger import discover_stored
from fedrcd.cli.site_editions import permit
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.data.table import Table
from fedrcd.errors import DataError, ProtocolError
from fedrcd.federation.coordinator.gather import Fault, RetryPolicy
from fedrcd.federation.coordinator.refresh import Refresher
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.verify import verify_ledger
from fedrcd.federation.messages.requests import Request, federation_digest, pack_request, unpack_reply
from fedrcd.federation.rules import Rules
from fedrcd.federation.site import release
from fedrcd.federation.site.erasure import strike_rows
from fedrcd.federation.site.service import SiteService, open_door, read_tables
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.surroundings import Surroundings
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.groups import GroupedQuestion
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.living import SECRET, contribution, federation_of, put, sample

SITES = ("a", "b", "c", "d", "e")
P = 3
BATCH = 10 * P
NAMES = tuple(f"v{k}" for k in range(P))
COLUMNS = [subset for size in (1, 2, 3) for subset in combinations(range(P), size)]
POOL, ROWS = 420, (160, 220)
"""People whom a site may ever have, and how many it begins with."""

GROUPS, GROUPED_POOL, GROUPED_ROWS = 10, 1800, (1400, 1500)
"""The same where sums leave group by group, too: every group must have rows enough."""

START = date(2026, 3, 1)
METHODS = ("fedrcd-ni", "fedrcd-s")
OFF: tuple[str, ...] = ()
"""Rules that are switched off."""


@dataclass
class Released:
    """Rows behind one answer of a site: how deep it was, and the values of every row."""

    site: str
    depth: int
    rows: np.ndarray
    parts: list[Released] = field(default_factory=list)
    """The same of every group of these rows, where sums left group by group."""


@dataclass
class Life:
    """A federation in the course of a history."""

    folder: Path
    rng: np.random.Generator
    forcing: bool
    grouped: bool
    day: date = START
    written: Federation | None = None
    """What the federation file says now."""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    pools: dict[str, pd.DataFrame] = field(default_factory=dict)
    releases: list[Released] = field(default_factory=list)
    people: dict[bytes, str] = field(default_factory=dict)
    erased: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    erased_at: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    forced: set[str] = field(default_factory=set)
    by_run: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)
    asked: int = 0
    done: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    """Why each site did not answer the last time it was asked; empty if it did."""

    # the world

    @property
    def federation(self) -> Federation:
        sites = tuple(SiteEntry(site, NAMES, (self.blocks[site],)) for site in SITES)
        blocks = tuple(BlockEntry(self.blocks[site], 100) for site in SITES)
        frame = {name: VariableFrame(0.0, 4.0) for name in NAMES}
        return Federation(NAMES, sites, blocks, frame, trial=True)

    def surroundings(self) -> Surroundings:
        now = datetime(self.day.year, self.day.month, self.day.day, 12, tzinfo=UTC)
        return Surroundings(now=lambda: now, sleep=lambda _: None)

    def service(self, site: str) -> SiteService:
        if self.written != self.federation:
            self.written = self.federation
            write_federation(self.folder / "federation.toml", self.federation)
        table = self.tables[site].sample(frac=1.0, random_state=int(self.rng.integers(2**31)))
        table.to_parquet(self.folder / f"{site}.parquet", index=False)
        settings = SiteSettings(
            name=site,
            federation=str(self.folder / "federation.toml"),
            data=str(self.folder / f"{site}.parquet"),
            state=str(self.folder / site),
            rules=Rules(off=OFF),
        )
        return SiteService(settings, self.surroundings())

    @contextmanager
    def door(self, site: str) -> Iterator[tuple[Any, Any]]:
        service = self.service(site)
        with service.store() as store:
            yield open_door(service.settings, self.federation, store), read_tables(self.federation, service.settings)

    def put(self, site: str, table: pd.DataFrame) -> None:
        """The table of a site from now on; whose rows they are is noted for the checker."""
        self.tables[site] = table.reset_index(drop=True)
        for one, values in zip(table["id"], table[list(NAMES)].to_numpy(float), strict=True):
            if not np.isnan(values).any():
                self.people[site.encode() + values.tobytes()] = one

    # what happens at a site

    def arrive(self, site: str) -> None:
        have, pool = self.tables[site], self.pools[site]
        new = pool[~pool["id"].isin([*have["id"], *self.erased[site]])]
        number = int(self.rng.choice([1, 5, 25, 35, 60]))
        self.put(site, pd.concat([have, new.iloc[:number]]))

    def correct(self, site: str) -> None:
        """Some values of one column; now and then they go back to what they were, all or all but one."""
        table, pool = self.tables[site].copy(), self.pools[site].set_index("id")
        rows = self.rng.permutation(len(table))[: int(self.rng.choice([1, 3, 35, 60]))]
        column = str(self.rng.choice(NAMES))
        if self.rng.random() < 0.4:
            truth = pool.loc[table["id"], column].to_numpy()
            changed = np.flatnonzero(~np.isclose(table[column].to_numpy(), truth))
            rows = changed[: len(changed) - int(self.rng.integers(2))]
            table.loc[rows, column] = truth[rows]
        else:
            table.loc[rows, column] = table.loc[rows, column] + np.round(self.rng.normal(size=len(rows)), 6)
        self.put(site, table)

    def delete(self, site: str) -> None:
        table = self.tables[site]
        number = int(self.rng.choice([1, 2, 33]))
        gone = self.rng.permutation(len(table))[:number]
        if len(table) - number >= 130:
            self.put(site, table.drop(index=list(gone)))

    def gap(self, site: str) -> None:
        table = self.tables[site].copy()
        rows = self.rng.permutation(len(table))[: int(self.rng.choice([1, 2, 31]))]
        table.loc[rows, str(self.rng.choice(NAMES))] = np.nan
        self.put(site, table)

    def mend(self, site: str) -> None:
        """All gaps are filled with what was there."""
        pool = self.pools[site].set_index("id")
        table = self.tables[site].copy()
        truth = pool.loc[table["id"], list(NAMES)].to_numpy()
        values = table[list(NAMES)].to_numpy()
        table[list(NAMES)] = np.where(np.isnan(values), truth, values)
        self.put(site, table)

    def erase(self, site: str) -> None:
        there = [one for one in self.tables[site]["id"] if one not in self.erased[site]]
        chosen = self.rng.permutation(there)[: int(self.rng.choice([1, 2, 32]))].tolist()
        if len(there) - len(chosen) < 140:
            return
        try:
            with self.door(site) as (door, tables):
                strike_rows(door, tables, chosen, self.day)
        except DataError:
            return
        self.erased[site].update(chosen)
        self.erased_at[site] |= dict.fromkeys(chosen, len(self.releases))
        if self.rng.random() < 0.5:
            table = self.tables[site]
            self.put(site, table[~table["id"].isin(chosen)])

    def rename(self, site: str) -> None:
        self.asked += 1
        self.blocks[site] = f"{site}-{self.asked}"

    def move(self, site: str) -> None:
        """Rows are handed over to the next site, and both say so."""
        other = SITES[(SITES.index(site) + 1) % len(SITES)]
        table = self.tables[site]
        rows = self.rng.permutation(len(table))[: int(self.rng.choice([1, 32]))]
        if len(table) - len(rows) < 140:
            return
        moved = table.loc[rows]
        if moved["id"].isin([*self.tables[other]["id"], *self.erased[other], *self.erased[site]]).any():
            return
        for here in (site, other):
            with self.door(here) as (door, _), door.store.changes():
                door.store.editions.note_handed_over(door.store.marker.of_id(one) for one in moved["id"])
        self.put(site, table.drop(index=list(rows)))
        self.pools[other] = pd.concat(
            [self.pools[other], self.pools[site].loc[self.pools[site]["id"].isin(moved["id"])]]
        )
        self.put(other, pd.concat([self.tables[other], moved]))

    def double(self, site: str) -> None:
        """An identifier twice: nothing may be answered until it is mended."""
        table = self.tables[site]
        self.tables[site] = pd.concat([table, table.iloc[:1]]).reset_index(drop=True)
        before = len(self.releases)
        reply = unpack_reply(self.service(site).respond(self.request(site, "pairs")))
        assert (str(reply.refusal), len(self.releases)) == ("data", before)
        self.tables[site] = table

    def wait(self, _: str) -> None:
        self.day += timedelta(days=int(self.rng.choice([1, 31])))

    def permit(self, site: str) -> None:
        now = self.forcing and bool(self.rng.random() < 0.5)
        with self.door(site) as (door, tables), redirect_stderr(StringIO()):
            permit(door, tables, now=now, fill=not now)
        if now:
            self.forced.add(site)

    # what is asked

    def request(self, site: str, sums: str) -> Any:
        setting = Setting(NAMES, self.federation.declared_frame(), grid=ARITHMETIC["exact"])  # type: ignore[arg-type]
        question = setting.tensor() if sums == "tensor" else setting.pairs(4)
        question = GroupedQuestion(question, GROUPS) if sums == "groups" else question
        digest = federation_digest(self.federation)
        return pack_request(Request(f"run {self.asked}", 1, digest, site, SITES, question))

    def run(self, sums: str) -> None:
        """All sites are asked for the same, of some kind if none is given."""
        self.asked += 1
        sums = sums or str(self.rng.choice(["pairs", "tensor", *(["groups"] if self.grouped else [])]))
        for site in SITES:
            before = len(self.releases)
            reply = unpack_reply(self.service(site).respond(self.request(site, sums)))
            self.done[f"{sums} {reply.refusal or 'answered'}"] += 1
            self.refused[site] = "" if reply.refusal is None else str(reply.refusal)
            assert (reply.refusal is None) == (len(self.releases) == before + 1)

    def refresh(self, _: str) -> None:
        with Ledger.open(self.folder / "ledger.db") as ledger:
            try:
                Refresher(
                    federation=self.federation,
                    ledger=ledger,
                    courier=Direct(self),
                    cohort=SITES,
                    retry_policy=RetryPolicy(give_up_after=0.0, pause=0.0),
                    surroundings=self.surroundings(),
                ).run()
            except ProtocolError as problem:
                self.done[f"refresh {type(problem).__name__}"] += 1
                return
        self.done["refresh"] += 1

    def step(self) -> None:
        acts: dict[str, Callable[[str], None]] = {
            **{name: getattr(self, name) for name in ("arrive", "correct", "delete", "gap", "mend", "erase")},
            **{name: getattr(self, name) for name in ("rename", "move", "double", "wait", "permit")},
        }
        name = str(self.rng.choice(list(acts), p=WEIGHTS))
        self.done[name] += 1
        acts[name](str(self.rng.choice(SITES)))
        if self.rng.random() < 0.7:
            (self.run if self.rng.random() < 0.7 else self.refresh)("")


WEIGHTS = np.array([5, 5, 3, 2, 2, 4, 1, 1, 0.5, 1, 1.5])
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Direct:
    """Carries packets to the sites of a life, in this process."""

    def __init__(self, life: Life) -> None:
        self.life = life

    def deliver(self, packets: Any, _seconds: float) -> Iterator[tuple[str, Any | Fault]]:
        for site, packet in packets.items():
            yield site, self.life.service(site).respond(packet)


@contextmanager
def noting(life: Life) -> Iterator[None]:
    """Whatever is summed at a door is noted, if it leaves."""
    answer, written, released = LocalSite.answer, release.Door._write, release.Door.release
    summed: list[Released] = []
    within: list[Released] = []

    def note(self: LocalSite, question: Any, layout: Any = None) -> Any:
        values = np.concatenate([chunk.values for chunk in self.rows.chunks()])
        one = Released(self.name, question.depth, values)
        (within[-1].parts if within else summed).append(one)
        within.append(one)
        try:
            return answer(self, question, layout)
        finally:
            within.pop()

    def begin(self: Any, *arguments: Any, **options: Any) -> Any:
        summed.clear()  # what was summed before and then refused
        return released(self, *arguments, **options)

    def write(self: Any, *arguments: Any) -> None:
        written(self, *arguments)
        deepest = max(summed, key=lambda one: one.depth)  # of a contribution's families
        life.releases.append(deepest)
        life.by_run[self.site, arguments[2].run] = deepest.rows

    LocalSite.answer, release.Door._write, release.Door.release = note, write, begin  # type: ignore[method-assign]
    try:
        yield
    finally:
        LocalSite.answer, release.Door._write, release.Door.release = answer, written, released  # type: ignore[method-assign]


@dataclass
class Ending:
    """How a history ended: what is wrong, and what happened."""

    problems: list[str]
    releases: int
    done: Counter[str]
    ended: Counter[str]
    """Sites that answer no more, by the reason that they give."""


def live(folder: Path, seed: int, steps: int = 12) -> Ending:
    """One random history, judged."""
    rng = np.random.default_rng([16, seed])
    life = Life(folder, rng, forcing=seed % 10 == 0, grouped=seed % 5 == 4)
    size, rows = (GROUPED_POOL, GROUPED_ROWS) if life.grouped else (POOL, ROWS)
    X = np.round(sample(P, size * len(SITES), seed, noise="gamma"), 6)
    for k, site in enumerate(SITES):
        life.blocks[site] = site
        pool = pd.DataFrame(X[size * k : size * (k + 1)], columns=list(NAMES))
        pool.insert(0, "id", [f"{site}{n}" for n in range(size)])
        life.pools[site] = pool
        life.put(site, pool.iloc[: int(rng.integers(*rows))])
    configuration = configure(life.federation, grid=ARITHMETIC["exact"])
    Ledger.create(folder / "ledger.db", configuration, dict.fromkeys(SITES, ""), secret=SECRET).__exit__()
    with noting(life):
        life.run("")
        for _ in range(steps):
            life.step()
        life.refresh("")
        locked = list(locked_out(life))
    ended = Counter(life.refused[site] for site in SITES if life.refused[site])
    problems = [*locked, *told_people(life), *erased_people(life), *other_states(life, configuration)]
    problems += [str(one) for one in verify_ledger(folder / "ledger.db")]
    return Ending(problems, len(life.releases), life.done, ended)


def locked_out(life: Life) -> Iterator[str]:
    """Sites that wait for ever, though nothing changes and all dates are past.

    A site may have too few rows left, or have released as many numbers as its rows allow; then it says so.
    """
    for _ in range(2):
        life.run("")
        life.day += timedelta(days=31)
    life.run("pairs")
    for site in SITES:
        if life.refused[site] not in {"", *ENDS} or (life.refused[site] == "data" and not hides_too_few(life, site)):
            yield f"site {site} answers no more: {life.refused[site]}"


ENDS = ("rows", "tensor-rows", "budget", "groups", "data")
"""Refusals that more rows would end."""


def hides_too_few(life: Life, site: str) -> bool:
    """Whether a site says that too few rows are left to hide those who are gone among."""
    with life.door(site) as (door, _):
        return "too few rows to hide" in door.store.entries()[-1].detail


def told_people(life: Life) -> Iterator[str]:
    """Sites and columns for which combinations of answers isolate fewer than a batch of persons."""
    for site in SITES:
        if site in life.forced:
            continue
        mine = [one for one in life.releases if one.site == site]
        for depth in (2, 4):
            sets = distinct([part for one in mine if one.depth >= depth for part in (one, *one.parts)])
            for columns in COLUMNS if len(sets) > 1 else ():
                small = isolated(life, site, sets, columns)
                if small:
                    yield f"site {site}, depth {depth}, columns {columns}: {small} persons are told"


def distinct(releases: list[Released]) -> list[Released]:
    """Answers about the same rows are one."""
    found: dict[bytes, Released] = {}
    for one in releases:
        order = np.lexsort(one.rows.T)
        found.setdefault(one.rows[order].tobytes(), one)
    return list(found.values())


def isolated(life: Life, site: str, sets: list[Released], columns: tuple[int, ...]) -> int:
    """How many persons are not hidden, by what sums of some columns tell."""
    vectors: dict[tuple[str, bytes], np.ndarray] = defaultdict(lambda: np.zeros(len(sets), dtype=int))
    for k, one in enumerate(sets):
        for row in one.rows:
            person = life.people[site.encode() + row.tobytes()]
            vectors[person, row[list(columns)].tobytes()][k] += 1
    atoms: dict[tuple[int, ...], set[str]] = defaultdict(set)
    for (person, _), vector in vectors.items():
        atoms[tuple(vector.tolist())].add(person)
    return sum(len(atoms[vector]) for vector in told(atoms))


def told(atoms: dict[tuple[int, ...], set[str]]) -> list[tuple[int, ...]]:
    """The atoms that combinations tell with too few, by floating-point linear algebra: the program uses none."""
    basis = [np.array(vector, dtype=float) for vector, people in atoms.items() if len(people) >= BATCH]
    rest = [vector for vector in atoms if len(atoms[vector]) < BATCH]
    while rest:
        rank = np.linalg.matrix_rank(np.array(basis)) if basis else 0
        rest = [vector for vector in rest if np.linalg.matrix_rank(np.array([*basis, vector])) > rank]
        classes: list[list[tuple[int, ...]]] = []
        for vector in rest:
            for one in classes:
                if np.linalg.matrix_rank(np.array([*basis, np.subtract(vector, one[0])])) == rank:
                    one.append(vector)
                    break
            else:
                classes.append([vector])
        hidden = [one[0] for one in classes if sum(len(atoms[vector]) for vector in one) >= BATCH]
        if not hidden:
            break
        basis += [np.array(vector, dtype=float) for vector in hidden]
    return rest


def erased_people(life: Life) -> Iterator[str]:
    """Persons who were summed after they were erased."""
    for number, one in enumerate(life.releases):
        for row in one.rows:
            person = life.people[one.site.encode() + row.tobytes()]
            if number >= life.erased_at[one.site].get(person, len(life.releases)):
                yield f"site {one.site}: {person} was summed after the erasure"
                return


def other_states(life: Life, configuration: Any) -> Iterator[str]:
    """Whether the ledger is not, to the bit, that of a fresh federation of the rows that were last contributed."""
    with Ledger.open(life.folder / "ledger.db") as ledger:
        if not ledger.roster.standings:
            return
        found = [discover_stored(ledger, method) for method in METHODS]
        if len({site for site, _ in ledger.roster.standings}) < len(ledger.roster.standings):
            yield "the ledger has a block twice, under a former name as well"
        standings, pooled, state = ledger.roster.active(), ledger.pooled(), ledger.state_id
    rows = [life.by_run[one.site, f"contribution {one.version} of block {one.block}"] for one in standings]
    tables = [Table(own, one.site, one.block, columns=NAMES) for one, own in zip(standings, rows, strict=True)]
    transport = in_process(tables, NAMES, frame=configuration.frame, grid=configuration.grid)
    if transport.pool(transport.setting.tensor()) != pooled["tensor"]:
        yield "the sums in the ledger are not those of the rows that were contributed"
    blocks = {one.site: (one.block,) for one in standings}
    federation = federation_of(P, SITES, blocks=blocks)
    with Ledger.create(life.folder / "fresh.db", configuration, dict.fromkeys(SITES, ""), secret=SECRET) as fresh:
        for one, own in zip(standings, rows, strict=True):
            made = contribution(configuration, federation, one.site, own, block=one.block)
            put(fresh, replace(made, rows=one.rows))  # those with gaps are counted, too
        if fresh.state_id != state:
            yield "the state of the ledger is not that of a fresh federation"
    for one in found:
        direct = run(build(one.method).rounds(transport.setting), transport)
        if one.B.tobytes() != direct.B.tobytes() or one.order != tuple(NAMES[i] for i in direct.order):
            yield f"{one.method} finds something else in a fresh federation"
