"""Whole federations drawn from seeds: what must be true is true, and the same seed is the same life."""

import json
import time
from pathlib import Path

import pytest
from simulation.events import Life, life_of
from simulation.planted import listed
from simulation.play import play
from simulation.shorten import shortened

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


KEPT = [json.loads(line) for line in Path(__file__).with_name("kept.jsonl").read_text(encoding="utf-8").splitlines()]
"""Lives that failed once, shortened."""


@pytest.mark.parametrize("kept", KEPT, ids=[one["what"][:40] for one in KEPT])
def test_what_failed_once_goes_as_it_must(kept):
    assert play(Life.read(json.dumps(kept["life"]))).problems == []


SECONDS = 7.0
"""Of the processor, for lives that begin at the first seed; `make simulation` and `make verify` play more."""


def test_lives_go_as_they_must():
    began, seed = time.process_time(), 0
    while seed < 3 or time.process_time() - began < SECONDS:
        assert play(life_of(seed)).problems == [], f"seed {seed}: make simulation SEED={seed} tells its story"
        seed += 1


def test_the_same_seed_is_the_same_life():
    life = life_of(7)
    first, again = play(life), play(Life.read(life.text()))
    assert first.story == again.story
    assert len(first.story) > len(life.events)


def test_a_life_is_shortened_to_what_fails():
    life = life_of(11)
    needed = life.events[2]
    short = shortened(life, lambda one: any(event.seed == needed.seed for event in one.events))
    assert short.events == (needed._replace(troubles=()),)


def test_planted_bugs_fit_the_code():
    bugs = listed()
    assert len(bugs) >= 25
    for bug in bugs:
        assert bug.source()
