"""What may happen in the life of a federation, drawn from one seed: a list that can be shortened and kept."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

SITES = ("a", "b", "c", "d")
COORDINATOR = "coordinator"
KINDS = ("trial", "keyed", "masked")
"""Federations that sign nothing; that sign, and agreed to the clear; that answer under masks only."""


class Trouble(NamedTuple):
    """A fault: what goes wrong, at which machine, at its how-manieth message or write."""

    what: str
    machine: str
    at: int


class Event(NamedTuple):
    """Something that happens, at a site, with a seed of its own, while something else goes wrong."""

    kind: str
    site: str
    seed: int
    troubles: tuple[Trouble, ...] = ()


class Life(NamedTuple):
    """A federation and all that happens in it."""

    seed: int
    kind: str
    sites: tuple[str, ...]
    trusting: bool
    events: tuple[Event, ...]

    def text(self) -> str:
        """As it is kept."""
        return json.dumps(self._asdict())

    @classmethod
    def read(cls, text: str) -> Life:
        """The life in a text."""
        said = json.loads(text)
        events = tuple(
            Event(kind, site, seed, tuple(Trouble(*one) for one in troubles))
            for kind, site, seed, troubles in said["events"]
        )
        return cls(said["seed"], said["kind"], tuple(said["sites"]), said["trusting"], events)


AT_A_SITE = {
    "arrive": 4.0,
    "correct": 3.0,
    "delete": 2.0,
    "gap": 1.0,
    "mend": 1.0,
    "erase": 4.0,
    "shrink": 0.4,
    "wait": 1.5,
    "clock": 0.6,
    "permit": 0.6,
}
ASKED = {"run": 6.0, "resume": 1.5, "refresh": 5.0}
LIES = {"lie": 2.6, "stale-store": 0.8, "stale-ledger": 0.7, "withdraw": 0.4}

MESSAGES = (
    "drop-request",
    "drop-reply",
    "duplicate",
    "delay",
    "delay",
    "partition",
    "stale",
    "flip-request",
    "older-request",
)
REPLIES = ("flip-reply", "older-reply", "truncate", "twice-the-rows")
DISKS = ("kill", "tear", "full", "power")


def life_of(seed: int) -> Life:
    """The life that follows from a seed."""
    rng = np.random.default_rng([26, seed])
    kind = KINDS[int(rng.choice(len(KINDS), p=[0.35, 0.35, 0.3]))]
    sites = SITES[: int(rng.integers(3, 5))] if kind == "masked" else SITES[: int(rng.integers(2, 5))]
    weights = {**AT_A_SITE, **ASKED, **LIES}
    if kind == "masked":
        weights |= {"refresh": 0.0, "stale-ledger": 0.0, "withdraw": 0.0, "run": 8.0}
    names = list(weights)
    p = np.array([weights[name] for name in names]) / sum(weights.values())
    calm = bool(rng.random() < 0.15)
    events = [
        _event(names[int(rng.choice(len(names), p=p))], sites, rng, calm=calm) for _ in range(int(rng.integers(4, 12)))
    ]
    first = "run" if kind == "masked" else ("run", "refresh", "lie")[int(rng.choice(3, p=[0.45, 0.45, 0.1]))]
    return Life(
        seed,
        kind,
        sites,
        kind == "keyed" and bool(rng.random() < 0.3),
        (_event(first, sites, rng, calm=bool(rng.random() < 0.5)), *events),
    )


def _event(kind: str, sites: tuple[str, ...], rng: np.random.Generator, *, calm: bool) -> Event:
    site, seed = sites[int(rng.integers(len(sites)))], int(rng.integers(2**31))
    troubles: list[Trouble] = []
    while not calm and kind in (*ASKED, "erase", "withdraw") and rng.random() < 0.55 and len(troubles) < 3:
        troubles.append(_trouble(kind, site, sites, rng))
    return Event(kind, site, seed, tuple(troubles))


def _trouble(kind: str, site: str, sites: tuple[str, ...], rng: np.random.Generator) -> Trouble:
    if kind in ("erase", "withdraw"):
        return Trouble(DISKS[int(rng.integers(len(DISKS)))], site, int(rng.integers(1, 40)))
    where = sites[int(rng.integers(len(sites)))]
    drawn = rng.random()
    if drawn < 0.35:
        machine = COORDINATOR if rng.random() < 0.35 else where
        return Trouble(DISKS[int(rng.integers(len(DISKS)))], machine, int(rng.integers(1, 60)))
    if drawn < 0.45:
        return Trouble("stop", COORDINATOR, int(rng.integers(1, 2 + 2 * len(sites))))
    if drawn < 0.6:
        return Trouble(REPLIES[int(rng.integers(len(REPLIES)))], where, int(rng.integers(1, 5)))
    return Trouble(MESSAGES[int(rng.integers(len(MESSAGES)))], where, int(rng.integers(1, 5)))
