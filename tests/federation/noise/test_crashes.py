"""A site that is killed between any two writes never forgets what it spent, and never draws noise twice."""

from functools import partial

import pytest

from tests.federation.crashes import evenly
from tests.federation.noise.crashes import LOSSES, crashes, problems_after

POINTS = 20
"""Write points that are tried here; `make verify` tries all of them, and torn writes and full disks beside."""


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    whole, *reports = crashes(tmp_path_factory.mktemp("crashes"), ["kill"], partial(evenly, POINTS))
    return whole, reports


def test_what_left_is_charged_and_the_same_leaves_again_whenever_the_site_is_killed(crashed):
    whole, reports = crashed
    assert len(whole["acknowledged"]) == 2 * len(LOSSES)
    assert sum(report["killed"] for report in reports) >= POINTS - 3
    assert [problem for report in (whole, *reports) for problem in problems_after(report)] == []
