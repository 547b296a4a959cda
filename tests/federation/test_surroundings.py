"""Time, waiting, randomness and the disk come from outside: tests need neither wait nor guess."""

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fedrcd.errors import ProtocolError
from fedrcd.federation.coordinator.gather import Fault, RetryPolicy, SiteLost
from fedrcd.federation.coordinator.recorded_answers import RecordedAnswers
from fedrcd.federation.coordinator.transport import MachineTransport
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.ledger.verify import verify_ledger
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Reply, cohort_layout
from fedrcd.federation.surroundings import Surroundings
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal

A, B, C = NAMES
DAY = datetime(2026, 11, 18, 12, tzinfo=UTC)


class World:
    """A machine on which time passes only while somebody sleeps."""

    def __init__(self):
        self.seconds, self.slept, self.opened = 0.0, [], []

    def sleep(self, seconds):
        self.seconds += seconds
        self.slept.append(seconds)

    def connect(self, path, **how):
        self.opened.append(path)
        return sqlite3.connect(path, **how)

    @property
    def surroundings(self):
        return Surroundings(
            now=lambda: DAY,
            monotonic=lambda: self.seconds,
            sleep=self.sleep,
            token_bytes=lambda n: bytes(range(n)),
            connect=self.connect,
        )


@pytest.fixture
def disk(tmp_path):
    return horizontal(tmp_path, p=3, rows=(300, 310, 320))


def transport(disk, world, faults, **changes):
    federation = disk.federation
    setting = Setting(
        federation.variables, federation.declared_frame(), cohort_layout(federation, NAMES), grid=ARITHMETIC["exact"]
    )
    fields = {
        "setting": setting,
        "courier": Direct(disk, faults),
        "run": "r1.0",
        "federation": disk.digest,
        "blocks": {site.name: site.blocks for site in federation.sites},
        "answers": RecordedAnswers(disk.folder / "answers.sqlite", world.surroundings),
        "surroundings": world.surroundings,
    }
    return MachineTransport(**{**fields, **changes})


def waiting(reply):
    return replace(reply, blocks=(), refusal=Refusal.WAITING)


def test_a_day_of_waiting_for_a_person_passes_at_once(disk):
    world = World()
    deployed = transport(disk, world, {B: [waiting] * 3}, retry_policy=RetryPolicy(pause=20_000.0))
    total = deployed.pool(deployed.setting.pairs(4))
    assert to_bytes(total) == to_bytes(disk.in_process().pool(deployed.setting.pairs(4)))
    assert world.slept == [20_000.0] * 3
    assert deployed.seconds == [60_000.0]
    assert world.opened


def test_a_person_who_takes_too_long_loses_the_site(disk):
    world = World()
    deployed = transport(disk, world, {B: [waiting] * 9}, retry_policy=RetryPolicy(pause=50_000.0))
    with pytest.raises(SiteLost, match="a person there has to approve"):
        deployed.pool(deployed.setting.pairs(4))
    assert world.slept == [50_000.0] * 2


def test_a_step_of_the_transport_can_be_wrapped(disk):
    heard = []

    def combine(parts):
        parts = list(parts)
        heard.extend(site for site, _, _ in parts)
        return parts[0][2]

    def accept(asked, site, packet):
        heard.append(f"accepted {site}")
        return Reply(asked.run, asked.digest, site, "v", tuple((label, None) for label in asked.blocks[site]))

    first = transport(disk, World(), {}, combine=combine)
    assert first.pool(first.setting.pairs(4)) is not None
    assert heard == list(NAMES)
    second = transport(disk, World(), {}, accept=accept, run="r2.0")
    with pytest.raises(ProtocolError, match="no site can answer"):
        second.pool(second.setting.pairs(4))
    assert heard[3:] == [f"accepted {site}" for site in NAMES]


def test_faults_are_waited_out_without_waiting(disk):
    world = World()
    deployed = transport(disk, world, {A: [Fault.DIED, Fault.SILENT]})
    deployed.pool(deployed.setting.pairs(4))
    assert world.slept == [2.0, 4.0]  # each pause twice the one before


def test_a_ledger_takes_its_time_its_secrets_and_its_file_from_outside(disk):
    world = World()
    path = disk.folder / "ledger"
    with Ledger.create(
        path,
        configure(disk.federation, families=(), grid=ARITHMETIC["exact"]),
        dict.fromkeys(NAMES, ""),
        surroundings=world.surroundings,
    ) as ledger:
        assert ledger.identity == bytes(range(8)).hex()
        assert ledger.secret == bytes(range(32))
        assert ledger.entries[0].content["time"] == "2026-11-18T12:00:00+00:00"
    assert verify_ledger(path, surroundings=world.surroundings) == []
    assert len(world.opened) == 2
