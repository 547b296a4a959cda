"""Masked runs without a network: sites with a disk that may crash, a coordinator that may do anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking import site_run
from fedrcd.federation.masking.answers import Masked, MaskedQuestion, Position, require_answer
from fedrcd.federation.masking.ring import RINGS, Words
from fedrcd.federation.masking.site_run import Own, RunAborted, SiteRun, agreed, transcript_of
from fedrcd.federation.masking.statements import RUN_BYTES, RunTerms, Signed
from fedrcd.federation.messages.digests import canonical
from fedrcd.federation.messages.signatures import SiteKey

NAMES = ("a", "b", "c", "d", "e")
RING = RINGS["exact"]
QUESTION = MaskedQuestion("question", 6, RING)
NOW, EXPIRES = 1000, 2000


@cache
def key_of(name: str) -> SiteKey:
    """A registered key; one that a test makes is made once."""
    return SiteKey.fresh()


def roster(names: Sequence[str] = NAMES) -> dict[str, str]:
    return {name: key_of(name).public for name in names}


def numbers(seed: int) -> Words:
    """Exact sums as a vector."""
    return np.random.default_rng(seed).integers(0, 2**63, (QUESTION.length, 2), dtype=np.uint64) >> np.uint64(8)


class Random:
    """Random bytes that are the same in every run of a test, and never the same twice."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, size: int) -> bytes:
        return self.rng.bytes(size)


def request(run: int = 1, names: tuple[str, ...] = NAMES, plan: object = "plan", expires: int = EXPIRES) -> RunTerms:
    number = run.to_bytes(RUN_BYTES, "big").hex()
    return RunTerms(federation="file", run=number, plan=canonical(plan), cohort=names, expires=expires)


@dataclass
class Site:
    """A site: what is on its disk, and its sums."""

    name: str
    vector: Words
    random: Callable[[int], bytes]
    disk: SiteRun | None = None
    now: int = NOW
    edition: str = "edition"
    sent: list[bytes] = field(default_factory=list)
    """All masked vectors that ever left."""

    def call(self, asked: RunTerms, *, crash: bool = False) -> Signed:
        own = Own(self.name, key_of(self.name), self.edition, 1000)
        state, signed = self.kept(lambda: site_run.call(self.disk, asked, own, self.now, self.random))
        return self.committed(state, signed, crash=crash)

    def answer(
        self, roll_calls: Sequence[Signed], question: MaskedQuestion = QUESTION, *, crash: bool = False
    ) -> Masked:
        known = self.kept(lambda: site_run.stored_answer(self.disk, question.digest, self.now))
        if known is not None:
            return Masked(*known)
        given = (roll_calls, roster(), question, self.vector, key_of(self.name), self.now)
        state, signed, data = self.kept(lambda: site_run.answer(self.disk, *given))
        answer = self.committed(state, Masked(signed, data), crash=crash)
        self.sent.append(data)
        return answer

    def committed(self, state: SiteRun, message, *, crash: bool):
        """The message, once the state is on the disk; a crash before that loses both."""
        if crash:
            raise Crashed
        self.disk = SiteRun.of(state.text, state.numbers)  # as it is read after a restart
        return message

    def kept(self, step):
        try:
            return step()
        except RunAborted as problem:
            self.disk = problem.state
            raise


class Crashed(Exception):
    """The site stopped before anything was written."""


def sites(seed: int = 1, names: Sequence[str] = NAMES) -> dict[str, Site]:
    random = Random(seed)
    return {name: Site(name, numbers(1000 * seed + k), random) for k, name in enumerate(names)}


def true_total(several: dict[str, Site]) -> bytes:
    total = RING.zeros(QUESTION.length)
    for site in several.values():
        total = RING.add(total, site.vector)
    return RING.to_bytes(total)


def added(roll_calls: Sequence[Signed], answers: dict[str, Masked], question: MaskedQuestion = QUESTION) -> bytes:
    """What a coordinator finds, as `adding.total` does, without a look at what kind of sums they are."""
    said = agreed(roll_calls, roster(), question.ring)
    total = question.ring.zeros(question.length)
    for one in said:
        if one.site not in answers:
            raise ProtocolError("a site has not answered")
        part = require_answer(answers[one.site], one.site, Position.first(transcript_of(said)), roster(), question)
        total = question.ring.add(total, part)
    return question.ring.to_bytes(total)


EVENTS = ("answers", "absent", "lost after the roll call", "lost after answering", "back later", "other rows later")


@dataclass(frozen=True)
class Outcome:
    """What came of a schedule: the total if there is one, and whether any vector was masked twice."""

    total: bytes | None
    true: bytes
    twice: bool


runs = count(1)


def play(schedule: Sequence[str], seed: int) -> Outcome:
    """A run in which one thing happens to every site.

    `absent`: it does not come to the roll call. `lost after the roll call`: it never answers. `lost after answering`:
    its answer is there, then it is gone. `back later`: it crashes before its answer is on the disk and comes back.
    `other rows later`: its answer gets lost on the way, and its rows have changed when it is asked again.
    """
    several, asked = sites(seed), request(next(runs))
    true = true_total(several)
    happens = dict(zip(NAMES, schedule, strict=True))
    roll_calls = [site.call(asked) for name, site in several.items() if happens[name] != "absent"]
    answers = {}
    for name, site in several.items():
        if happens[name] in ("absent", "lost after the roll call"):
            continue
        with suppress(Crashed, ProtocolError):
            answers[name] = site.answer(roll_calls, crash=happens[name] == "back later")
    for name, site in several.items():
        if happens[name] == "other rows later":
            site.vector = numbers(seed + 77)
        if happens[name] in ("back later", "other rows later"):
            try:
                answers[name] = site.answer(roll_calls)
            except ProtocolError:
                answers.pop(name, None)
    try:
        total = added(roll_calls, answers)
    except ProtocolError:
        total = None
    return Outcome(total, true, any(len(set(site.sent)) > 1 for site in several.values()))


def should_end(schedule: Sequence[str]) -> bool:
    """Whether nothing stands in the way of the total."""
    return not set(schedule) & {"absent", "lost after the roll call"}
