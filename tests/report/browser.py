"""Chromium of the operating system, for tests and for the benchmark of the page."""

import os
import shutil
from contextlib import contextmanager

ABSENT = "no Chromium here: `make browser` installs it as root; else `sudo apt-get install chromium`"
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def installed():
    """Where Chromium is, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def launched(executable):
    """A browser in a process of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]  # which Chromium demands of root
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox)
        yield browser
        browser.close()


def place_of(page, selector):
    """Where an element of the graph is on the screen: a node's centre, or the middle of an edge."""
    page.locator("#cy").scroll_into_view_if_needed()
    page.evaluate(TWO_FRAMES)  # after which the graph has been fitted to its place
    box = page.locator("#cy").bounding_box()
    at = page.evaluate(
        """selector => {
            const element = fedrcd.cy.$(selector)[0], zoom = fedrcd.cy.zoom(), pan = fedrcd.cy.pan();
            const point = element.isNode() ? element.position() : element.midpoint();
            return {x: point.x * zoom + pan.x, y: point.y * zoom + pan.y};
        }""",
        selector,
    )
    return box["x"] + at["x"], box["y"] + at["y"]
