"""The ways to carry questions, each with the same few functions: columns of the table of capabilities.

All are about the same three sites, whose tables are files with a row identifier, in the frame that the federation file
declares, by exact sums unless something else is said.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fedrcd
from fedrcd.api.federation import federation_tables
from fedrcd.api.from_ledger import bootstrap_stored, discover_stored, leave_one_site_out
from fedrcd.api.machines import Waiting
from fedrcd.api.membership import erase, membership, send
from fedrcd.data.federation import Federation, read_federation, write_federation
from fedrcd.data.site_file import read_site
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.transport import LedgerTransport
from fedrcd.federation.site.secret import group_key
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.methods.registry import find
from fedrcd.methods.settings import Settings
from fedrcd.protocol.groups import Grouping
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.masking.machines import site_key, write_keys
from tests.federation.sites import horizontal

OF_A_RUN = (
    "knowledge",
    "weights",
    "hidden",
    "caution",
    "n_sampling",
    "groups",
    "random_state",
    "resample",
    "check_scale",
    "threshold",
)
"""Settings that are not those of a transport."""

EXACT = ARITHMETIC["exact"]
TODAY = date(2026, 3, 1)
SITES = ("hospital-a", "hospital-b", "hospital-c")


@dataclass(frozen=True)
class Place:
    """A federation on the disk: its file, and a table of every site."""

    folder: Path
    federation: Federation

    @classmethod
    def made(cls, folder: Path) -> Place:
        disk = horizontal(folder, p=4, rows=(1500, 1600, 1700))
        federation = replace(disk.federation, id_column="id")
        for site in SITES:
            table = pd.read_parquet(disk.data(site))
            table.insert(0, "id", [f"{site} {k}" for k in range(len(table))])
            table.to_parquet(disk.data(site))
        write_federation(disk.file, federation)
        return cls(folder, federation)

    @property
    def file(self) -> Path:
        return self.folder / "federation.toml"

    def data(self, site: str) -> Path:
        return self.folder / f"{site}.parquet"

    @property
    def frame(self) -> dict[str, tuple[float, float]]:
        return {name: (one.centre, one.scale) for name, one in self.federation.frame.items()}

    def tables(self, *, without: tuple[str, ...] = (), gaps: bool = False) -> list[fedrcd.Table]:
        """The tables of all sites, without some rows; with some values missing, if there shall be `gaps`."""
        found = federation_tables(self.federation, [self.data(site) for site in SITES])
        kept = [table.keep(np.array([one not in without for one in table.ids])) for table in found]
        return [replace(table, data=with_gaps(table.values)) for table in kept] if gaps else kept


def secrets_in(state: Path) -> dict[str, bytes]:
    """What sites split their rows by."""
    found = {}
    for site in SITES:
        with Store(state / site, site) as store:
            found[site] = store.secret
    return found


def with_gaps(values: Any) -> Any:
    return np.where(np.random.default_rng(1).random(values.shape) < 0.02, np.nan, values)


@dataclass(frozen=True)
class Column:
    """A way to carry questions, about the sites of a place; `state` is where it may write.

    `trust` and `trim` are the sites' own settings, `erased` are rows that left, with `gaps` some values are missing;
    sites that are `keyed` have registered keys; with an `epsilon_budget` they answer with noise.
    """

    place: Place
    state: Path
    trust: bool = False
    trim: float | None = None
    erased: tuple[str, ...] = ()
    gaps: bool = False
    keyed: bool = False
    epsilon_budget: float = 0.0

    @property
    def split_by(self) -> dict[str, bytes]:
        """The secrets by which sites split their rows into groups, where they have any; only a test has them all."""
        return {}

    def without_each_site(self, method: str) -> Any:
        """What is found without each site."""
        found = self.bootstrap(method, n_sampling=4, groups=10, random_state=2)  # type: ignore[attr-defined]
        return {site: effects.tobytes() for site, (_, effects) in found.without.items()}

    def given(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Settings of a run on tables that mean what the sites' own do."""
        trim = {} if self.trim is None else {"trim": self.trim}
        return {"arithmetic": "exact", "frame": self.place.frame, **trim, **settings}

    def rows(self) -> list[fedrcd.Table]:
        return self.place.tables(without=self.erased, gaps=self.gaps)


