"""People at their pages, in Chromium, before real processes with TLS and keys: from the first run to a fourth site."""

import time

import pytest
from experiments.tasks import console_story as story
from experiments.tasks.consoles import Consoles

from tests.report.browser import ABSENT, installed, launched

A, B, C = story.NAMES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chrome():
    executable = installed()
    if executable is None:
        pytest.skip(ABSENT)
    with launched(executable) as browser:
        yield browser


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    consoles = Consoles.write(tmp_path_factory.mktemp("federation") / "here")
    with consoles.running():
        yield consoles


@pytest.fixture(scope="module")
def pages(federation, chrome):
    return {name: story.enter(chrome, link) for name, link in federation.links.items()}


@pytest.fixture(scope="module")
def online(pages):
    coordinator = pages["coordinator"]
    for name in story.NAMES:
        coordinator.locator("tr", has_text=name).get_by_text("online", exact=True).wait_for()
    return coordinator


def test_a_run_waits_is_approved_on_the_pages_and_its_result_appears(pages, online):
    story.start_run(online, "fedrcd-ni")
    story.until(online, "section", "waiting for")
    for name in story.NAMES:
        story.approve(pages[name])
    story.until(online, "#state", "finished")
    assert online.get_by_role("link", name="The report").is_visible()
    for name in story.NAMES:
        story.go(pages[name], "Runs")
        assert story.PURPOSE in pages[name].locator("table").inner_text()


def test_a_run_that_a_person_refuses_has_no_result_and_says_who_refused(pages, online):
    story.start_run(online, "fedrcd-sp", title="A second look")
    story.refuse(pages[B], "not in our protocol")
    for name in (A, C):
        story.approve(pages[name])
    story.until(online, "#state", "failed")
    assert "a person there refused to release the answer" in online.locator("main").inner_text()
    assert "not in our protocol" not in online.locator("main").inner_text()


def test_the_sites_are_asked_before_a_run_and_nothing_leaves(pages, online):
    story.start_run(online, "fedrcd-ni", title="A question", act="Ask the sites what they would refuse")
    story.until(online, "#state", "finished")
    said = online.locator("table").inner_text()
    assert all(name in said for name in story.NAMES)
    assert said.count("yes") == 3


def test_a_patient_is_erased_and_the_certificate_opened(pages, online):
    coordinator = online
    story.refresh_ledger(coordinator, [pages[name] for name in story.NAMES])
    coordinator.get_by_role("button", name="Compute a result").click()
    coordinator.wait_for_selector(".said:not([hidden])")
    assert "up to date" in coordinator.locator("main").inner_text()
    story.erase(pages[A], [f"{A}-{k:05}" for k in (3, 7)])
    story.make_next_edition(pages[A])
    story.refresh_ledger(coordinator, [pages[A]])
    story.go(pages[A], "Erasure")
    pages[A].get_by_role("link", name="open").first.wait_for()
    pages[A].get_by_role("link", name="open").first.click()
    pages[A].wait_for_selector("text=no longer part of the state")
    pages[A].go_back()
    story.go(coordinator, "Ledger")
    assert "out of date" in coordinator.locator("main").inner_text()


def test_a_fourth_site_is_invited_accepted_and_comes_online(pages, online, federation):
    coordinator, name = online, "hospital-d"
    kit = story.invite(coordinator, federation, name)
    packed = b"".join(path.read_bytes() for path in kit.iterdir())
    assert b"PRIVATE KEY" not in packed
    assert {path.name for path in kit.iterdir()} == {"READ-ME.txt", "ca.crt", "federation.toml", "invitation.json"}
    for site in story.NAMES:
        story.accept_file(pages[site], kit / "federation.toml")
    story.start_fourth(federation, name, kit)
    story.go(coordinator, "Sites")
    coordinator.locator("tr", has_text=name).get_by_text("online", exact=True).wait_for()


def test_a_site_that_is_cut_off_is_said_within_twenty_seconds(pages, online, federation):
    story.go(online, "Sites")
    row = online.locator("tr", has_text=C)
    row.get_by_text("online", exact=True).wait_for()
    began = time.monotonic()
    with federation.silent(C):
        row.get_by_text("missing", exact=True).wait_for()
        assert time.monotonic() - began < 20
    row.get_by_text("online", exact=True).wait_for()
