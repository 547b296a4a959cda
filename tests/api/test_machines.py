"""`fedrcd.connect`: discoveries, bootstraps and checks over sites, from Python."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedrcd
from fedrcd.api.machines import RUNS, Waiting
from fedrcd.errors import ConfigError, DataError, FileError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.saved_finding import FINDING
from fedrcd.federation.flower.coordinator import Coordinator, CoordinatorStopped
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal
from tests.federation.test_deployed import Clock

TRUSTED = Waiting(trust_coordinator=True)

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes have tests of their own


@pytest.fixture
def disk(tmp_path):
    return horizontal(tmp_path, p=4, rows=(1500, 1600, 1700))


@pytest.fixture
def machines(disk):
    """The sites of a federation, whose runs are conducted in this process."""
    state = disk.folder / "coordinator"
    Coordinator(state=str(state), host="127.0.0.1", port=9443, insecure=True).write()

    def conduct(_coordinator, plan, progress, _surroundings):
        plan.write()
        finding = Conductor(plan, disk.federation, say=lambda _: None).run(Direct(disk), NAMES)
        progress("finished")
        return finding

    return fedrcd.connect(state, disk.file, conduct=conduct)


def test_a_discovery_is_that_of_one_process(disk, machines):
    found = machines.discover("fedrcd-s")
    reference = disk.in_process()
    estimate = run(build("fedrcd-s").rounds(reference.setting), reference)
    assert isinstance(found, fedrcd.Discovery)
    assert np.array_equal(found.B, estimate.B)
    assert (found.sites, found.rounds, found.settings) == (3, 1, {"arithmetic": "exact"})


def test_every_run_has_a_folder_of_its_own(disk, machines):
    machines.discover()
    machines.discover()
    assert len(list((disk.folder / "coordinator" / RUNS).glob(f"*/{FINDING}"))) == 2


def test_a_finished_run_is_not_run_again(disk, machines):
    machines.discover(out=disk.folder / "here")
    with pytest.raises(FileError, match="holds the result of a finished run"):
        machines.discover(out=disk.folder / "here")


def test_a_bootstrap_has_replicates(machines):
    announced = []
    found = machines.bootstrap("fedrcd-ni", n_sampling=6, random_state=2, announce=announced.append)
    assert isinstance(found, fedrcd.Bootstrap)
    assert len(found) == 6
    assert sum(announced[0].bytes_by_site.values()) >= found.discovery.bytes_sent  # small numbers take fewer bytes


def test_checks_are_made(machines):
    found = machines.check(waiting=TRUSTED)
    assert isinstance(found, fedrcd.Checks)
    assert found["scale"].verdict == "fine"
    assert (found.rounds, found.discovery.rounds) == (1, 1)


def test_the_order_of_standardised_variables_costs_nothing_in_one_round(machines):
    found = machines.discover("fedrcd-ni", check_scale=True)
    assert (sorted(found.standardised_order), found.rounds) == (sorted(found.names), 1)
    assert machines.discover("fedrcd-x", check_scale=True, waiting=TRUSTED).standardised_order == ()


def test_progress_is_told(machines):
    told = []
    machines.discover(progress=told.append)
    assert told == ["finished"]


def test_knowledge_is_kept_to(machines):
    free = machines.discover()
    known = fedrcd.Knowledge(tiers=[[name] for name in reversed(free.order)])
    assert machines.discover(knowledge=known).order == tuple(reversed(free.order))


@pytest.mark.parametrize(("name", "value"), [("missing", "expected"), ("trim", 8.0)])
def test_how_rows_are_read_is_for_the_sites(machines, name, value):
    with pytest.raises(ConfigError, match=f"{name} is no setting of a run over machines"):
        machines.discover(**{name: value})


def test_a_wrong_option_is_told_before_anything_starts(disk, machines):
    with pytest.raises(ConfigError, match="auto has no option 'moods'"):
        machines.discover(moods=3)
    assert not (disk.folder / "coordinator" / RUNS).exists()


def test_several_rounds_are_chosen_only_where_sites_trust(machines):
    wide = TRUSTED
    assert machines.plan(fedrcd.Settings(arithmetic="exact"), waiting=wide).trust_coordinator
    assert not machines.plan(fedrcd.Settings(arithmetic="exact")).trust_coordinator


def test_there_must_be_a_coordinator(disk):
    with pytest.raises(FileError, match="there is no coordinator in"):
        fedrcd.connect(disk.folder / "nowhere", disk.file, conduct=lambda *_: None)


def test_the_federation_must_hold_what_a_method_needs(disk, machines):
    from dataclasses import replace

    columns = machines.federation.variables
    first = [
        replace(site, columns=columns[:2] if k else columns[1:]) for k, site in enumerate(machines.federation.sites)
    ]
    partly = replace(machines, federation=replace(machines.federation, sites=tuple(first)))
    with pytest.raises(DataError, match="together"):
        partly.discover("fedrcd-s", out=Path(disk.folder) / "partly")


@pytest.mark.parametrize(("call", "why"), [("discover", "asks the sites several times"), ("check", "checks ask")])
def test_what_sites_answer_only_in_trust_is_not_begun_without(machines, call, why):
    asked = {"method": "fedrcd-x"} if call == "discover" else {}
    with pytest.raises(ConfigError, match=f"{why}.*--trust-coordinator"):
        getattr(machines, call)(**asked)
    assert not (Path(machines.coordinator.state) / RUNS).exists()


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_run_goes_on_when_the_coordinator_is_started_again(disk, machines, comes_back):
    state, clock, tries, said = Path(machines.coordinator.state), Clock(), [], []

    def conduct(coordinator, plan, progress, surroundings):
        tries.append(plan.run)
        if coordinator.process == 0:
            plan.write()
            raise CoordinatorStopped
        return machines.conduct(coordinator, plan, progress, surroundings)

    def sleep(seconds):
        clock.sleep(seconds)
        if comes_back and clock.time > 100:
            replace(machines.coordinator, process=os.getpid()).write()

    surroundings = replace(clock.surroundings, sleep=sleep)
    again = fedrcd.connect(state, disk.file, conduct=conduct, surroundings=surroundings)
    if comes_back:
        assert again.discover("fedrcd-s", progress=said.append).order
        assert len(tries) == 2
        assert len(set(tries)) == 1  # the same run: answers that came are kept
    else:
        with pytest.raises(CoordinatorStopped, match="start it and give the same command again"):
            again.discover("fedrcd-s", progress=said.append)
        assert 900 <= clock.time < 902
    assert "goes on if it is started again within 15 min" in said[0].warnings[0]
