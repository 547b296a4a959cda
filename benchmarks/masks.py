"""What masks and replayed rounds cost a site and the coordinator, against the same in the clear."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import BenchmarkRow, seconds
from fedrcd.federation.masking import site_run
from fedrcd.federation.masking.adding import total
from fedrcd.federation.masking.answers import Masked, MaskedQuestion
from fedrcd.federation.masking.site_run import Own, SiteRun, call, total_of_round
from fedrcd.federation.masking.statements import RunTerms, forget_verified
from fedrcd.federation.masking.vectors import Shape
from fedrcd.federation.messages.digests import canonical
from fedrcd.federation.messages.signatures import SiteKey
from fedrcd.methods.registry import build
from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import size_of
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.whole_maps import _swept

ROWS, FEW, NOW = 200_000, 5_000, 1000
SITES = ((20, 3), (20, 10), (20, 50), (50, 3), (50, 10), (50, 50))
REPLAYED = ("fedrcd-x", "fed-direct")


def run() -> Iterator[BenchmarkRow]:
    """Pair sums of order 4 with a signature, all roll calls verified; then a round of methods that sites replay."""
    with one_blas_thread():
        for p, count in SITES:
            yield from _one_round(p, count)
        for method in REPLAYED:
            yield from _driven(method, 20)
            for count in (3, 10):
                yield from _replayed(method, 20, count)


def _setting(p: int) -> Setting:
    return Setting(tuple(f"x{k}" for k in range(p)), Frame.identity(p), grid=ARITHMETIC["exact"])


def _rows(p: int, rows: int) -> Any:
    return np.random.default_rng(p).laplace(size=(rows, p))


class _TimedRun:
    """Sites that have signed the terms of a run."""

    def __init__(self, count: int, question: MaskedQuestion) -> None:
        self.names, self.question = tuple(f"site-{k}" for k in range(count)), question
        self.keys = {name: SiteKey.fresh() for name in self.names}
        self.roster = {name: key.public for name, key in self.keys.items()}
        terms = RunTerms(federation="", run="00" * 16, plan=canonical("plan"), cohort=self.names, expires=NOW + 1)
        called = [
            call(None, terms, Own(name, self.keys[name], "edition", 1 << 20), NOW, os.urandom) for name in self.names
        ]
        self.states = dict(zip(self.names, (state for state, _ in called), strict=True))
        self.roll_calls = [signed for _, signed in called]

    def answer(self, name: str, vector: Any) -> tuple[SiteRun, Masked]:
        """What a site answers in the first round of several."""
        given = (self.roll_calls, self.roster, self.question, vector, self.keys[name], NOW)
        state, signed, data = site_run.answer(self.states[name], *given, goes_on=True)
        return state, Masked(signed, data)


def _one_round(p: int, count: int) -> Iterator[BenchmarkRow]:
    question = _setting(p).pairs(4)
    shape = Shape.of(question, None)
    sums = question.answer([_rows(p, 2000)])
    vector, here = shape.vector([sums]), _TimedRun(count, MaskedQuestion("q", shape.length, shape.ring))
    answers = {name: here.answer(name, vector)[1] for name in here.names}

    def site() -> None:
        forget_verified()
        here.answer(here.names[0], vector)

    def coordinator() -> None:
        forget_verified()
        total(here.roll_calls, answers, here.roster, here.question, shape)

    masked = len(answers[here.names[0]].vector)
    what = f"p = {p}, {count} sites"
    limit = "<= 10 ms" if (p, count) == (20, 10) else ""
    yield BenchmarkRow(f"{what}: masks, a site", f"{1000 * seconds(site, 15):.1f} ms", limit)
    yield BenchmarkRow(f"{what}: verify and add, coordinator", f"{1000 * seconds(coordinator, 15):.1f} ms")
    yield BenchmarkRow(f"{what}: bytes masked / clear", f"{masked / size_of(sums):.2f}")


def _replayed(method: str, p: int, count: int) -> Iterator[BenchmarkRow]:
    first = next(build(method, weights="none").rounds(_setting(p)))
    shape = Shape.of(first, None)
    vector = shape.vector([first.answer([_rows(p, FEW)])])
    here = _TimedRun(count, MaskedQuestion("q", shape.length, shape.ring))
    made = {name: here.answer(name, vector) for name in here.names}
    answers = {name: answer for name, (_, answer) in made.items()}
    state = made[here.names[0]][0]

    def verify() -> None:
        forget_verified()
        total_of_round(state, answers, here.roster, here.question)

    def added() -> None:
        total_of_round(state, answers, here.roster, here.question)

    adding = seconds(added, 9)
    what, to_sites = f"{method}, p = {p}, {count} sites", sum(len(one.vector) for one in answers.values())
    yield BenchmarkRow(f"{what}: verifying signatures, a round", f"{1000 * (seconds(verify, 9) - adding):.1f} ms")
    yield BenchmarkRow(f"{what}: adding answers, a round", f"{1000 * adding:.1f} ms")
    yield BenchmarkRow(f"{what}: bytes to a site, a round", f"{to_sites:,}")


def _driven(method: str, p: int) -> Iterator[BenchmarkRow]:
    """The method driven from its start in every round, in a process that remembers nothing, against all sums."""
    setting, few, rows = _setting(p), _rows(p, FEW), _rows(p, ROWS)
    pooled: list[Any] = []
    drives = sums = 0.0
    for question in _questions(method, setting, pooled):
        _swept.cache_clear()
        drives += seconds(lambda: list(_questions(method, setting, list(pooled))))
        sums += seconds(lambda asked=question: asked.answer([rows.copy()]))  # type: ignore[misc]
        pooled.append(question.answer([few.copy()]))
    yield BenchmarkRow(
        f"{method}, p = {p}, N = {ROWS:,}: replays / sums of all rounds", f"{drives / sums:.3f}", "<= 0.2"
    )


def _questions(method: str, setting: Setting, pooled: list[Any]) -> Iterator[Any]:
    """The questions of a method, given pooled answers; more may be added meanwhile."""
    conversation = build(method, weights="none").rounds(setting)
    yield next(conversation)
    at = 0
    while at < len(pooled):
        try:
            question = conversation.send(pooled[at])
        except StopIteration:
            return
        at += 1
        yield question
