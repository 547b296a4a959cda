"""Whoever waits is told which pass is under way, how fast it is and how long it will take."""

import io
import re
import sys

import numpy as np
import pandas as pd
import pytest

import fedrcd
from fedrcd import passes
from fedrcd.data.sources import held
from fedrcd.data.sources.opening import rows_of
from fedrcd.passes import Reading, listening
from fedrcd.report.progress_bar import progress_bar


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "INTERVAL", 0.0)
    monkeypatch.setattr(held, "HELD", 0)
    pd.DataFrame(np.random.default_rng(0).normal(size=(40_000, 3)), columns=list("abc")).to_parquet(
        tmp_path / "r.parquet"
    )
    return rows_of(tmp_path / "r.parquet", "rows")


def test_every_pass_is_counted(rows):
    heard = []
    with listening(heard.append):
        for _ in range(3):
            sum(1 for _ in rows.chunks())
    assert [one.number for one in heard if one.rows == 40_000] == [1, 2, 3]
    assert {one.expected for one in heard} == {40_000}
    sum(1 for _ in rows.chunks())
    assert len([one for one in heard if one.number == 4]) == 0  # nobody listens any more


def test_speed_and_rest_are_told():
    assert Reading("rows", 2, 500, 2000, 0.5).words == "rows, pass 2: 500 rows, 1,000 a second, 2 s left"
    assert Reading("rows", 2, 500, None, 0.5).words == "rows, pass 2: 500 rows, 1,000 a second"


def test_the_progress_line_says_it(rows, monkeypatch):
    monkeypatch.setattr(sys, "stderr", shown := io.StringIO())
    with progress_bar("reading tables") as bar:
        sum(1 for _ in rows.chunks())
        bar._show()
    assert re.search(r"r\.parquet, pass 1: 40,000 rows, [\d,]+ a second", shown.getvalue())


def passes_over(folder, method, **settings):
    """How often the rows of a folder are read for a discovery."""
    heard = []
    with listening(heard.append):
        fedrcd.discover(folder, method, arithmetic="exact", **settings)
    return max(one.number for one in heard)


@pytest.mark.parametrize("method", ["fedrcd-s", "fedrcd-ni"])
@pytest.mark.parametrize("gaps", [0, 40])
@pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")
def test_a_discovery_reads_rows_twice_in_a_declared_frame_and_five_times_without_beside_a_look_at_the_first(
    tmp_path, monkeypatch, method, gaps
):
    monkeypatch.setattr(passes, "INTERVAL", 0.0)
    monkeypatch.setattr(held, "HELD", 0)
    values = np.random.default_rng(0).laplace(size=(70_000, 3)).cumsum(axis=1)  # more than are looked at at once
    values[:gaps, 1] = np.nan
    pd.DataFrame(values, columns=list("abc")).to_parquet(tmp_path / "r.parquet")
    frame = dict.fromkeys("abc", (0.0, 2.0))
    once_more = int(gaps > 0)  # rows without gaps are surveyed by themselves
    look = 1  # at the first rows, for notes
    assert passes_over(tmp_path, method, frame=frame) == 2 + look + once_more
    assert passes_over(tmp_path, method) == 5 + look + once_more
