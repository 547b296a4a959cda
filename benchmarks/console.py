"""How long people wait for a page of a console, for what is new on it, and what a console costs a site when idle."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.console.places import Client, Hospital, answering
from tests.report.browser import ABSENT, installed, launched

from benchmarks.measure import BenchmarkRow
from fedrcd.console.coordinator.app import coordinator_console
from fedrcd.console.coordinator.place import CoordinatorPlace
from fedrcd.console.serving import Listening
from fedrcd.data.federation import BlockEntry, SiteEntry, write_federation
from fedrcd.federation.coordinator.called_sites import CalledSite, CalledSites
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.site.log import LogEntry
from fedrcd.methods.settings import Settings

ENTRIES, SITES, REPEATS, IDLE = 10_000, 50, 5, 20.0


def run() -> Iterator[BenchmarkRow]:
    """A site with a long log, a coordinator with many sites, in Chromium."""
    executable = installed()
    if executable is None:
        sys.exit(ABSENT)
    with tempfile.TemporaryDirectory() as folder, launched(executable) as browser:
        hospital = Hospital(Path(folder) / "site")
        with hospital.service.store() as store:
            store.append(_entry(k) for k in range(ENTRIES))
        hospital.call()
        with hospital.console() as client:
            page = _entered(browser, client)
            for path, what in (("/log", "the log"), ("/", "the inbox"), ("/runs", "the runs")):
                seconds = min(_open(page, client.base + path) for _ in range(REPEATS))
                yield BenchmarkRow(f"{what} of a site with {ENTRIES:,} log lines, opened", f"{seconds:.2f} s", "<= 1 s")
            late = [_update(page, client, hospital, k) for k in range(REPEATS)]
            yield BenchmarkRow("an answer that waits, until it is on the open page", f"{max(late):.2f} s", "<= 1 s")
        share = _idle(browser, hospital)
        yield BenchmarkRow("a console with an open page, idle, of a core", f"{100 * share:.2f} %", "<= 1 %")
        with answering(console := _coordinator(Path(folder) / "coordinator", hospital), Listening()):
            client = Client(console)
            page = _entered(browser, client)
            seconds = min(_open(page, f"{client.base}/") for _ in range(REPEATS))
            yield BenchmarkRow(f"the sites of a coordinator with {SITES}, opened", f"{seconds:.2f} s", "<= 1 s")
            Client.close_all(console)


def _entry(k: int) -> LogEntry:
    outcome = "answered" if k % 3 else "rows"  # a third is refused
    more = {"question": f"question {k}", "numbers": k % 50, "block": "hospital-a", "detail": "because of a rule"}
    return LogEntry(time=f"2026-01-01T00:00:00.{k:06}", run=f"r{k // 20}", round=1, outcome=outcome, **more)


def _entered(browser: Any, client: Client) -> Any:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(client.start_link)
    page.wait_for_selector("html[data-ready]")
    return page


def _open(page: Any, address: str) -> float:
    """Seconds from the click until the page is there and up to date."""
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return float(page.evaluate("performance.now()")) / 1000


def _update(page: Any, client: Client, hospital: Hospital, k: int) -> float:
    """Seconds from the moment at which an answer is held until the page shows it."""
    page.goto(client.base)
    page.wait_for_selector("html[data-ready]")
    hospital.ask(run=f"late-{k}")
    began = time.perf_counter()
    page.locator(f"text=late-{k}").wait_for()
    return time.perf_counter() - began


def _idle(browser: Any, hospital: Hospital) -> float:
    """The share of a core that a console takes in a process of its own, while a page is open and nothing happens."""
    command = [sys.executable, "-m", "fedrcd", "site", "console", "--state", str(hospital.state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = re.search(r"http\S+", process.stdout.readline())
        assert link is not None
        page = browser.new_page()
        page.goto(link[0])
        page.wait_for_selector("html[data-ready]")
        time.sleep(2)  # what the first page began is over
        before, began = _seconds(process.pid), time.monotonic()
        time.sleep(IDLE)
        share = (_seconds(process.pid) - before) / (time.monotonic() - began)
        page.close()
        process.terminate()
    return share


def _seconds(process: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def _coordinator(folder: Path, hospital: Hospital) -> Any:
    """The console of a coordinator with many sites, all of which were called."""
    federation = hospital.disk.federation
    names = [f"site-{k:02}" for k in range(SITES)]
    sites = tuple(SiteEntry(name, federation.variables, (name,)) for name in names)
    many = replace(federation, sites=sites, blocks=tuple(BlockEntry(name, 500) for name in names))
    runs = folder / "runs" / "one"
    runs.mkdir(parents=True)
    write_federation(folder / "federation.toml", many)
    RunPlan(run="one", federation=str(folder / "federation.toml"), folder=str(runs), settings=Settings()).write()
    said = CalledSite(program="0.1.0", editions=("0" * 32,), rows=500)
    CalledSites("2026-01-01T00:00:00", "fedrcd-s", dict.fromkeys(names, said)).write(runs)
    return coordinator_console(CoordinatorPlace(folder, folder / "federation.toml"), Listening())
