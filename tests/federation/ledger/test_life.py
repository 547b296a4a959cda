"""The whole life of a federation as Hypothesis imagines it, against a model that only remembers rows."""

import shutil
import tempfile
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fedrcd.api.membership import erase, membership, send, withdraw
from fedrcd.errors import ConfigError, DataError, ProtocolError
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.verify import verify_ledger
from fedrcd.federation.site.editions.comparison import as_list
from tests.federation.living import (
    SECRET,
    TODAY,
    TRIAL,
    configured,
    contribution,
    federation_of,
    frame_of,
    lenient,
    move_to,
    rows_of,
    sample,
)

SITES = ("a", "b", "c")
FEDERATION = federation_of(2, SITES)
CONFIGURATION = configured(FEDERATION, families=("pairs/4",))
POOL = sample(2, 120)
BATCH = 4
FEWEST = 3
sites = st.sampled_from(SITES)
numbers = st.integers(0, 119)


class Life(RuleBasedStateMachine):
    """The model: rows in each site's table, which of them are erased, and which the coordinator has."""

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.day = TODAY
        self.tables = {site: set(range(20)) for site in SITES}
        self.sent = {}  # what the coordinator has: rows by site
        self.ever = {site: [] for site in SITES}  # all it ever had
        self.withdrawn = set()
        self.forced = set()  # sites that once did not wait
        self.stack = ExitStack()
        Ledger.create(self.folder / "ledger.db", CONFIGURATION, TRIAL, secret=SECRET).__exit__()
        self.reopen()

    def reopen(self):
        self.stack.close()
        self.stack = ExitStack()
        self.ledger = self.stack.enter_context(Ledger.open(self.folder / "ledger.db"))
        self.members = {
            site: self.stack.enter_context(
                membership(FEDERATION, site, CONFIGURATION, self.folder / site, lenient(batch=BATCH, rows=FEWEST))
            )
            for site in SITES
        }
        self.dawn()

    def dawn(self):
        for member in self.members.values():
            move_to(member, self.day)

    def table(self, site):
        chosen = sorted(self.tables[site])
        table = frame_of(POOL[chosen])
        return rows_of(table.assign(id=[f"r{k}" for k in chosen]), FEDERATION, site)

    def took_in(self, site, delivery):
        """Follow a delivery, and hold it against what the policy promises."""
        if delivery.receipt is None:
            return
        rows = self.rows_of_edition(site)
        assert delivery.receipt.content["rows"] == len(rows)
        assert not rows & self.out(site)
        self.sent[site] = rows
        self.withdrawn.discard(site)
        self.ever[site].append(frozenset(rows))

    def out(self, site):
        """Rows that are erased, or left out for good to hide others."""
        store = self.members[site].store
        return {k for k in range(120) if store.marker.of_id(f"r{k}") in store.struck.persons()}

    def rows_of_edition(self, site):
        """The rows that the site last contributed, as its store knows them."""
        store = self.members[site].store
        number = store.sent.latest(f"block-{site}").edition
        [edition] = [one for one in store.editions.editions() if one.number == number]
        persons = {
            mark for bucket in range(store.buckets) for mark in as_list(store.kept.marks(edition.number, bucket)[0])
        }
        return {k for k in range(120) if store.marker.of_id(f"r{k}") in persons}

    @rule(site=sites, row=numbers)
    def grow(self, site, row):
        self.tables[site].add(row)

    @rule(site=sites, rejoin=st.booleans())
    def contribute(self, site, rejoin):
        left = site in self.withdrawn
        if left and not rejoin:
            with pytest.raises(ConfigError):
                send(self.members[site], self.table(site), self.ledger)
            return
        try:
            (delivery,) = send(self.members[site], self.table(site), self.ledger, rejoin=rejoin)
        except DataError:  # too few rows, or too few to hide the erased ones among
            return
        before = list(self.ever[site])
        self.took_in(site, delivery)
        if delivery.receipt is not None:
            for known in before:  # nothing may come near anything known, but for what was forced
                more, less = self.ever[site][-1] - known, known - self.ever[site][-1]
                assert not (more or less) or max(len(more), len(less)) >= BATCH or site in self.forced
        elif site not in self.sent and not delivery.outcome.is_waiting:
            raise AssertionError("a site that is not in was not taken in, and nothing waits")

    @rule(site=sites, rows=st.sets(numbers, min_size=1, max_size=6), now=st.booleans())
    def erase(self, site, rows, now):
        ids = [f"r{k}" for k in rows]
        member = self.members[site]
        done = self.out(site) - {
            k for k in range(120) if member.store.marker.of_id(f"r{k}") in member.store.struck.pending()
        }
        known = rows <= self.tables[site] and not rows & done
        enough = len(self.tables[site] - rows) >= FEWEST
        if site in self.withdrawn:
            return
        if not known or not enough:
            before = (self.ledger.state_id, self.out(site))
            with pytest.raises(DataError):
                erase(member, self.table(site), self.ledger, ids=ids, now=now)
            assert (self.ledger.state_id, self.out(site)) == before
            return
        if now:
            self.forced.add(site)
        try:
            _, (delivery,) = erase(member, self.table(site), self.ledger, ids=ids, now=now)
        except DataError:  # too few rows are left, or too few to hide the erased ones among
            assert rows <= self.out(site)
            return
        assert rows <= self.out(site)
        self.took_in(site, delivery)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def leave(self, data):
        site = data.draw(st.sampled_from(sorted(self.sent)))
        withdraw(self.members[site], [f"block-{site}"], self.ledger)
        self.withdrawn.add(site)
        del self.sent[site]

    @rule(site=sites)
    def leave_twice(self, site):
        if site not in self.sent:
            with pytest.raises(ProtocolError):
                self.ledger.leave(site)

    @rule(days=st.integers(1, 40))
    def wait(self, days):
        self.day += timedelta(days=days)
        self.dawn()

    @rule()
    def restart(self):
        self.reopen()

    @invariant()
    def the_state_is_that_of_the_rows_that_remain(self):
        if not hasattr(self, "ledger"):
            return
        assert {site for site, _ in self.ledger.roster.standings} == set(self.sent)
        total = None
        for site in sorted(self.sent):
            sums = contribution(CONFIGURATION, FEDERATION, site, POOL[sorted(self.sent[site])]).sums["pairs/4"]
            total = sums if total is None else total + sums
        pooled = self.ledger.pooled()
        assert (pooled == {}) if total is None else pooled["pairs/4"] == total
        assert self.ledger.state_digest() == self.ledger.state_id

    def teardown(self):
        if hasattr(self, "stack"):
            self.stack.close()
            assert verify_ledger(self.folder / "ledger.db") == []
            shutil.rmtree(self.folder)


Life.TestCase.settings = settings(max_examples=12, stateful_step_count=25)
TestLife = Life.TestCase


def test_the_model_knows_a_pool_of_distinct_rows():
    assert len(pd.DataFrame(POOL).drop_duplicates()) == len(POOL) == 120
    assert np.isfinite(POOL).all()
