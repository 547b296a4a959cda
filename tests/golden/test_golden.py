"""Runs whose sums are the same on any machine come out as they were recorded."""

import pytest

from tests.golden.compare import differing
from tests.golden.record import RECORD, machine, read, record
from tests.golden.runs import all_runs

QUICK = [run for run in all_runs() if run.get("quick") and run["portable"]]
ANYWHERE = ("refused", "exit", "message", "code", "order", "rows", "rounds", "bytes", "chosen", "sites")
OF_ONE_ROUND = ("questions", "answers", "state")
"""What the last bits of float64 operations do not decide, on any machine; later rounds ask what they decided."""


@pytest.fixture(scope="module")
def recorded():
    return read(RECORD)


def fields(was, *, here):
    """The fields that must be the same; all of them on a machine like that of the record."""
    if here:
        return set(was)
    return {*ANYWHERE, *(OF_ONE_ROUND if was.get("rounds", 0) <= 1 else ())}


@pytest.mark.parametrize("transport", ["reference", "grid", "ledger"])
def test_runs_in_a_declared_frame_come_out_as_recorded(recorded, transport):
    before = {run["name"]: run for run in recorded["runs"]}
    here = recorded["machine"] == machine()
    moved = {}
    for now in record([run for run in QUICK if run["transport"] == transport]):
        was = before[now["name"]]
        if changed := [one for one in differing(was, now) if one in fields(was | now, here=here)]:
            moved[now["name"]] = changed
    assert not moved


def test_every_described_run_is_in_the_record(recorded):
    assert [run["name"] for run in recorded["runs"]] == [run["name"] for run in all_runs()]
