"""The page of a site as its people have it: in Chromium, by mouse, keyboard and phone."""

import time

import pytest

from fedrcd.federation.messages.refusals import Refusal
from tests.console.conftest import SIZES, resize, serious, too_wide
from tests.console.places import Hospital

PAGES = ("/", "/log", "/runs", "/budget", "/table", "/editions", "/erasure", "/federation", "/people")


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A site with one answer that left and one that waits."""
    hospital = Hospital(tmp_path_factory.mktemp("hospital"))
    with hospital.console() as client:
        hospital.call()
        hospital.ask()
        with hospital.service.store() as store:
            store.decide(store.approvals.waiting()[0].digest, "approved", who="Ada (approve)")
        hospital.ask()
        hospital.call(run="r2.0", title="A second look", purpose="Study 8")
        hospital.ask(run="r2.0", order=3)
        yield hospital, client


def ready(page):
    page.wait_for_selector("#under-way", state="detached", timeout=60_000)


def test_an_answer_comes_waits_is_approved_and_leaves_before_the_eyes(tmp_path, browse, keep):
    hospital = Hospital(tmp_path)
    hospital.call()
    with hospital.console() as client:
        page = browse(client)
        assert "No answer waits" in page.locator("h2").first.inner_text()
        hospital.ask()
        began = time.monotonic()
        page.wait_for_selector(".waiting", timeout=10_000)
        assert time.monotonic() - began < 10
        keep(page, "site-inbox", full_page=True)
        page.get_by_role("button", name="Approve", exact=True).click()
        assert "approved: the row count" in page.locator(".said:not([hidden])").first.inner_text()
        assert hospital.ask() is None
        page.goto(f"{client.base}/log")
        page.wait_for_selector("html[data-ready]")
        assert "Ada (administer)" in page.locator("table").inner_text()


def test_everything_can_be_done_by_keyboard(tmp_path, browse):
    hospital = Hospital(tmp_path)
    hospital.call()
    hospital.ask()
    with hospital.console() as client:
        page = browse(client)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for _ in range(60):
            if page.evaluate("document.activeElement.id") == "reason-1":
                break
            page.keyboard.press("Tab")
        page.keyboard.type("not this study")
        for name in ("approve-1", "rest-1", "refuse-1"):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id") == name
        page.keyboard.press("Enter")
        page.wait_for_selector(".said:not([hidden])")
        assert hospital.ask() is Refusal.APPROVAL


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious_and_a_phone_is_wide_enough(busy, browse, keep, path):
    _, client = busy
    page = browse(client, path)
    ready(page)
    for scheme, width in SIZES:
        resize(page, scheme, width)
        assert serious(page) == []
        assert too_wide(page) <= 0
        keep(page, f"site{path.replace('/', '-')}-{scheme}-{width}", full_page=True)


def test_what_is_being_written_is_not_taken_away(busy, browse):
    hospital, client = busy
    page = browse(client)
    page.locator("#reason-1").fill("because")
    hospital.call(run="r3.0", title="A third")
    hospital.ask(run="r3.0", order=3)
    page.wait_for_selector("#changed:not([hidden])")
    assert page.locator("#reason-1").input_value() == "because"


def test_a_console_that_stopped_is_said(tmp_path, browse):
    hospital = Hospital(tmp_path)
    with hospital.console() as client:
        page = browse(client)
        page.route("**/live", lambda route: route.abort())
        page.evaluate("dispatchEvent(new Event('pagehide'))")
        page.reload()
        page.wait_for_selector("#gone:not([hidden])")
