"""Masked runs with one fault each: what may go wrong with the roll call, with what is shown of it, with answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from fedrcd.errors import ProtocolError
from fedrcd.federation.masking.answers import Masked
from fedrcd.federation.masking.derivation import public_key
from fedrcd.federation.masking.statements import RollCall, RunTerms, Signed
from fedrcd.federation.messages.digests import canonical
from tests.federation.masking.runs import (
    NAMES,
    QUESTION,
    Crashed,
    Site,
    added,
    key_of,
    numbers,
    request,
    runs,
    sites,
    true_total,
)

COHORT = NAMES[:3]


@dataclass
class World:
    """A run, what was said in it so far, and the site at which something is wrong."""

    several: dict[str, Site]
    asked: RunTerms
    rng: np.random.Generator
    victim: str
    other: str
    roll_calls: list[Signed] = field(default_factory=list)
    shown: list[Signed] = field(default_factory=list)
    answers: dict[str, Masked] = field(default_factory=dict)

    @property
    def at(self) -> int:
        return COHORT.index(self.victim)

    def with_key(self, key: str, signer: str) -> Signed:
        """The victim's roll call with another run key."""
        return Signed.by(key_of(signer), replace(RollCall.read(self.shown[self.at].text), key=key))


def flipped(text: str, rng: np.random.Generator) -> str:
    """A text with one bit of a character flipped."""
    at = int(rng.integers(len(text)))
    return text[:at] + chr(ord(text[at]) ^ (1 << int(rng.integers(7)))) + text[at + 1 :]


def crash_unwritten(world: World) -> RunTerms:
    with suppress(Crashed):
        world.several[world.victim].call(world.asked, crash=True)
    return world.asked


def crash_written(world: World) -> RunTerms:
    world.several[world.victim].call(world.asked)
    return world.asked


def of_another_run(world: World) -> None:
    site = world.several[world.victim]
    stranger = Site(site.name, site.vector, site.random)
    world.shown[world.at] = stranger.call(request(next(runs), COHORT))


def shown_as(change: Callable[[World], Signed]) -> Callable[[World], None]:
    def do(world: World) -> None:
        world.shown[world.at] = change(world)

    return do


def left_out(world: World) -> None:
    del world.shown[world.at]


def reordered(world: World) -> None:
    world.shown.reverse()


def flipped_numbers(world: World) -> Masked:
    answer = world.answers[world.victim]
    data = bytearray(answer.vector)
    data[int(world.rng.integers(len(data)))] ^= 1 << int(world.rng.integers(8))
    return Masked(answer.statement, bytes(data))


def answer_of_another_run(world: World) -> Masked:
    others = [Site(name, site.vector, site.random) for name, site in world.several.items()]
    earlier = [site.call(asked) for asked in [request(next(runs), COHORT)] for site in others]
    return others[world.at].answer(earlier)


def asked_again(world: World) -> Masked:
    """The answer once the rows have changed; what counts is the first one."""
    site = world.several[world.victim]
    before, site.vector = site.vector, numbers(int(world.rng.integers(2**31)))
    again = site.answer(world.shown)
    site.vector = before
    return again


IN_THE_REQUEST = {
    "another plan for one": lambda world: replace(world.asked, plan=canonical("another")),
    "another cohort for one": lambda world: replace(world.asked, cohort=(*COHORT, "d")),
    "another expiry for one": lambda world: replace(world.asked, expires=world.asked.expires + 1),
    "crash before the roll call is written": crash_unwritten,
    "crash after the roll call is written": crash_written,
}
IN_WHAT_IS_SHOWN = {
    "a bit of a statement": shown_as(lambda w: replace(w.shown[w.at], text=flipped(w.shown[w.at].text, w.rng))),
    "a bit of a signature": shown_as(
        lambda w: replace(w.shown[w.at], signature=flipped(w.shown[w.at].signature, w.rng))
    ),
    "a key that was copied": shown_as(
        lambda w: w.with_key(RollCall.read(w.shown[COHORT.index(w.other)].text).key, w.victim)
    ),
    "a key of the coordinator's": shown_as(lambda w: w.with_key(public_key(b"c" * 32).hex(), "coordinator")),
    "a roll call twice": shown_as(lambda w: w.shown[COHORT.index(w.other)]),
    "a roll call of another run": of_another_run,
    "a roll call left out": left_out,
    "roll calls in another order": reordered,
}
IN_THE_ANSWERS = {
    "a bit of the numbers": flipped_numbers,
    "an answer of another run": answer_of_another_run,
    "an answer of another site": lambda w: w.answers[w.other],
    "an answer cut short": lambda w: Masked(w.answers[w.victim].statement, w.answers[w.victim].vector[:-1]),
    "asked again otherwise": asked_again,
}
IN_ANSWERING = ("another question for one", "crash before the answer is written", "views that are split")
FAULTS = (*IN_THE_REQUEST, *IN_WHAT_IS_SHOWN, *IN_THE_ANSWERS, *IN_ANSWERING)
HARMLESS = ("crash", "asked again")


def injected(rng: np.random.Generator, seed: int) -> tuple[str, bool]:
    """A run with one fault: which, and whether all is well: the true total, or a refusal that was due."""
    fault = FAULTS[int(rng.integers(len(FAULTS)))]
    victim, other = rng.permutation(COHORT)[:2].tolist()
    world = World(sites(seed, COHORT), request(next(runs), COHORT), rng, victim, other)
    try:
        found = outcome(world, fault)
    except ProtocolError:
        return fault, not fault.startswith(HARMLESS)
    return fault, found == true_total(world.several)


def outcome(world: World, fault: str) -> bytes:
    """What the coordinator adds up."""
    for name, site in world.several.items():
        wrong = name == world.victim and fault in IN_THE_REQUEST
        world.roll_calls.append(site.call(IN_THE_REQUEST[fault](world) if wrong else world.asked))
    world.shown = list(world.roll_calls)
    if fault in IN_WHAT_IS_SHOWN:
        IN_WHAT_IS_SHOWN[fault](world)
    for name, site in world.several.items():
        world.answers[name] = _answered(world, site, fault if name == world.victim else "")
    if fault in IN_THE_ANSWERS:
        world.answers[world.victim] = IN_THE_ANSWERS[fault](world)
    return added(world.roll_calls, world.answers)


def _answered(world: World, site: Site, fault: str) -> Masked:
    shown: Sequence[Signed] = world.shown
    if fault == "another question for one":
        return site.answer(shown, QUESTION._replace(digest="another"))
    if fault == "views that are split":
        stranger = Site(world.other, numbers(3), world.several[world.other].random)
        mine = stranger.call(world.asked)
        return site.answer([mine if k == COHORT.index(world.other) else one for k, one in enumerate(shown)])
    if fault == "crash before the answer is written":
        with suppress(Crashed):
            site.answer(shown, crash=True)
    return site.answer(shown)
