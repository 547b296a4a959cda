"""Faults between machines, without a person: `make test-network`, as root; each machine is a network namespace."""

import sqlite3
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedrcd.data.federation import read_federation, write_federation
from fedrcd.federation.coordinator.run_folder import Status
from fedrcd.federation.coordinator.saved_finding import read_finding
from fedrcd.federation.flower.coordinator import Coordinator
from fedrcd.federation.messages.keys import make_development_keys
from fedrcd.federation.site.store import FILE
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.federation.flower.machines import until
from tests.federation.sites import NAMES
from tests.network.namespaces import COORDINATOR, Namespaces, why_not

A, B, C = NAMES
REASON = why_not()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(REASON), reason=REASON)]
LONG = 900.0
CUT = 60.0
UNHEARD = 15.0
"""Seconds after which a site that is not heard counts as missing."""


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    machines = Namespaces(tmp_path_factory.mktemp("network"))
    try:
        machines.start_coordinator()
        for name in NAMES:
            machines.start_site(name)
        yield machines
    finally:
        try:
            machines.stop_all()
        finally:
            machines.take_away()


def started(network, name, method="fedrcd-s", *more):
    out = network.folder / f"result-{name}"
    return out, network.run(out, "--method", method, "--wait", "200", *more)


def ended(process):
    said, problems = process.communicate(timeout=LONG)
    return process.returncode, said + problems


def right(network, out, process):
    """Whether a run ended with the result of one process, over all sites."""
    code, said = ended(process)
    assert code == 0, said
    found = read_finding(out)
    transport = network.disk.in_process(NAMES)
    expected = run(build(found.method).rounds(transport.setting), transport)
    return found.sites == NAMES and np.array_equal(found.estimate.B, expected.B)


def in_round(out, number):
    status = Status.read(out)
    return status is not None and status.round >= number


def test_a_run_over_machines_is_that_of_one_process(network):
    assert right(network, *started(network, "first"))


def test_a_cut_of_a_minute_is_outlasted(network):
    out, process = started(network, "cut", "fedrcd-x")
    until(lambda: in_round(out, 1), "the first round")
    network.pull(B)
    began = time.monotonic()
    time.sleep(UNHEARD)
    assert B not in network.online()
    time.sleep(max(0.0, began + CUT - time.monotonic()))
    network.plug_in(B)
    assert right(network, out, process)


def test_a_killed_site_that_is_started_again_answers(network):
    out, process = started(network, "site", "fedrcd-x")
    until(lambda: in_round(out, 1), "the first round")
    network.kill_inside(B, "serve")
    assert right(network, out, process)


def test_a_killed_coordinator_that_is_started_again_goes_on(network):
    out, process = started(network, "coordinator", "fedrcd-x")
    until(lambda: in_round(out, 1), "the first round")
    before = Coordinator.read(network.folder / COORDINATOR).process
    network.kill_inside(COORDINATOR, "start")
    assert right(network, out, process)
    assert Coordinator.read(network.folder / COORDINATOR).process != before


def test_other_units_stop_the_run_and_the_factor_stays_at_the_site(network):
    table = pd.read_parquet(network.disk.data(C))
    column = network.disk.federation.variables[1]
    table[column] = table[column] * 1000
    other = network.folder / "other-units.parquet"
    table.to_parquet(other, index=False)
    network.stop(C)
    network.start_site(C, data=other)
    code, said = ended(started(network, "units")[1])
    network.stop(C)
    network.start_site(C)
    assert code == 6
    assert repr(C) in said
    assert repr(column) in said
    assert "times" not in said
    with closing(sqlite3.connect(network.disk.state(C) / FILE)) as store:
        logged = [text for (text,) in store.execute("SELECT text FROM log")]
    assert any("values look like" in text for text in logged)


def told(network, name, words, **changes):
    """Whether a site says one line, and no more, on what keeps it from the coordinator."""
    network.stop(C)
    log = network.folder / f"{C}.log"
    start = log.stat().st_size
    network.start_site(C, **changes)
    until(lambda: words in log.read_text()[start:], name)
    time.sleep(12)  # two further tries
    lines = [line for line in log.read_text()[start:].splitlines() if line.startswith(f"site {C}: ")]
    network.stop(C)
    network.start_site(C)
    return len([line for line in lines if words in line]) == 1 == len(lines)


def test_another_authority_is_one_line(network):
    make_development_keys(network.folder / "others", ["x"], ["10.77.0.1"])
    assert told(
        network, "the refusal", "is not signed by the authority", authority=network.folder / "others" / "ca.crt"
    )


def test_a_key_that_is_not_registered_is_one_line(network):
    federation = read_federation(network.disk.file)
    key = (network.keys / "stranger.pub").read_text().strip()
    sites = tuple(replace(one, key=key) if one.name == C else one for one in federation.sites)
    own = network.folder / "own-federation.toml"
    write_federation(own, replace(federation, sites=sites))
    shared, network.disk.file = network.disk.file, own
    try:
        network.stop(C)
        log = network.folder / f"{C}.log"
        start = log.stat().st_size
        network.start_site(C, key=network.keys / "stranger")
        until(lambda: "does not know the key of this site" in log.read_text()[start:], "the refusal")
        time.sleep(20)
        assert log.read_text()[start:].count("does not know the key") == 1
    finally:
        network.disk.file = shared
        network.stop(C)
        network.start_site(C)


def test_a_log_that_was_cut_stops_the_site(network):
    with closing(sqlite3.connect(network.disk.state(A) / FILE)) as store:
        store.execute("DROP TRIGGER log_stays")
        store.execute("DELETE FROM log WHERE number > 1")
        store.commit()
    code, said = ended(started(network, "log")[1])
    assert code == 6
    assert f"site {A!r} refused" in said


def test_nothing_is_left(network):
    network.stop_all()
    assert not network.left_behind()
