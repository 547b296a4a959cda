"""What may happen to a run: either the true total is found, or none; and never one without cause."""

from itertools import product

import numpy as np
import pytest

from tests.federation.masking.faults import FAULTS, injected
from tests.federation.masking.runs import EVENTS, NAMES, play, should_end

pytest.importorskip("cryptography")


def test_every_schedule_ends_with_the_true_total_or_none():
    schedules = list(product(EVENTS, repeat=len(NAMES)))
    chosen = np.random.default_rng(1).choice(len(schedules), 60, replace=False)
    without = list(product(EVENTS[3:], repeat=2))  # most random schedules lose a site
    for k, schedule in enumerate([*(schedules[i] for i in chosen), *((*one, *EVENTS[3:]) for one in without)]):
        outcome = play(schedule, k)
        assert not outcome.twice, schedule
        assert outcome.total == (outcome.true if should_end(schedule) else None), schedule


def test_a_run_with_a_fault_ends_with_the_true_total_or_none():
    rng, seen = np.random.default_rng(2), set()
    for k in range(200):
        fault, well = injected(rng, k)
        assert well, fault
        seen.add(fault)
    assert seen == set(FAULTS)