class OneProcess(Column):
    """`fedrcd.discover` over tables."""

    def discover(self, method: str, **settings: Any) -> fedrcd.Discovery:
        return fedrcd.discover(self.rows(), method, **self.given(settings))

    def bootstrap(self, method: str, **settings: Any) -> fedrcd.Bootstrap:
        return fedrcd.bootstrap(self.rows(), method, **self.given({"n_jobs": 1, **settings}))

    def check(self, method: str, **settings: Any) -> fedrcd.Checks:
        return fedrcd.check(self.rows(), method, **self.given(settings))


class OtherTables(OneProcess):
    """As in one process; what is found without a site is what the tables of the others give."""

    def without_each_site(self, method: str) -> Any:
        others = {site: [table for table in self.rows() if table.site != site] for site in SITES}
        return {site: fedrcd.discover(few, method, **self.given({})).B.tobytes() for site, few in others.items()}


@dataclass(frozen=True)
class Transport(OneProcess):
    """`fedrcd.in_process`: what the others are compared with; `secrets` are those by which sites split their rows."""

    secrets: dict[str, bytes] = field(default_factory=dict)

    def over(self, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The transport, and the settings that are not its own."""
        given = self.given(settings)
        own = {name: given.pop(name) for name in list(given) if name in OF_A_RUN}
        transport = fedrcd.in_process(self.rows(), random_state=settings.get("random_state"), **given)
        if self.secrets:
            split = {site: Grouping(group_key(secret), least=0) for site, secret in self.secrets.items()}
            transport = replace(transport, sites=[replace(s, grouping=split[s.name]) for s in transport.sites])
        return transport, own

    def discover(self, method: str, **settings: Any) -> fedrcd.Discovery:
        transport, own = self.over(settings)
        return fedrcd.discover(transport, method, **own)

    def bootstrap(self, method: str, **settings: Any) -> fedrcd.Bootstrap:
        if settings.get("resample") == "rows":  # no transport has rows to draw: the same tables in another form
            frames = [pd.DataFrame(one.values, columns=list(one.columns)) for one in self.rows()]
            tables = [fedrcd.Table(one, site) for one, site in zip(frames, SITES, strict=True)]
            return fedrcd.bootstrap(tables, method, **self.given({"n_jobs": 1, **settings}))
        transport, own = self.over(settings)
        return fedrcd.bootstrap(transport, method, n_jobs=1, **own)

    def check(self, method: str, **settings: Any) -> fedrcd.Checks:
        transport, own = self.over(settings)
        return fedrcd.check(transport, method, **own)


class Grid(Column):
    """The client and server apps of Flower over a Grid in this process, by `fedrcd.connect`."""

    def machines(self) -> Any:
        from fedrcd.federation.flower.coordinator import Coordinator

        Coordinator(state=str(self.state / "coordinator"), host="127.0.0.1", port=9443, insecure=True).write()
        return fedrcd.connect(self.state / "coordinator", self.file, conduct=self.conduct)

    @property
    def file(self) -> Path:
        """The federation file; with the keys of all sites, if they have registered ones."""
        if not self.keyed:
            return self.place.file
        path, sites = self.state / "federation.toml", self.place.federation.sites
        keyed = tuple(replace(site, key=site_key(site.name).public) for site in sites)
        write_federation(path, replace(self.place.federation, sites=keyed))
        write_keys(self.state, SITES)
        return path

    def conduct(self, _coordinator: Any, plan: Any, _progress: Any, _surroundings: Any) -> Any:
        from fedrcd.federation.flower.server import conduct

        return conduct(plan, self.grid())

    def grid(self) -> Any:
        from fedrcd.federation.flower.local_grid import LocalGrid

        if self.erased:
            self.erase()
        files = []
        for site in SITES:
            own = SiteSettings(
                name=site,
                federation=str(self.file),
                data=str(self.place.data(site)),
                state=str(self.state / site),
                key=str(self.state / "keys" / site / "key") if self.keyed else "",
                trust_coordinator=self.trust,
                trim=self.trim,
                epsilon_budget=self.epsilon_budget,
            )
            own.write(self.state / f"{site}.json")
            files.append(str(self.state / f"{site}.json"))
        return LocalGrid(files)

    def erase(self) -> None:
        """Have the sites strike rows out, each by its own store."""
        configuration = configure(self.place.federation, grid=ARITHMETIC["exact"])
        for site in SITES:
            mine = [one for one in self.erased if one.startswith(site)]
            with membership(self.place.federation, site, configuration, self.state / site) as member:
                tables = read_site(self.place.data(site), self.place.federation, self.place.federation.site(site))
                send(member, tables, None)
                erase(member, tables, None, ids=mine, now=True)

    @property
    def split_by(self) -> dict[str, bytes]:
        return secrets_in(self.state)

    @property
    def how(self) -> dict[str, Any]:
        return {"waiting": Waiting(wait=0.0, trust_coordinator=self.trust)}

    def discover(self, method: str, **settings: Any) -> fedrcd.Discovery:
        return self.machines().discover(method, **self.how, **settings)

    def bootstrap(self, method: str, **settings: Any) -> fedrcd.Bootstrap:
        return self.machines().bootstrap(method, **self.how, **settings)

    def check(self, method: str, **settings: Any) -> fedrcd.Checks:
        return self.machines().check(method, **self.how, **settings)


class Flower(Grid):
    """As over processes: the plan is a file, the ServerApp reads it, and what it finds are files."""

    def conduct(self, _coordinator: Any, plan: Any, _progress: Any, _surroundings: Any) -> Any:
        from flwr.app import Context, RecordDict

        from fedrcd.federation.coordinator.saved_finding import read_finding
        from fedrcd.federation.flower.server import app

        plan.write()
        config = {"plan": plan.folder, "federation": "", "method": "", "out": ""}
        app(self.grid(), Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config=config))
        return read_finding(plan.folder)


class Ledgers(Column):
    """Sums that the sites once sent, in a ledger."""

    @contextmanager
    def ledger(self, arithmetic: str = "exact", groups: int = 0) -> Any:
        configuration = configure(self.place.federation, grid=ARITHMETIC[arithmetic])
        admitted = dict.fromkeys(SITES, "")
        with Ledger.create(self.state / "ledger.db", configuration, admitted, groups=groups) as ledger:
            for site in SITES:
                self.contribute(ledger, configuration, site)
            yield ledger

    @contextmanager
    def totals(self, groups: int = 0) -> Any:
        """A ledger of masked totals, filled over a Grid."""
        from fedrcd.federation.flower.server import refresh

        grid, path = Grid(self.place, self.state, keyed=True), self.state / "totals.db"
        federation = read_federation(grid.file)
        keys, configuration = {one.name: one.key for one in federation.sites}, configure(federation, grid=EXACT)
        Ledger.create(path, configuration, keys, groups=groups, masked=True).__exit__()
        how = {"by_key": False, "wait": 0.0, "settings": Settings(), "ledger": str(path)}
        refresh(RunPlan(run="r", federation=str(grid.file), folder=str(self.state / "refresh"), **how), grid.grid())
        with Ledger.open(path) as ledger:
            yield ledger

    @property
    def split_by(self) -> dict[str, bytes]:
        return secrets_in(self.state)

    def contribute(self, ledger: Ledger, configuration: Any, site: str) -> None:
        federation, how = self.place.federation, {"trim": self.trim, "groups": ledger.groups}
        with membership(federation, site, configuration, self.state / site, **how) as member:
            tables = read_site(self.place.data(site), federation, federation.site(site))
            send(member, tables, ledger)
            mine = [one for one in self.erased if one.startswith(site)]
            if mine:
                erase(member, tables, ledger, ids=mine, now=True)

    def discover(self, method: str, arithmetic: str = "exact", **settings: Any) -> fedrcd.Discovery:
        once = method != "auto" and find(method).rounds.once
        masked = self.keyed and once and settings.pop("masked", False)
        with self.totals() if masked else self.ledger(arithmetic) as ledger:
            return discover_stored(ledger, method, **settings)

    def bootstrap(self, method: str, **settings: Any) -> fedrcd.Bootstrap:
        if "resample" in settings:
            with self.ledger() as ledger:
                return fedrcd.bootstrap(LedgerTransport.of(ledger), method, **settings)
        held = self.totals if self.keyed and settings.pop("masked", False) else self.ledger
        with held(groups=settings.pop("groups")) as ledger:
            return bootstrap_stored(ledger, method, **settings)

    def check(self, method: str, **settings: Any) -> fedrcd.Checks:
        with self.ledger() as ledger:
            return fedrcd.check(LedgerTransport.of(ledger), method, **settings)

    def without_each_site(self, method: str) -> Any:
        with self.ledger() as ledger:
            found = leave_one_site_out(ledger, method)
        return {site: found.without[site][1].tobytes() for site in SITES}
