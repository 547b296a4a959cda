"""Small federations that live: tables of sites, their logs and a ledger, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from fedrcd.data.site_file import read_site, site_tables
from pyarrow import parquet

from fedrcd.api.membership import membership, send
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame
from fedrcd.data.simulate import random_model
from fedrcd.federation.contribution import contribute
from fedrcd.federation.site.erasure import Member
from fedrcd.federation.ledger.configuration import Configuration, configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.statistics.grid import ARITHMETIC

TODAY = date(2026, 3, 1)
SECRET = bytes(range(32))
"""Of ledgers whose digests are compared."""


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


def rows_of(table: pd.DataFrame, federation: Federation, site: str) -> SiteRows:
    entry = next(one for one in federation.sites if one.name == site)
    return site_rows(pa.Table.from_pandas(table, preserve_index=False), federation, entry, f"table of {site}")


def rows_by_parquet(table: pd.DataFrame, federation: Federation, site: str, folder: Path) -> SiteRows:
    """The same rows by way of a Parquet file."""
    entry = next(one for one in federation.sites if one.name == site)
    parquet.write_table(pa.Table.from_pandas(table, preserve_index=False), folder / f"{site}.parquet")
    return read_site_rows(folder / f"{site}.parquet", federation, entry)


def contribution(configuration, federation, site, X, *, version=1, purpose="rows", block=None, threads=1):
    return contribute(
        configuration, federation, site, block or f"block-{site}", X, version=version, purpose=purpose, threads=threads
    )


@contextmanager
def living(
    folder: Path, federation: Federation, configuration: Configuration, sites: Sequence[str], **policy: int
) -> Iterator[tuple[Ledger, dict[str, Member]]]:
    """A ledger and the logs of sites, all open."""
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.create(folder / "ledger.db", configuration, secret=SECRET))
        members = {
            site: stack.enter_context(membership(federation, site, configuration, folder / f"{site}.db", **policy))
            for site in sites
        }
        yield ledger, members


def join(ledger, member, table):
    """Send a site's table; every block must go."""
    deliveries = send(member, rows_of(table, member.federation, member.site), ledger, day=TODAY)
    assert all(one.receipt for one in deliveries)
    return deliveries
