"""Small federations on the disk, for tests."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.data.names import default_names
from fedrcd.data.read import write_table
from fedrcd.data.simulate.over_time import random_model_over_time
from fedrcd.data.site_file import read_site
from fedrcd.data.table import Table
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.messages.requests import federation_digest
from fedrcd.federation.one_process import in_process
from fedrcd.federation.site.service import SiteService, open_door, read_tables
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.methods.settings import Settings
from tests.contracts.federations import simulated

NAMES = ("hospital-a", "hospital-b", "hospital-c")


class OnDisk:
    """A federation file, a table and a folder per site."""

    def __init__(self, folder: Path, federation: Federation, tables: dict):
        self.folder, self.federation = folder, federation
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "federation.toml"
        write_federation(self.file, federation)
        for name, (rows, columns) in tables.items():
            write_table(self.data(name), Table(rows, columns=columns, source=name))

    def apart(self, folder: Path):
        """The same tables with logs and results elsewhere."""
        own = OnDisk(folder, self.federation, {})
        own.data = self.data
        return own

    def data(self, name):
        return self.folder / f"{name}.parquet"

    def state(self, name):
        return self.folder / "state" / name

    def settings(self, name, **changes):
        """Of a site that trusts its coordinator, unless something else is said: most tests are about other things."""
        files = {"federation": str(self.file), "data": str(self.data(name)), "state": str(self.state(name))}
        return SiteSettings(name=name, **{**files, "trust_coordinator": True, **changes})

    def service(self, name, **changes):
        return SiteService(self.settings(name, **changes))

    @contextmanager
    def door(self, name, *, federation=None, history=(), **changes):
        """The door of a site and its tables, after some history."""
        settings, described = self.settings(name, **changes), federation or self.federation
        with Store(settings.state, name) as store:
            store.append(history)
            yield open_door(settings, described, store), read_tables(described, settings)

    def settings_files(self, **changes):
        paths = []
        for site in self.federation.sites:
            path = self.state(site.name) / "site.json"
            self.settings(site.name, **changes).write(path)
            paths.append(str(path))
        return paths

    def plan(self, method="fedrcd-s", **changes):
        out = self.folder / "result"
        own = {name: changes.pop(name) for name in ("arithmetic", "knowledge", "within") if name in changes}
        settings = Settings.of(method, **{"arithmetic": "exact", **own, **changes.pop("options", {})})
        fields = {"run": "r1", "federation": str(self.file), "folder": str(out), "by_key": False, "wait": 0.0}
        return RunPlan(**{**fields, "settings": settings, **changes})

    def in_process(self, cohort=None, arithmetic="exact", secrets=None, within="none"):
        """The reference: the same rows, the same setting, no machines."""
        data = {site.name: self.data(site.name) for site in self.federation.sites}
        return in_process(self.federation, data, arithmetic, cohort, secrets, within)

    def secrets(self):
        """What the sites split their rows by, if they share none; only a test has them all."""
        return {site.name: secret_of(self.service(site.name)) for site in self.federation.sites}

    def in_process_rows(self, name):
        return np.concatenate(
            [table.values for table in read_site(self.data(name), self.federation, self.federation.site(name))]
        )

    @property
    def digest(self):
        return federation_digest(self.federation)


def logged(service):
    """The entries of a site's log."""
    with service.store() as store:
        return store.entries()


def secret_of(service):
    """What a site tags and splits its rows by."""
    with service.store() as store:
        return store.secret


def frame_of(X, variables):
    """A declared frame, to one digit."""
    return {
        name: VariableFrame(float(f"{X[:, j].mean():.1g}"), float(f"{X[:, j].std():.1g}"), "units")
        for j, name in enumerate(variables)
    }


