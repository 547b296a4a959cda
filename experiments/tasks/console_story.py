"""What people do on the pages of a federation, step by step, in a real browser: for tests, and for pictures."""

from __future__ import annotations

import subprocess
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.tasks.consoles import NAMES, Consoles, write_rows
from fedrcd.data.examples import hospitals

SOON = 240_000.0
"""Milliseconds within which anything must happen, on the busiest machine."""

TITLE, PURPOSE = "Kidney function", "Study 7: what raises creatinine; approved by the ethics board"


def enter(browser: Any, link: str, **settings: Any) -> Any:
    """Somebody's page, by the link of the start."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce", **settings)
    page = context.new_page()
    page.set_default_timeout(SOON)
    page.goto(link)
    page.wait_for_selector("html[data-ready]")
    return page


def go(page: Any, title: str) -> None:
    """Open a page of the menu."""
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=title, exact=True).click()
    page.wait_for_selector("html[data-ready]")


def settled(page: Any) -> None:
    """Wait until what takes long is there."""
    page.wait_for_selector("#under-way", state="detached")


def start_run(page: Any, method: str, *, title: str = TITLE, act: str = "Start") -> None:
    """Start a run on the coordinator's page."""
    go(page, "Runs")
    page.locator("input[name=title]").fill(title)
    page.locator("input[name=purpose]").fill(PURPOSE)
    page.locator("select[name=method]").select_option(method)
    page.get_by_role("button", name=act, exact=True).click()
    page.wait_for_selector("#state")


def until(page: Any, selector: str, text: str) -> None:
    """Wait, without loading the page again, until it says something."""
    page.locator(selector).filter(has_text=text).first.wait_for()


def approve(page: Any, *, rest: bool = True) -> None:
    """Approve what waits at a site, and what its run still asks."""
    go(page, "Inbox")
    page.wait_for_selector(".waiting")
    page.locator("#rest-1" if rest else "#approve-1").click()
    page.wait_for_selector(".said:not([hidden])")


def refuse(page: Any, reason: str) -> None:
    """Refuse it."""
    go(page, "Inbox")
    page.wait_for_selector(".waiting")
    page.locator("#reason-1").fill(reason)
    page.locator("#refuse-1").click()
    page.wait_for_selector(".said:not([hidden])")


def erase(page: Any, ids: list[str], look: Callable[[], None] = lambda: None) -> None:
    """Erase patients at a site: what would happen first."""
    go(page, "Erasure")
    page.locator("#ids").fill("\n".join(ids))
    page.get_by_role("button", name="What would happen").click()
    settled(page)
    look()
    page.get_by_role("button", name="Erase", exact=True).click()
    page.wait_for_selector(".said:not([hidden])")


def make_next_edition(page: Any) -> None:
    """Do not wait for the next edition: hide the erased among others."""
    go(page, "Editions")
    settled(page)
    page.get_by_role("button", name="Make the next edition now").click()
    page.wait_for_selector(".said:not([hidden])")


def refresh_ledger(page: Any, sites: Sequence[Any] = ()) -> None:
    """Bring the ledger up to date; what some sites contribute is approved there."""
    go(page, "Ledger")
    settled(page)
    page.get_by_role("button", name="Bring it up to date").click()
    page.wait_for_selector("#refresh")
    for site in sites:
        approve(site, rest=False)
    until(page, "#refresh", "finished")
    settled(page)


def invite(page: Any, consoles: Consoles, name: str, look: Callable[[], None] = lambda: None) -> Path:
    """Invite a fourth hospital; it makes a key, which is noted and joins; the folder of its unpacked kit."""
    folder = consoles.folder / name
    folder.mkdir(mode=0o700)
    go(page, "Sites")
    page.locator("input[name=name]:not([type=hidden])").fill(name)
    page.locator("input[name=rows]").fill("1500")
    page.get_by_role("button", name="Invite", exact=True).click()
    key = folder / f"{name}.key"
    made = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", str(key)]
    subprocess.run(made, check=True)
    page.locator("#key-1").fill(key.with_suffix(".key.pub").read_text(encoding="ascii"))
    page.get_by_role("button", name="Note the key").click()
    page.wait_for_selector("text=The site read this fingerprint")
    look()
    page.locator("input[name=compared]").check()
    page.get_by_role("button", name="Put the site into").click()
    page.wait_for_selector(".said:not([hidden])")
    row = page.locator("tr", has_text=name)
    with page.expect_download() as download:
        row.get_by_role("link", name="start-up kit").click()
    packed = folder / "kit.zip"
    download.value.save_as(packed)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    return folder / f"fedrcd-{name}"


def accept_file(page: Any, file: Path, look: Callable[[], None] = lambda: None) -> None:
    """Bring the changed federation file to a site, look at the difference, accept it."""
    go(page, "Federation")
    page.locator("#file").set_input_files(file)
    deadline = time.monotonic() + 30
    while not page.locator("#text").input_value():
        if time.monotonic() > deadline:
            raise TimeoutError("the file was not read")
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Look at it").click()
    page.wait_for_selector("text=What changed")
    look()
    page.locator("#compared").check()
    page.get_by_role("button", name="Accept", exact=True).click()
    page.wait_for_selector(".said:not([hidden])")


def start_fourth(consoles: Consoles, name: str, kit: Path) -> None:
    """The invited hospital connects, with its own key and the file of its kit."""
    write_rows(consoles.here.data(name), name, hospitals()[0])
    consoles.start(
        name, *consoles.serving(name, key=consoles.folder / name / f"{name}.key", file=kit / "federation.toml")
    )


__all__ = ["NAMES", "Consoles"]
