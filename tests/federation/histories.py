"""Random lives of a federation: sites join, grow, correct, erase, leave; what remains must look like a fresh start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedrcd.api.from_ledger import discover_stored
from fedrcd.api.membership import erase, send, withdraw
from fedrcd.data.table import Table
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.verify import verify_ledger
from fedrcd.federation.site.erasure import Member
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from tests.federation.living import (
    configured,
    federation_of,
    frame_of,
    lenient,
    living,
    rows_by_parquet,
    rows_of,
    sample,
)

SITES = ("a", "b", "c", "d", "e")
P = 8
FEWEST = 60
METHODS = ("fedrcd-s", "fedrcd-ni")
KINDS: dict[str, Callable[[Any], Any]] = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "int": lambda X: np.rint(4 * X).astype(np.int64),
    "Parquet": lambda X: X,
}


class Ending(NamedTuple):
    """How a history ended: what the ledger says, what a fresh federation of the same rows says."""

    entries: int
    lived: str
    fresh: str
    orders: bool
    weights: bool
    embedded: bool
    sound: bool

    @property
    def holds(self) -> bool:
        return self.lived == self.fresh and self.orders and self.weights and self.embedded and self.sound


@dataclass
class Life:
    """A federation in the course of a history."""

    ledger: Ledger
    members: dict[str, Member]
    pools: dict[str, pd.DataFrame]
    rng: np.random.Generator
    read: Callable[[pd.DataFrame, str], list[Table]]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    erased: dict[str, set[str]] = field(default_factory=dict)
    fresh_rows: dict[str, int] = field(default_factory=dict)

    def remaining(self, site: str) -> pd.DataFrame:
        table = self.tables[site]
        return table[~table["id"].isin(list(self.erased.get(site, ())))]

    def send(self, site: str) -> None:
        rows = self.read(self.tables[site], site)
        sent = send(self.members[site], rows, self.ledger, again=True, rejoin=True)
        assert sent[0].receipt is not None

    def join(self, site: str) -> None:
        """With rows it had when it left, or with a first part of its pool."""
        if site not in self.tables:
            self.tables[site] = self.pools[site].iloc[: int(self.rng.integers(FEWEST + 30, FEWEST + 60))]
        self.send(site)

    def grow(self, site: str) -> None:
        have, pool = self.tables[site], self.pools[site]
        new = pool[~pool["id"].isin(list(have["id"]))].iloc[: int(self.rng.integers(1, 30))]
        self.tables[site] = pd.concat([have, new])
        self.send(site)

    def correct(self, site: str) -> None:
        table = self.tables[site].copy()
        chosen = self.rng.choice(len(table), size=int(self.rng.integers(1, 10)), replace=False)
        column = int(self.rng.integers(1, P + 1))
        table.iloc[chosen, column] = table.iloc[chosen, column] * -1
        self.tables[site] = table
        self.send(site)

    def erase(self, site: str) -> None:
        """At random from the table too, or from the federation alone."""
        there = list(self.remaining(site)["id"])
        most = min(15, len(there) - FEWEST)
        if most < 1:
            return
        ids = set(self.rng.choice(there, size=int(self.rng.integers(1, most + 1)), replace=False).tolist())
        erase(self.members[site], self.read(self.tables[site], site), self.ledger, ids=ids, now=True)
        self.erased.setdefault(site, set()).update(ids)
        if self.rng.random() < 0.5:
            self.tables[site] = self.remaining(site)

    def leave(self, site: str) -> None:
        """By its own will or by the coordinator's."""
        if self.rng.random() < 0.5:
            withdraw(self.members[site], [f"block-{site}"], self.ledger)
        else:
            self.ledger.leave(site)

    def step(self) -> None:
        present = [site for site, _ in self.ledger.roster.standings]
        absent = [site for site in SITES if site not in present]
        if absent and (not present or self.rng.random() < 0.35):
            self.join(str(self.rng.choice(absent)))
            return
        act = self.rng.choice(["grow", "correct", "erase", "erase", "leave"])
        getattr(self, str(act))(str(self.rng.choice(present)))


def threaded(member: Member, threads: int) -> Member:
    """The same member, summing in so many threads."""
    return replace(member, door=replace(member.door, threads=threads))


def live(folder: Path, seed: int, steps: int = 12) -> Ending:
    """One random history, and what it is compared with."""
    rng = np.random.default_rng([6, seed])
    kind = list(KINDS)[seed % len(KINDS)]
    federation = federation_of(P, SITES, scale=16.0 if kind == "int" else 4.0)
    configuration = configured(federation, arithmetic="compact" if seed % 5 == 0 else "exact")
    X = KINDS[kind](sample(P, 150 * len(SITES), seed, noise="gamma"))
    pools = {site: frame_of(X[150 * k : 150 * (k + 1)]) for k, site in enumerate(SITES)}

    def read(table: pd.DataFrame, site: str) -> list[Table]:
        return (
            rows_by_parquet(table, federation, site, folder) if kind == "Parquet" else rows_of(table, federation, site)
        )

    lived = folder / "lived"
    lived.mkdir()
    with living(lived, federation, configuration, SITES, lenient(rows=FEWEST)) as (ledger, members):
        members = {site: threaded(member, 1 + seed % 2) for site, member in members.items()}
        life = Life(ledger, members, pools, rng, read)
        for _ in range(steps):
            life.step()
        if not ledger.roster.standings:
            life.join("a")
        present = sorted(site for site, _ in ledger.roster.standings)
        remaining = {site: life.remaining(site) for site in present}
        digest, entries = ledger.state_id, len(ledger.entries)
        results = [discover_stored(ledger, method) for method in METHODS]
    sound = not verify_ledger(lived / "ledger.db")
    return _compared(folder, federation, configuration, remaining, rng, seed, digest, entries, results, sound)


def _compared(folder, federation, configuration, remaining, rng, seed, digest, entries, results, sound) -> Ending:
    """A fresh federation of the remaining rows: sites in another order, rows shuffled, as float64, other threads."""
    fresh = folder / "fresh"
    fresh.mkdir()
    sites = [str(site) for site in rng.permutation(list(remaining))]
    tables = {site: remaining[site].sample(frac=1.0, random_state=seed) for site in sites}
    with living(fresh, federation, configuration, sites, lenient(rows=FEWEST)) as (ledger, members):
        for site in sites:
            table = tables[site].astype(dict.fromkeys(federation.variables, np.float64))
            send(threaded(members[site], 2 - seed % 2), rows_of(table, federation, site), ledger)
        again = [discover_stored(ledger, method) for method in METHODS]
        state = ledger.state_id
    blocks = [
        Table(
            tables[site][list(federation.variables)].to_numpy(float),
            site,
            f"block-{site}",
            columns=federation.variables,
        )
        for site in sites
    ]
    transport = in_process(blocks, federation.variables, frame=configuration.frame, grid=configuration.grid)
    direct = [run(build(method).rounds(transport.setting), transport) for method in METHODS]
    return Ending(
        entries=entries,
        lived=digest,
        fresh=state,
        orders=all(one.order == two.order for one, two in zip(results, again, strict=True)),
        weights=all(one.B.tobytes() == two.B.tobytes() for one, two in zip(results, again, strict=True)),
        embedded=all(one.B.tobytes() == two.B.tobytes() for one, two in zip(results, direct, strict=True)),
        sound=sound,
    )
