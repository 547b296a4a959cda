"""A life with a problem, without what the problem does not need."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulation.events import Life


def shortened(life: Life, fails: Callable[[Life], bool]) -> Life:
    """The life with as few events and troubles as still fail; every event keeps its own seed."""
    size = len(life.events)
    while size:
        for shorter in _without(life, size):
            if fails(shorter):
                life = shorter
                break
        else:
            size //= 2
    again = True
    while again:
        again = False
        for shorter in _calmer(life):
            if fails(shorter):
                life, again = shorter, True
                break
    return life


def _without(life: Life, size: int) -> Iterator[Life]:
    for begin in range(len(life.events) - size, -1, -1):
        yield life._replace(events=life.events[:begin] + life.events[begin + size :])


def _calmer(life: Life) -> Iterator[Life]:
    for k, event in enumerate(life.events):
        for one in event.troubles:
            rest = tuple(other for other in event.troubles if other != one)
            yield life._replace(events=(*life.events[:k], event._replace(troubles=rest), *life.events[k + 1 :]))
