"""Small federations that live: tables of sites, their logs and a ledger, for tests."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from fedrcd.api.membership import membership, send
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
from fedrcd.data.simulate.models import random_model
from fedrcd.data.site_file import matching, read_site, site_tables
from fedrcd.data.sources.opening import source_of
from fedrcd.data.table import Table
from fedrcd.federation.ledger.configuration import Configuration, configure
from fedrcd.federation.ledger.contribution import SignedContribution
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.contributing import contribute
from fedrcd.federation.site.erasure import Member
from fedrcd.federation.site.release import Door
from fedrcd.federation.site.store import Store
from fedrcd.federation.surroundings import Surroundings
from fedrcd.statistics.grid import ARITHMETIC

TODAY = date(2026, 3, 1)
TRIAL = dict.fromkeys([*"abcdefgh", *(f"hospital-{k}" for k in "abc"), "north", "south"], "")
"""Sites that ledgers of tests admit without keys."""

SECRET = bytes(range(32))
"""Of ledgers whose digests are compared."""


IN_MEMORY = Surroundings(connect=lambda _, **options: sqlite3.connect(":memory:", **options))
"""Stores whose content is never on the disk, for contributions that nobody remembers."""


def lenient(**numbers: float) -> Rules:
    """Rules that let everything pass but what is said here."""
    free = {"rows": 0, "rows_per_variable": 0, "rows_per_tensor": 0.0, "cell": 0, "share": 1e9, "batch": 0}
    return Rules(**{**free, **numbers})


def names(p):
    return tuple(f"v{k}" for k in range(p))


def federation_of(p=3, sites=("a", "b"), *, columns=None, blocks=None, scale=4.0, rows=100) -> Federation:
    """A federation whose sites have a block each and all columns, unless something else is said."""
    entries = tuple(
        SiteEntry(site, (columns or {}).get(site, names(p)), (blocks or {}).get(site, (f"block-{site}",)))
        for site in sites
    )
    labels = dict.fromkeys(label for entry in entries for label in entry.blocks)
    frame = {name: VariableFrame(0.0, scale, "unit") for name in names(p)}
    return Federation(names(p), entries, tuple(BlockEntry(label, rows) for label in labels), frame)


def configured(federation, arithmetic="exact", families=()) -> Configuration:
    return configure(federation, families=families, grid=ARITHMETIC[arithmetic])


def sample(p, n, seed=0, noise="laplace"):
    rng = np.random.default_rng(seed)
    return random_model(p, noise=noise, density=0.5, rng=rng).sample(n, rng)


def frame_of(X, *, first=0, columns=None) -> pd.DataFrame:
    """A table with identifiers r0, r1, ... in front."""
    table = pd.DataFrame(X, columns=list(columns or names(X.shape[1])))
    table.insert(0, "id", [f"r{k}" for k in range(first, first + len(X))])
    return table


def rows_of(table: pd.DataFrame, federation: Federation, site: str) -> list[Table]:
    return site_tables(source_of(table, f"table of {site}"), federation, federation.site(site))


def rows_where(table: pd.DataFrame, federation: Federation, site: str, *conditions: str) -> dict[str, set[str]]:
    """Identifiers of the rows that meet all conditions, by block."""
    return matching(source_of(table, f"table of {site}"), federation, federation.site(site), conditions)


def rows_by_parquet(table: pd.DataFrame, federation: Federation, site: str, folder: Path) -> list[Table]:
    """The same rows by way of a Parquet file."""
    parquet.write_table(pa.Table.from_pandas(table, preserve_index=False), folder / f"{site}.parquet")
    return read_site(folder / f"{site}.parquet", federation, federation.site(site))


def contribution(configuration, federation, site, X, *, version=1, purpose="rows", block=None, threads=1):
    """What a site with lenient rules and no past would send, in the frame of a configuration."""
    frame = configuration.frame
    declared = zip(configuration.variables, frame.centre.tolist(), frame.scale.tolist(), strict=True)
    federation = replace(federation, frame={name: VariableFrame(*one) for name, *one in declared})
    label = block or f"block-{site}"
    table = Table(X, site, label, columns=federation.site(site).columns, source=f"table of {site}")
    with tempfile.TemporaryDirectory() as folder, Store(folder, site, IN_MEMORY) as store:
        door = Door(site=site, federation=federation, store=store, rules=lenient(), threads=threads)
        return contribute(door, configuration, table, version=version, purpose=lambda _: purpose)


def put(ledger, made):
    """Hand a contribution of a site of a trial over, after whatever the ledger has of it."""
    latest = ledger.roster.versions.get((made.site, made.block), 0)
    return ledger.add(SignedContribution.by(None, made, latest))


def on_day(day: date) -> Surroundings:
    """The machine on another day."""
    return Surroundings(now=lambda: datetime(day.year, day.month, day.day, 12, tzinfo=UTC))


def move_to(member: Member, day: date) -> None:
    """Let another day dawn at a site."""
    member.store.surroundings = on_day(day)


@contextmanager
def living(
    folder: Path, federation: Federation, configuration: Configuration, sites: Sequence[str], rules: Rules | None = None
) -> Iterator[tuple[Ledger, dict[str, Member]]]:
    """A ledger and the stores of sites, all open."""
    with ExitStack() as stack:
        ledger = stack.enter_context(
            Ledger.create(folder / "ledger.db", configuration, {**TRIAL, **dict.fromkeys(sites, "")}, secret=SECRET)
        )
        members = {
            site: stack.enter_context(
                membership(federation, site, configuration, folder / site, rules, surroundings=on_day(TODAY))
            )
            for site in sites
        }
        yield ledger, members


def join(ledger, member, table):
    """Send a site's table; every block must go."""
    deliveries = send(member, rows_of(table, member.door.federation, member.site), ledger)
    assert all(one.receipt for one in deliveries)
    return deliveries
