"""A ledger of totals, and sites with keys and identifiers that fill it, in one process."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from fedrcd.data.federation import write_federation
from fedrcd.data.site_file import read_site
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import RetryPolicy
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.site.erasure import strike_rows
from fedrcd.federation.site.service import open_door, read_tables
from fedrcd.protocol.in_process import in_process
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.masking.machines import keyed
from tests.federation.sites import NAMES
from tests.federation.test_refresh import Carrier

ROWS = (400, 420, 440)


class Pooling:
    """Sites that are masked, and their ledger."""

    def __init__(self, folder, *, names=NAMES, rows=ROWS, groups=0, p=3, secret=None, **settings):
        self.folder = folder
        self.disk = keyed(folder, p=p, rows=rows, names=names, identified=True)
        self.disk.federation = self.federation = replace(self.disk.federation, id_column="id")
        write_federation(self.disk.file, self.federation)
        self.services = {name: self.disk.service(name, **settings) for name in names}
        self.configuration = configure(self.federation, grid=ARITHMETIC["exact"])
        admitted = {site.name: site.key for site in self.federation.sites}
        with Ledger.create(
            self.path, self.configuration, admitted, groups=groups, masked=True, secret=secret
        ) as ledger:
            self.identity = ledger.identity

    @property
    def path(self):
        return self.folder / "ledger.db"

    @contextmanager
    def ledger(self):
        with Ledger.open(self.path) as ledger:
            yield ledger

    def refresh(self, carrier=None, *, names=None, out="refresh", said=None):
        """What came of a refresh; each is a run of its own, unless `out` is one that was not finished."""
        names = names or [site.name for site in self.federation.sites]
        plan = self.disk.plan(
            folder=str(self.folder / out),
            ledger=str(self.path),
            allow_missing=len(names) < len(self.federation.sites),
            retry_policy=RetryPolicy(deadline=1.0, give_up_after=0.0, pause=0.01),
        )
        hear = (lambda _: None) if said is None else said.append
        return Conductor(plan, self.federation, say=hear).refresh(carrier or Carrier(self.services), names)

    def erase(self, site, count, first=0):
        """So many rows of a site, at the site."""
        service = self.services[site]
        with service.store() as store:
            door = open_door(service.settings, self.federation, store)
            chosen = [f"{site} {k}" for k in range(first, first + count)]
            strike_rows(door, read_tables(self.federation, service.settings), chosen, store.today())

    def rows(self, site, first=0):
        """The rows of a site but for the first ones."""
        [table] = read_site(self.disk.data(site), self.federation, self.federation.site(site))
        return table.keep(np.arange(len(table.values)) >= first)

    def in_process(self, gone, names=None):
        """The same rows in one process, without the first so many of some sites."""
        names = names or [site.name for site in self.federation.sites]
        left = [self.rows(name, gone.get(name, 0)) for name in names]
        frame, grid = self.configuration.frame, self.configuration.grid
        return in_process(left, self.federation.variables, frame=frame, grid=grid)
