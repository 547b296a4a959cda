"""A site that is killed while it answers with noise, and what must be true afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fedrcd.errors import FileError
from fedrcd.federation.messages.requests import Request, federation_digest
from fedrcd.federation.site.log import ANSWERED
from fedrcd.federation.site.service import SiteService
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import Store
from fedrcd.protocol.direction_question import DirectionQuestion, DirectionTensorQuestion
from fedrcd.protocol.noisy_question import NoisyQuestion
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.added_noise import Losses
from fedrcd.statistics.directions import Whitening
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from tests.contracts.doors import SITE, Place, table_of
from tests.federation.edition_crashes import unfinished
from tests.federation.faults import attempt

LOSSES = (0.1, 0.2)
"""Of the two questions, each of which is asked twice, in another run."""


def prepare(folder: Path) -> None:
    """A site that has answered nothing yet."""
    Place.of(folder, table_of(2, 150))


def questions(place: Place) -> list[NoisyQuestion]:
    """One for pairs, one for tensors."""
    federation, grid = place.federation, ARITHMETIC["exact"]
    frame = federation.declared_frame()
    assert frame is not None
    start = Whitening.of_frame(Frame.identity(2)).on_grid(grid)
    kinds = ((DirectionQuestion, {2: LOSSES[0]}), (DirectionTensorQuestion, {4: LOSSES[1]}))
    return [NoisyQuestion(kind(federation.variables, frame, start, grid), Losses(losses)) for kind, losses in kinds]


def service(folder: Path) -> SiteService:
    """The site, with a budget."""
    table, state = str(folder / "north.parquet"), str(folder / "state")
    federation = str(folder / "federation.toml")
    return SiteService(SiteSettings(name=SITE, federation=federation, data=table, state=state, epsilon_budget=5.0))


def scenario(folder: Path, acknowledge: Callable[[str], None]) -> None:
    """Two questions in each of two runs; what left is acknowledged."""
    place = Place(folder)
    for run in ("one", "two"):
        for number, question in enumerate(questions(place), 1):
            digest = federation_digest(place.federation)
            reply = service(folder).reply(Request(run, number, digest, SITE, (SITE, "south"), question))
            if reply.refusal is None:
                acknowledge(json.dumps([run, number, digest_of(reply.blocks[0][1])], separators=(",", ":")))


def remembered(folder: Path) -> dict[str, float]:
    """What the log holds of answers with noise: the loss of each."""
    try:
        with Store(folder / "state", SITE) as store:
            return {one.answer: one.loss for one in store.entries() if one.outcome == ANSWERED and one.loss is not None}
    except FileError:
        return {}


def crashes(folder: Path, modes: Iterable[str], points: Callable[[int], Iterable[int]]) -> Iterator[dict[str, Any]]:
    """Reports of the scenario: of one without a fault, then of one for each mode and each of so many write points."""
    start = folder / "start"
    start.mkdir()
    prepare(start)
    whole = attempt(shutil.copytree(start, folder / "whole"), "none", 0, scenario)
    yield whole
    for mode in modes:
        for point in points(int(str(whole["writes"]))):
            yield attempt(shutil.copytree(start, folder / f"{mode}-{point}"), mode, point, scenario)


def problems_after(report: dict[str, Any]) -> list[str]:
    """What is wrong after a fault, before and after the same questions are asked once more."""
    here, problems = Path(report["folder"]), list[str]()
    if unfinished(here):  # killed while the store was made: its people are told so, and begin anew
        return ["something left without a store"] * bool(report["acknowledged"])
    left = [tuple(json.loads(line)) for line in report["acknowledged"]]
    known = remembered(here)
    problems += [f"run {run} left and is not charged" for run, _, answer in left if answer not in known]
    again: list[str] = []
    scenario(here, again.append)
    after = [tuple(json.loads(line)) for line in again]
    drawn = {number: answer for _, number, answer in left}
    problems += [f"question {number} got fresh noise" for _, number, one in after if drawn.get(number, one) != one]
    if sorted(remembered(here).values()) != sorted(LOSSES):
        problems.append("another loss than of the two questions is charged")
    if len(after) != 2 * len(LOSSES):
        problems.append("a question is answered no more")
    return [f"{report['mode']} at write {report['point']}: {problem}" for problem in problems]
