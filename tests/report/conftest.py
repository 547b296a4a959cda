"""A real browser: Chromium of the operating system, without network."""

from pathlib import Path

import pytest

from fedrcd.federation.ledger.certificate import STATEMENTS
from tests.report import results

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Kept after the tests, to be looked at."""


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


def _certificate(path):
    """The certificate of an erasure with as many results as a busy ledger has."""
    from fedrcd.federation.ledger.certificate import as_page

    digest = "3f2a9c" * 11
    results_before = [
        {
            "number": k,
            "time": "2026-01-02T03:04:05Z",
            "method": "fedrcd-sp",
            "state": digest[:64],
            "digest": digest[:64],
        }
        for k in range(1, 6)
    ]
    facts = {"ledger": digest[:32], "site": "hospital_north", "block": "2019-2024", "what": "rows of the site's block"}
    states = {"state_before": digest[:64], "state_after": digest[:64], "public_key": digest[:64]}
    rest = {"time": "2026-01-02T03:04:05Z", "rows_before": 12000, "rows_after": 11999, "former_version": 1}
    more = {"present_version": 2, "entry": {"number": 7, "hash": digest[:64]}, "signature": digest + digest}
    said = {"statements": STATEMENTS, "suspended_blocks": {}, "results_from_earlier_states": results_before}
    path.write_text(as_page({**facts, **states, **rest, **more, **said}), encoding="utf-8")


COMPARED = {"compared": _compared, "certificate": _certificate}


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
        if name != "certificate":  # which has no script
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