def horizontal(folder, *, p=5, rows=(400, 500, 600), seed=3, names=NAMES, framed=True, keys=None, identified=False):
    """Sites with all columns of rows of their own; `identified` ones have a column of identifiers."""
    _, X = simulated(p, sum(rows), seed)
    variables = default_names(p)
    parts = np.split(X, np.cumsum(rows)[:-1])
    federation = Federation(
        variables=variables,
        sites=tuple(SiteEntry(name, variables, (name,), (keys or {}).get(name, "")) for name in names),
        blocks=tuple(BlockEntry(name, n) for name, n in zip(names, rows, strict=True)),
        frame=frame_of(X, variables) if framed else {},
    )
    disk = OnDisk(folder, federation, {name: (part, variables) for name, part in zip(names, parts, strict=True)})
    for name in names if identified else ():
        table = pd.read_parquet(disk.data(name))
        table.insert(0, "id", [f"{name} {k}" for k in range(len(table))])
        table.to_parquet(disk.data(name), index=False)
    return disk


def in_triples(folder, *, rows=400, seed=6):
    """Sites with rows of their own and three of four columns each: every pair is held, no row is complete."""
    _, X = simulated(4, 4 * rows, seed)
    variables = default_names(4)
    columns = {f"without-{name}": tuple(one for one in variables if one != name) for name in variables}
    federation = Federation(
        variables=variables,
        sites=tuple(SiteEntry(name, held, (name,)) for name, held in columns.items()),
        blocks=tuple(BlockEntry(name, rows) for name in columns),
        frame=frame_of(X, variables),
    )
    parts = zip(columns.items(), np.split(X, 4), strict=True)
    tables = {name: (part[:, [variables.index(one) for one in held]], held) for (name, held), part in parts}
    return OnDisk(folder, federation, tables)


def scattered(folder, *, p=4, rows=600, seed=5):
    """Sites that share rows or have several blocks: a holds all columns of two blocks, b and c parts of a third."""
    _, X = simulated(p, 3 * rows, seed)
    variables = default_names(p)
    holdings = {
        "hospital-a": (variables, ("2021", "2022")),
        "hospital-b": (variables[:3], ("2023",)),
        "hospital-c": (variables[1:], ("2023",)),
    }
    labels = np.repeat(["2021", "2022", "2023"], rows)
    federation = Federation(
        variables=variables,
        sites=tuple(SiteEntry(name, columns, blocks) for name, (columns, blocks) in holdings.items()),
        blocks=tuple(BlockEntry(label, rows) for label in ("2021", "2022", "2023")),
        frame=frame_of(X, variables),
    )
    disk = OnDisk(folder, federation, {})
    for name, (columns, blocks) in holdings.items():
        order = np.flatnonzero(np.isin(labels, blocks))[::-1]  # later blocks first: files need not be sorted
        content = {column: X[order, variables.index(column)] for column in columns}
        pd.DataFrame({"id": order, "block": labels[order], **content}).to_parquet(disk.data(name))
    return disk


def visited(folder, *, p=3, subjects=(150, 160, 170), visits=5, seed=9, names=NAMES, keys=None, lags=1, unit="subject"):
    """Sites whose subjects were seen several times, and the table of each with times and identifiers."""
    rng = np.random.default_rng(seed)
    model = random_model_over_time(p, lags=lags, degree=1, rng=rng)
    federation = Federation(
        variables=model.names,
        sites=tuple(SiteEntry(name, model.names, (name,), (keys or {}).get(name, "")) for name in names),
        blocks=tuple(BlockEntry(name, n * (visits - lags)) for name, n in zip(names, subjects, strict=True)),
        frame={name: VariableFrame(0.0, 4.0) for name in model.names},
        unit=unit,
        trial=True,
    ).with_past(lags, time_column="visit", step=1.0, subject_column="" if unit == "subject" else "machine")
    disk = OnDisk(folder, federation, {})
    for name, n in zip(names, subjects, strict=True):
        rows = model.sample(n, visits, rng).reshape(-1, p)
        table = pd.DataFrame(rows, columns=list(model.names))
        table.insert(0, "id" if unit == "subject" else "machine", np.repeat([f"{name} {k}" for k in range(n)], visits))
        table.insert(1, "visit", np.tile(np.arange(visits), n))
        table.sample(frac=1, random_state=seed).to_parquet(disk.data(name), index=False)
    return disk
