"""A real browser: Chromium of the operating system, without network."""

from pathlib import Path

import pytest

from tests.report import results
from tests.report.browser import ABSENT, installed, launched

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Kept after the tests, to be looked at."""


@pytest.fixture(scope="session")
def chromium():
    """A browser in a process of its own."""
    executable = installed()
    if executable is None:
        pytest.skip(ABSENT)
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install .[browser]")
    with launched(executable) as browser:
        yield browser


@pytest.fixture(scope="session")
def page_files(tmp_path_factory):
    """Where the page of each result lies; written once."""
    folder, written = tmp_path_factory.mktemp("pages"), {}

    def file_of(name):
        if name not in written:
            written[name] = folder / f"{name}.html"
            make = COMPARED.get(name) or (lambda path: getattr(results, name)().report(path))
            make(written[name])
        return written[name]

    return file_of


def _compared(path):
    from fedrcd import compare

    compare(results.hospitals(), results.hospitals_by_scale(), titles=("fedrcd-s", "fedrcd-x")).report(path)


COMPARED = {"compared": _compared}


@pytest.fixture
def open_page(chromium, page_files):
    """Open the page of a result with the network off; whatever it complains of or asks for fails the test."""
    contexts, complaints = [], []

    def open_it(name, **settings):
        size = {"width": 1200, "height": 900}
        context = chromium.new_context(viewport=size, reduced_motion="reduce", **settings)  # scroll at once
        context.set_offline(True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: _note_foreign(request.url, complaints))
        page.goto(page_files(name).as_uri())
        page.wait_for_selector("html[data-ready]", timeout=30_000)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


def _note_foreign(url, complaints):
    if not url.startswith(("file:", "blob:", "data:")):
        complaints.append(f"asked for {url}")


@pytest.fixture
def keep():
    """Keep a screenshot to be looked at."""

    def keep_it(page, name, **settings):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", **settings)

    return keep_it
