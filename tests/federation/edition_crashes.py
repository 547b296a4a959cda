"""A site that is killed while it makes editions, and what must be true afterwards; also for verification."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from fedrcd.errors import FileError
from fedrcd.federation.messages.requests import Request, federation_digest
from fedrcd.federation.site.erasure import strike_rows
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.service import SiteService, open_door, read_tables
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.protocol.wire import to_bytes
from tests.contracts.doors import SITE, Place, table_of
from tests.federation.faults import attempt

FIRST, MORE, ERASED = 150, 40, "r3"
START = "start"
"""The folder of the site as it is before the scenario."""

QUESTIONS = 6
"""Three runs of two questions."""


def prepare(folder: Path) -> None:
    """A site that has answered nothing yet; its two tables lie beside each other."""
    place = Place.of(folder, table_of(2, FIRST))
    more = table_of(2, MORE, first=FIRST, seed=9)
    pd.concat([place.table(), more], ignore_index=True).to_parquet(folder / "grown.parquet", index=False)


def settings(folder: Path, table: str) -> SiteSettings:
    """How the site is served."""
    return SiteSettings(
        name=SITE, federation=str(folder / "federation.toml"), data=str(folder / table), state=str(folder / "state")
    )


def scenario(folder: Path, acknowledge: Callable[[str], None]) -> None:
    """Two runs about two editions, an erasure between them; begins where an earlier one was stopped."""
    place = Place(folder)
    for run, table in (("one", "north.parquet"), ("two", "grown.parquet"), ("again", "grown.parquet")):
        if run == "two":
            erase(folder)
        service = SiteService(settings(folder, table))
        for sums in ("pairs", "tensor"):
            digest = federation_digest(place.federation)
            request = Request(f"{run}-{sums}", 1, digest, SITE, (SITE, "south"), place.question(sums))
            reply = service.reply(request)
            if reply.refusal is None:
                told = to_bytes(reply.blocks[0][1]).hex()
                acknowledge(json.dumps([reply.run, reply.version, told], separators=(",", ":")))


def erase(folder: Path) -> None:
    """Strike the row, unless that was done."""
    service = SiteService(settings(folder, "north.parquet"))
    with service.store() as store:
        door = open_door(service.settings, Place(folder).federation, store)
        if store.marker.of_id(ERASED) not in store.struck.persons():
            strike_rows(door, read_tables(door.federation, service.settings), [ERASED], store.today())


def remembered(folder: Path) -> tuple[list[str], list[tuple[str, str]], int]:
    """Labels of the editions, answered runs with their editions, and how many rows are in atoms."""
    with Store(folder / "state", SITE) as store:
        labels = [edition.label for edition in store.editions.editions()]
        answered = [(entry.run, entry.version) for entry in store.entries() if entry.outcome == ANSWERED]
        return labels, answered, sum(size for _, size in store.editions.atoms().values())


def unfinished(folder: Path) -> bool:
    """Whether the process was killed while the store was made: it says so, and nothing has left."""
    try:
        Store(folder / "state", SITE).close()
    except FileError as problem:
        return "never finished" in str(problem)
    return False


def crashes(folder: Path, modes: Iterable[str], points: Callable[[int], Iterable[int]]) -> Iterator[dict[str, Any]]:
    """Reports of the scenario: of one without a fault, then of one for each mode and each of so many write points."""
    (folder / START).mkdir()
    prepare(folder / START)
    whole = crash(folder, "none", 0)
    yield whole | {"remembered": remembered(Path(whole["folder"]))}
    for mode in modes:
        for point in points(int(str(whole["writes"]))):
            yield crash(folder, mode, point)


def crash(folder: Path, mode: str, point: int) -> dict[str, Any]:
    """The report of the scenario with one fault, beside others in a folder."""
    return attempt(shutil.copytree(folder / START, folder / f"{mode}-{point}"), mode, point, scenario)


def problems_after(report: dict[str, Any], whole: dict[str, Any], *, resume: bool = True) -> list[str]:
    """What is wrong after a fault; with `resume`, also after the same commands are given once more."""
    here, problems = Path(report["folder"]), []
    if unfinished(here):
        problems = ["answered without a store"] * bool(report["acknowledged"])
    else:
        problems = _unrecorded(report, {run: sums for run, _, sums in map(json.loads, whole["acknowledged"])})
        if resume:
            scenario(here, lambda _: None)
            (labels, _, sizes), (expected, _, right) = remembered(here), whole["remembered"]
            if (len(labels), sizes) != (len(expected), right):
                problems.append("other editions than without the fault")
    return [f"{report['mode']} at write {report['point']}: {problem}" for problem in problems]


def _unrecorded(report: dict[str, Any], truth: dict[str, str]) -> list[str]:
    """Answers that the store does not know of, or that it has twice."""
    labels, answered, _ = remembered(Path(report["folder"]))
    problems = ["an edition is recorded twice"] * (len(set(labels)) < len(labels))
    problems += [f"run {run} is recorded {count} times" for (run, _), count in Counter(answered).items() if count > 1]
    for run, version, sums in map(json.loads, report["acknowledged"]):
        if version not in labels or not ((run, version) in answered or run.startswith("again")):
            problems.append(f"the answer to run {run} is not recorded")
        if truth[run] != sums:
            problems.append(f"run {run} was answered otherwise")
    return problems
