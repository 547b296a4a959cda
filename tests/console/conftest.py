"""A real browser before a console: whatever it complains of, or asks of others, fails the test.

Tests in this folder need the extra `console`; the environment of the reference packages does not have it.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.report.conftest import keep

__all__ = ["browse", "keep"]

collect_ignore_glob = [] if find_spec("httpx") and find_spec("starlette") else ["test_*.py"]

AXE = "axe.run().then(found => found.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.target.join(' '))]))"

EXPECTED = ("status of 409", "status of 503", "status of 403", "ERR_FAILED", "ERR_CONNECTION")
"""What the browser says of answers that tests ask for."""


@pytest.fixture
def browse(chromium):
    """Open a console as the one who started it would."""
    contexts, complaints = [], []

    def open_it(client, path="/"):
        context = chromium.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: _note(f"{message.type}: {message.text}", complaints))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda one: _note_foreign(one.url, client.base, complaints))
        page.goto(client.start_link)
        if path != "/":
            page.goto(client.base + path)
        page.wait_for_selector("html[data-ready]", timeout=30_000)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


def _note(text, complaints):
    if not any(words in text for words in EXPECTED):
        complaints.append(text)


SIZES = (("light", 1200), ("dark", 360))
"""A desk by day, and a phone by night."""


def resize(page, scheme, width):
    """Look at a page otherwise."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})


def serious(page):
    """What axe finds serious on a page."""
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed: make setup")
    page.evaluate(Path(package.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    return [one for one in page.evaluate(AXE) if one[0] in ("serious", "critical")]


def too_wide(page):
    """By how many pixels a page is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def _note_foreign(url, base, complaints):
    if not url.startswith((base, "data:")):
        complaints.append(f"asked for {url}")
