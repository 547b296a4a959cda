"""A ledger is brought up to date over the network: what travels, what is filed, and which lies are found."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedrcd.api.from_ledger import discover_stored
from fedrcd.api.machines import connect
from fedrcd.data.federation import write_federation
from fedrcd.data.site_file import read_site
from fedrcd.federation.coordinator.gather import RetryPolicy, SiteLost
from fedrcd.federation.coordinator.refresh import Refresher
from fedrcd.federation.flower.coordinator import Coordinator, CoordinatorStopped
from fedrcd.federation.ledger.certificate import require_genuine
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.refresh_messages import ContributionReply, ContributionRequest, LedgerNews
from fedrcd.federation.messages.envelope import pack_message, unpack_message
from fedrcd.federation.messages.keys import make_development_keys
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.site.erasure import strike_rows
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.refreshing import CERTIFICATES
from fedrcd.federation.site.service import SiteService, open_door, read_tables
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import in_process
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.sites import NAMES, horizontal
from tests.federation.test_deployed import Clock

P = 3
A, B, C = NAMES


class Carrier:
    """Carries packets to sites in this process and remembers them; `instead` answers in place of some sites."""

    def __init__(self, services, instead=None):
        self.services, self.instead, self.sent, self.received = services, instead or {}, [], []

    def deliver(self, packets, _seconds):
        for site, packet in packets.items():
            self.sent.append((site, packet))
            reply = self.instead.get(site, self.services[site].respond)(packet)
            self.received.append((site, reply))
            yield site, reply


class Federated:
    """Three sites with keys and identifiers, and a ledger."""

    def __init__(self, folder):
        self.folder = folder
        public = make_development_keys(folder / "keys", NAMES, ["localhost"])
        self.disk = horizontal(folder, p=P, rows=(400, 420, 440), keys=public)
        self.federation = replace(self.disk.federation, id_column="id")
        write_federation(self.disk.file, self.federation)
        for site in NAMES:
            table = pd.read_parquet(self.disk.data(site))
            table.insert(0, "id", [f"patient-{site}-{k}" for k in range(len(table))])
            table.to_parquet(self.disk.data(site))
        self.services = {
            site: SiteService(
                self.disk.settings(site, key=str(folder / "keys" / site), trust_coordinator=False, clear=True)
            )
            for site in NAMES
        }
        configuration = configure(self.federation, grid=ARITHMETIC["exact"])
        admitted = {site.name: site.key for site in self.federation.sites}
        with Ledger.create(self.path, configuration, admitted) as ledger:
            self.configuration = ledger.configuration

    @property
    def path(self):
        return self.folder / "ledger.db"

    def refresh(self, carrier=None, ledger=None, **changes):
        with Ledger.open(ledger or self.path) as opened:
            return Refresher(
                federation=self.federation,
                ledger=opened,
                courier=carrier or Carrier(self.services),
                retry_policy=RetryPolicy(give_up_after=0.0, pause=0.0),
                **{"cohort": NAMES, **changes},
            ).run()

    def erase(self, site, count):
        """So many rows of a site, at the site."""
        service = self.services[site]
        with service.store() as store:
            door = open_door(service.settings, self.federation, store)
            tables = read_tables(self.federation, service.settings)
            chosen = [f"patient-{site}-{k}" for k in range(count)]
            strike_rows(door, tables, chosen, store.today())

    def rename(self, site, label):
        """The block of a site has another name in the federation file."""
        [former] = self.federation.site(site).blocks
        sites = tuple(replace(one, blocks=(label,)) if one.name == site else one for one in self.federation.sites)
        blocks = tuple(replace(one, label=label) if one.label == former else one for one in self.federation.blocks)
        self.federation = replace(self.federation, sites=sites, blocks=blocks)
        write_federation(self.disk.file, self.federation)

    def rows(self, site, first=0):
        [table] = read_site(self.disk.data(site), self.federation, self.federation.site(site))
        return table.keep(np.arange(len(table.values)) >= first)


@pytest.fixture
def federated(tmp_path):
    return Federated(tmp_path)


def test_a_refresh_brings_ledger_and_sites_to_the_same_state(federated):
    first = federated.refresh()
    assert {site: len(numbers) for site, numbers in first.entries.items()} == dict.fromkeys(NAMES, 1)
    federated.erase(A, 150)
    second = federated.refresh()
    assert {site: len(numbers) for site, numbers in second.entries.items()} == {A: 1, B: 0, C: 0}
    with Ledger.open(federated.path) as ledger:
        assert ledger.entries[second.entries[A][0] - 1].kind == "erased"
        found = discover_stored(ledger, "fedrcd-s")
        identity = ledger.identity
    left = [federated.rows(A, 150), federated.rows(B), federated.rows(C)]
    configuration = federated.configuration
    fresh = in_process(left, federated.federation.variables, frame=configuration.frame, grid=configuration.grid)
    expected = run(build("fedrcd-s").rounds(fresh.setting), fresh)
    assert found.B.tobytes() == expected.B.tobytes()
    with federated.services[A].store() as store:
        assert store.ledgers.head(identity).number == second.entries[A][0]
    [certificate] = (federated.disk.state(A) / CERTIFICATES).iterdir()
    require_genuine(json.loads(certificate.read_text()))
    assert not (federated.disk.state(B) / CERTIFICATES).exists()


def test_a_pending_erasure_reaches_the_coordinator_as_a_number(federated):
    federated.refresh()
    federated.erase(A, 2)
    carrier = Carrier(federated.services)
    refreshed = federated.refresh(carrier)
    assert refreshed.entries[A] == []
    assert refreshed.pending == {A: 2}
    [held] = refreshed.held_back[A]
    assert (held["persons"], held["block"]) == (2, A)
    assert held["due"] is not None
    for _, packet in carrier.received:
        assert b"patient" not in as_bytes(packet)


def as_bytes(packet):
    return json.dumps(packet.header).encode() + b"".join(one.tobytes() for one in packet.arrays)


def test_a_refresh_without_changes_adds_nothing(federated):
    federated.refresh()
    with Ledger.open(federated.path) as ledger:
        before = len(ledger.entries)
    assert not any(federated.refresh().entries.values())
    with Ledger.open(federated.path) as ledger:
        assert len(ledger.entries) == before


def test_a_contribution_that_was_lost_on_the_way_is_handed_over_at_the_next_refresh(federated):
    def lost(packet):
        federated.services[B].respond(packet)
        raise SiteLost(B, "its answer was lost")

    with pytest.raises(SiteLost):
        federated.refresh(Carrier(federated.services, {B: lost}))
    again = federated.refresh()
    assert len(again.entries[B]) == 1
    with Ledger.open(federated.path) as ledger:
        assert set(ledger.roster.standings) == {(site, site) for site in NAMES}


def test_a_block_that_was_taken_out_stays_out_and_stops_no_refresh_of_others(federated):
    federated.refresh()
    with federated.services[A].store() as store:
        store.sent.withdraw(A, store.today())
    federated.erase(B, 60)
    assert {site: len(numbers) for site, numbers in federated.refresh().entries.items()} == {A: 0, B: 1, C: 0}


def test_a_block_with_another_name_is_in_the_ledger_once(federated):
    """And once more under the first name, when it has that again."""
    federated.refresh()
    for name in ("renamed", A):
        federated.rename(A, name)
        assert len(federated.refresh().entries[A]) == 2  # one leaves, one comes
        assert federated.refresh().entries[A] == []
        with Ledger.open(federated.path) as ledger:
            assert {block for _, block in ledger.roster.standings} == {name, B, C}
            assert ledger.pooled()["tensor"].floats().count == 400 + 420 + 440


def test_the_former_name_stays_in_the_ledger_while_its_rows_wait_under_another(federated):
    federated.refresh()
    federated.erase(A, 2)
    federated.rename(A, "renamed")
    assert federated.refresh().entries[A] == []
    with Ledger.open(federated.path) as ledger:
        assert {block for _, block in ledger.roster.standings} == {A, B, C}
    federated.erase(A, 150)
    assert len(federated.refresh().entries[A]) == 2
    with Ledger.open(federated.path) as ledger:
        assert {block for _, block in ledger.roster.standings} == {"renamed", B, C}
        assert ledger.pooled()["tensor"].floats().count == 250 + 420 + 440


def test_a_site_that_was_put_back_as_it_was_is_found_by_the_ledger(federated):
    """With its store, its key and the file beside it; erased rows would be summed again."""
    federated.refresh()
    backup = federated.folder / "backup"
    shutil.copytree(federated.disk.state(A), backup / "state")
    shutil.copytree(federated.folder / "keys", backup / "keys")
    federated.erase(A, 150)
    federated.refresh()
    shutil.rmtree(federated.disk.state(A))
    shutil.copytree(backup / "state", federated.disk.state(A))
    shutil.copytree(backup / "keys", federated.folder / "keys", dirs_exist_ok=True)
    with pytest.raises(SiteLost, match="older copy"):
        federated.refresh()
    assert "is an older copy" in refusals(federated, A)[-1]


def test_a_forged_contribution_is_not_taken_in(federated):
    """The coordinator's link writes something in a site's name."""

    def forged(packet):
        reply = unpack_message(federated.services[B].respond(packet), ContributionReply)
        return pack_message(replace(reply, items=tuple(replace(item, signature="00") for item in reply.items)))

    with pytest.raises(SiteLost, match="not signed with the key"):
        federated.refresh(Carrier(federated.services, {B: forged}))


def refusals(federated, site):
    """Why a site did not believe a ledger."""
    with federated.services[site].store() as store:
        return [entry.detail for entry in store.entries() if entry.outcome == Refusal.LEDGER]


def test_a_ledger_that_was_rolled_back_is_found_at_the_next_refresh(federated):
    federated.refresh()
    before = federated.folder / "before.db"
    shutil.copy(federated.path, before)
    federated.erase(A, 150)
    federated.refresh()
    shutil.copy(before, federated.path)
    with pytest.raises(SiteLost, match="hospital-a"):
        federated.refresh()
    [said] = refusals(federated, A)
    assert "rewritten" in said  # it was contributed to anew, under a number that was used before


def test_a_fork_is_found_by_what_the_others_have_seen(federated):
    """Hospital B is shown a ledger of its own from here on."""
    federated.refresh()
    fork = federated.folder / "fork.db"
    shutil.copy(federated.path, fork)
    shutil.copy(federated.path.with_name("ledger.db.key"), federated.folder / "fork.db.key")
    federated.erase(A, 150)
    federated.erase(B, 150)
    federated.refresh(cohort=(A,))
    federated.refresh(cohort=(B,), ledger=fork)
    with pytest.raises(SiteLost):
        federated.refresh(cohort=(A, B))
    told = [*refusals(federated, A), *refusals(federated, B)]
    assert any("forked or rolled back" in one or "rewritten" in one for one in told)


def test_news_from_which_the_heads_of_others_were_cut_is_not_believed(federated):
    federated.refresh()
    federated.erase(B, 150)
    told = []

    def cut(packet):
        if "ledger-news" not in json.dumps(packet.header):
            return federated.services[A].respond(packet)
        news = unpack_message(packet, LedgerNews)
        told.append(len(news.heads))
        return federated.services[A].respond(pack_message(replace(news, heads=())))

    with pytest.raises(SiteLost, match="hospital-a"):
        federated.refresh(Carrier(federated.services, {A: cut}))
    assert told[0] > 0


def test_a_ledger_of_another_frame_is_refused(federated):
    wider = {name: replace(one, scale=one.scale * 2) for name, one in federated.federation.frame.items()}
    path = federated.folder / "other.db"
    admitted = {site.name: site.key for site in federated.federation.sites}
    other = replace(federated.federation, frame=wider)
    Ledger.create(path, configure(other, grid=ARITHMETIC["exact"]), admitted).__exit__()
    with pytest.raises(SiteLost, match="hospital"):
        federated.refresh(ledger=path)
    for site in NAMES:
        with federated.services[site].store() as store:
            assert not [entry for entry in store.entries() if entry.outcome == ANSWERED]


def test_a_ledger_of_other_variables_is_refused_and_nothing_fails(federated):
    others = tuple(f"other {k}" for k in range(P))
    configuration = replace(configure(federated.federation, grid=ARITHMETIC["exact"]), variables=others)
    path = federated.folder / "other.db"
    Ledger.create(path, configuration, {site.name: site.key for site in federated.federation.sites}).__exit__()
    with pytest.raises(SiteLost, match="hospital"):
        federated.refresh(ledger=path)
    with federated.services[A].store() as store:
        assert [(entry.outcome, entry.detail) for entry in store.entries()] == [
            ("federation", "the ledger is about other variables")
        ]


def news_changed(federated, site, **changes):
    """Carries to a site what became of the ledger, but for some of it; `changes` are made of what there was."""

    def changed(packet):
        if "ledger-news" not in json.dumps(packet.header):
            return federated.services[site].respond(packet)
        news = unpack_message(packet, LedgerNews)
        return federated.services[site].respond(
            pack_message(replace(news, **{name: change(news) for name, change in changes.items()}))
        )

    return Carrier(federated.services, {site: changed})


def test_news_under_the_name_of_another_ledger_write_nowhere_and_hide_nothing(federated):
    """What a ledger is called names the file of a certificate, and says which heads of others must be shown."""
    federated.refresh()
    federated.erase(A, 150)
    outside = federated.disk.state(A) / "elsewhere"
    lie = {"ledger": lambda _: f"../{outside.name}", "heads": lambda _: ()}
    with pytest.raises(SiteLost, match="hospital-a"):
        federated.refresh(news_changed(federated, A, **lie))
    assert not list(federated.disk.state(A).glob("elsewhere*"))
    assert "another one was named" in refusals(federated, A)[-1]


FORGED = {
    "changed": lambda certificate: {**certificate, "rows_after": 1},
    "not of this erasure": lambda certificate: {**certificate, "entry": {**certificate["entry"], "number": 1}},
    "for another site": lambda certificate: {**certificate, "site": B},
    "no certificate": lambda _: {"entry": {"number": 7}},
    "a list": lambda _: ["rows"],
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_certificate_that_is_not_genuine_is_not_filed(federated, forgery):
    federated.refresh()
    federated.erase(A, 150)

    def forged(news):
        return tuple(json.dumps(FORGED[forgery](json.loads(one))) for one in news.certificates)

    with pytest.raises(SiteLost, match="hospital-a"):
        federated.refresh(news_changed(federated, A, certificates=forged))
    assert not (federated.disk.state(A) / CERTIFICATES).exists()
    assert "certificate" in refusals(federated, A)[-1]


def test_a_refresh_goes_on_when_the_coordinator_is_started_again_and_enters_nothing_twice(federated):
    state, clock, tries = federated.folder / "coordinator", Clock(), []
    stopped = Coordinator(state=str(state), host="127.0.0.1", port=9443, insecure=True)
    stopped.write()

    class Killed(Carrier):
        def deliver(self, packets, seconds):
            if any(
                type(unpack_message(one, (ContributionRequest, LedgerNews))) is LedgerNews for one in packets.values()
            ):
                raise CoordinatorStopped
            return super().deliver(packets, seconds)

    def refreshes(coordinator, plan, _watch, _surroundings):
        tries.append(plan.folder)
        carrier = Killed(federated.services) if coordinator.process == 0 else None
        return federated.refresh(carrier, ledger=plan.ledger).as_dict()

    def sleep(seconds):
        clock.sleep(seconds)
        replace(stopped, process=os.getpid()).write()

    surroundings = replace(clock.surroundings, sleep=sleep)
    machines = connect(
        state, federated.disk.file, conduct=lambda *_: None, refreshes=refreshes, surroundings=surroundings
    )
    assert machines.refresh(federated.path)["missing"] == []
    assert len(tries) == 2
    assert len(set(tries)) == 1
    with Ledger.open(federated.path) as ledger:
        assert sorted(site for site, _ in ledger.roster.versions) == list(NAMES)
        assert set(ledger.roster.versions.values()) == {1}
