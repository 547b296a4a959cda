"""How long a reader waits for the page of a large graph, and for each step of dragging a variable."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.report import results
from tests.report.browser import ABSENT, installed, launched, place_of

from benchmarks.measure import BenchmarkRow

REPEATS, STEPS = 3, 30


def run() -> Iterator[BenchmarkRow]:
    """100 variables and 400 edges, then 1,000 and 5,000, in Chromium."""
    executable = installed()
    if executable is None:
        sys.exit(ABSENT)
    with tempfile.TemporaryDirectory() as folder, launched(executable) as browser:
        for what, found in (
            ("100 variables and 400 edges", results.large()),
            ("1,000 variables and 5,000 edges", results.huge()),
        ):
            path = Path(folder) / "page.html"
            found.report(path)
            page = browser.new_page()
            loads = [_load(page, path) for _ in range(REPEATS)]
            steps = [_drag_step(page) for _ in range(REPEATS)]
            yield BenchmarkRow(f"page of {what}, until it is ready", f"{min(loads):.2f} s", "<= 3 s")
            yield BenchmarkRow("its main thread, a step of dragging", f"{min(steps):.1f} ms", "<= 16 ms")
            if page.locator("#reach").input_value() != "all":
                page.locator("#reach").select_option("all")
                steps = [_drag_step(page) for _ in range(REPEATS)]
                yield BenchmarkRow("the same with all variables in the picture", f"{min(steps):.1f} ms", "<= 16 ms")
                searches = [_search(page) for _ in range(REPEATS)]
                yield BenchmarkRow(
                    "its main thread, a letter typed into the search", f"{min(searches):.0f} ms", "<= 100 ms"
                )
            page.close()


def _search(page: Any) -> float:
    """The main thread's time, in ms, for a letter typed into the search of edges, and for taking it away."""
    busy = _busy_meter(page)
    before = busy()
    page.locator("#search").fill("7")
    page.locator("#search").fill("")
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return (busy() - before) / 2


def _load(page: Any, path: Path) -> float:
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    return float(page.evaluate("performance.now()")) / 1000


def _drag_step(page: Any) -> float:
    """Median of the main thread's time, in ms, for a step of dragging the variable with most edges."""
    busy = _busy_meter(page)
    hub = page.evaluate("fedrcd.cy.nodes().max(n => n.degree()).ele.id()")
    x, y = place_of(page, f'node[id = "{hub}"]')
    page.mouse.move(x, y)
    page.mouse.down()
    taken = []
    for k in range(1, STEPS + 1):
        before = busy()
        page.mouse.move(x + 3 * k, y + k)
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        taken.append(busy() - before)
    page.mouse.up()
    page.locator("#reset").click()
    return statistics.median(taken)


def _busy_meter(page: Any) -> Callable[[], float]:
    """Tells for how many ms of processor time the page's main thread has worked."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def tell() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    return tell
