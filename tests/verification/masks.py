"""Masked runs: all schedules, many faults, many keystreams."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from experiments.harness.parallel import as_done

from fedrcd.federation.masking.statements import RollCall
from tests.federation.masking.faults import injected
from tests.federation.masking.runs import EVENTS, NAMES, QUESTION, play, request, should_end, sites
from tests.verification.claims import Claim, claims, counted

SCHEDULES = list(product(EVENTS, repeat=len(NAMES)))
PIECES = 100


@claims(seed=71)
def every_schedule(seed: int) -> Iterator[Claim]:
    """All schedules of five sites over six events."""
    found = np.zeros(4, dtype=int)
    pieces = [(seed, piece) for piece in range(PIECES)]
    for (_, part), _ in zip(as_done(_played, pieces), counted(range(PIECES), "schedules"), strict=True):
        found += part
    wrong, undue, twice, ended = found.tolist()
    yield Claim(
        "masked runs of five sites, each of which answers, is absent, is lost before or after it answers, comes back, "
        "or answers otherwise the second time, end with the true total where they can and with none elsewhere",
        len(SCHEDULES),
        f"{ended} totals, {wrong} wrong, {undue} undue refusals, {twice} masks used twice",
        wrong == undue == twice == 0,
    )


def _played(piece: tuple[int, int]) -> Any:
    seed, number = piece
    wrong = undue = twice = ended = 0
    for k in range(number, len(SCHEDULES), PIECES):
        outcome, due = play(SCHEDULES[k], len(SCHEDULES) * seed + k), should_end(SCHEDULES[k])
        ended += outcome.total is not None
        wrong += outcome.total is not None and not (due and outcome.total == outcome.true)
        undue += outcome.total is None and due
        twice += outcome.twice
    return np.array([wrong, undue, twice, ended])


@claims(seed=72)
def injected_faults(seed: int) -> Iterator[Claim]:
    """Runs with a flipped bit, a copied key, split views, replayed or cut messages, or a crash."""
    count, problems = 100_000, 0
    pieces = [(seed, piece, count // PIECES) for piece in range(PIECES)]
    for (_, part), _ in zip(as_done(_injured, pieces), counted(range(PIECES), "faults"), strict=True):
        problems += part
    yield Claim(
        "masked runs with a fault (a flipped bit, a copied key or one of the coordinator's, split views of cohort, "
        "plan or keys, replayed, reordered or cut roll calls, answers of others,"
        "a second question, a crash) are refused or "
        "end with the true total; a crash refuses nothing",
        count,
        f"{problems} wrong sums accepted or undue refusals",
        not problems,
    )


def _injured(piece: tuple[int, int, int]) -> int:
    seed, number, count = piece
    rng = np.random.default_rng([seed, number])
    return sum(not injected(rng, number * count + k)[1] for k in range(count))


@claims(seed=73)
def keystreams(seed: int) -> Iterator[Claim]:
    """Masked zeros of many runs."""
    count, seen = 10_000, set()
    zeros = QUESTION.ring.zeros(QUESTION.length)
    for k in range(count):
        several, asked = sites(seed + k, NAMES[:3]), request(k + 1, NAMES[:3])
        for site in several.values():
            site.vector = zeros
        roll_calls = [site.call(asked) for site in several.values()]
        seen |= {several[RollCall.read(one.text).site].answer(roll_calls).vector for one in roll_calls}
    yield Claim(
        "what three sites send about all-zero tables is never the same in two runs",
        count,
        f"{len(seen)} different vectors of {3 * count}",
        len(seen) == 3 * count,
    )
