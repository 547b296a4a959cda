"""Asking the sites about a run that is not begun: who would refuse it, and what it would ask of each."""

import pytest

from fedrcd.federation.coordinator.asked_numbers import asked_numbers
from fedrcd.federation.coordinator.called_sites import CalledSites
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.run_folder import Status
from fedrcd.federation.rules import Rules
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal, logged

A, B, C = NAMES


@pytest.fixture
def disk(tmp_path):
    return horizontal(tmp_path, p=3)


def test_every_site_says_what_it_would_refuse_and_nothing_leaves(disk):
    courier = Direct(disk)
    courier.services[B] = disk.service(B, rules=Rules(rows=2000))
    plan = disk.plan("fedrcd-ni", asks_only=True, title="Kidneys", purpose="Study 7")
    called = Conductor(plan, disk.federation, say=lambda _: None).ask(courier, NAMES)
    assert CalledSites.read(plan.folder) == called
    assert "too few rows" in called.sites[B].refusal
    assert [called.sites[name].refusal for name in (A, C)] == ["", ""]
    assert called.sites[A].rows >= 400
    assert Status.read(plan.folder).state == "finished"
    for name in NAMES:
        entries = logged(courier.services[name])
        assert "answered" not in {one.outcome for one in entries}
        assert {(one.title, one.purpose) for one in entries} == {("Kidneys", "Study 7")}


def test_the_roll_call_of_a_run_stays_in_its_folder(disk):
    plan = disk.plan("fedrcd-ni")
    Conductor(plan, disk.federation, say=lambda _: None).run(Direct(disk), NAMES)
    called = CalledSites.read(plan.folder)
    assert called.method == "fedrcd-ni"
    assert set(called.sites) == set(NAMES)


@pytest.mark.parametrize("method", ["fedrcd-ni", "fedrcd-s"])
def test_as_many_numbers_are_told_beforehand_as_leave(disk, method):
    plan = disk.plan(method)
    courier = Direct(disk)
    Conductor(plan, disk.federation, say=lambda _: None).run(courier, NAMES)
    told = asked_numbers(disk.federation, plan, method)
    for name in NAMES:
        [answered] = [one for one in logged(courier.services[name]) if one.outcome == "answered"]
        assert told[name] == answered.numbers
