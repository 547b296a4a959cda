"""A site that is killed between any two writes has recorded every edition that it answered about, once."""

from functools import partial

import pytest

from tests.federation.crashes import evenly
from tests.federation.edition_crashes import QUESTIONS, crashes, problems_after

POINTS = 25
"""Write points that are tried here; `make verify` tries all of them, and torn writes and full disks beside."""


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    whole, *reports = crashes(tmp_path_factory.mktemp("crashes"), ["kill"], partial(evenly, POINTS))
    return whole, reports


def test_nothing_is_answered_that_is_not_recorded_and_nothing_is_recorded_twice(crashed):
    whole, reports = crashed
    assert len(whole["acknowledged"]) == QUESTIONS
    assert sum(report["killed"] for report in reports) >= POINTS - 5
    assert [problem for report in reports for problem in problems_after(report, whole, resume=False)] == []


def test_after_a_crash_the_same_commands_lead_to_the_same_editions(crashed):
    whole, reports = crashed
    assert [problem for report in reports[::4] for problem in problems_after(report, whole)] == []
