"""Lives are played: each gives its trace, what was wrong, and what it came through."""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

from fedrcd.errors import FedrcdWarning
from simulation.disk import disks
from simulation.edges import signatures_that_repeat
from simulation.events import Life, life_of
from simulation.judge import watching
from simulation.world import World

MEMORY = Path("/dev/shm")


class Played(NamedTuple):
    """How a life went."""

    life: Life
    problems: list[str]
    trace: str
    story: list[str]
    coverage: Counter[str]
    checks: Counter[str]
    seconds: float
    """Of its own clock."""


class Told(NamedTuple):
    """What came of a life, in little."""

    seed: int
    problems: list[str]
    trace: str
    coverage: Counter[str]
    checks: Counter[str]
    seconds: float


def lives(piece: tuple[int, int]) -> list[Told]:
    """What came of so many lives from a seed on."""
    first, count = piece
    played = [play(life_of(seed)) for seed in range(first, first + count)]
    return [Told(one.life.seed, one.problems, one.trace, one.coverage, one.checks, one.seconds) for one in played]


def play(life: Life) -> Played:
    """Play a life to its end, or to the first thing that is wrong."""
    if MEMORY.is_dir():
        tempfile.tempdir = str(MEMORY)
    with tempfile.TemporaryDirectory(prefix="life-") as name, warnings.catch_warnings(), signatures_that_repeat():
        warnings.simplefilter("ignore", FedrcdWarning)
        with chdir(name):  # names of files are in logs and messages: they must be the same again
            return _lived(life, Path())


def _lived(life: Life, folder: Path) -> Played:
    world = World(life, folder)
    with disks(world.disk):
        world.begin()
        with watching(world.judge):
            for event in life.events:
                world.happen(event)
                if world.judge.problems:
                    break
            else:
                world.heals()
                world.judge.ends()
    return Played(
        life,
        world.judge.problems,
        world.trace,
        world.story,
        world.coverage,
        world.judge.checks,
        world.edges.seconds,
    )
