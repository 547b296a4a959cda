"""Rows that a site leaves out for what they would tell: of rare combinations, and too large a part of a moment."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.federation import write_federation
from fedrcd.data.read import write_table
from fedrcd.data.survey import few_levels
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, DataError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import RetryPolicy, SiteLost
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request
from fedrcd.federation.rules import Rules
from fedrcd.federation.site.cell_counts import without_rare_cells
from fedrcd.federation.site.dominance import without_dominant_rows
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.pair_cumulants import pair_cumulants
from tests.federation.couriers import Direct
from tests.federation.sites import NAMES, horizontal
from tests.federation.test_far_out_rows import FAR, N, P, guessed, table

A, B, C = NAMES
CARRIER = 17
"""The one row with a flag."""
SUPPRESSED = Rules(suppress=2)


@pytest.fixture
def disk(tmp_path):
    """Three sites; at the first the third column is a flag that one row carries."""
    disk = horizontal(tmp_path, p=3, rows=(600, 610, 620))
    rows = disk.in_process_rows(A)
    rows[:, 2] = 0.0
    rows[CARRIER, 2] = 1.0
    write_table(disk.data(A), Table(rows, columns=disk.federation.variables, source=A))
    return disk


def asked(disk, order=2):
    question = PairQuestion(
        disk.federation.variables, disk.federation.declared_frame(), order, grid=ARITHMETIC["exact"]
    )
    return Request("r.0", 1, disk.digest, A, NAMES, question)


def values_of_the_carrier(disk, sums):
    """The other values of the one row with a flag: its part of the covariance with the flag is all there is."""
    frame, floats = disk.federation.declared_frame(), sums.floats()
    mean = frame.centre + frame.scale * floats.moments_of_variables().mean
    return (mean + sums.most_rows * pair_cumulants(floats, frame).cov[2])[:2]


def test_without_the_rule_the_one_row_with_a_flag_is_read_off_and_with_it_left_out_it_is_not(disk):
    trial = replace(disk.federation, trial=True)
    write_federation(disk.file, trial)
    disk.federation = trial
    true = disk.in_process_rows(A)[CARRIER, :2]
    assert disk.service(A).reply(asked(disk)).refusal is Refusal.CELLS
    [(_, told)] = disk.service(A, rules=Rules(off=("pair cells",))).reply(asked(disk)).blocks
    assert values_of_the_carrier(disk, told) == pytest.approx(true, abs=1e-3)
    elsewhere = disk.apart(disk.folder / "anew")
    [(_, told)] = elsewhere.service(A, rules=SUPPRESSED).reply(asked(disk)).blocks
    assert told.most_rows == 599
    cov = pair_cumulants(told.floats(), disk.federation.declared_frame()).cov
    assert cov[2] == pytest.approx(np.zeros(3), abs=1e-12)


def test_rows_cannot_be_left_out_now_and_summed_then(disk):
    """The difference would be the row."""
    assert disk.service(A, rules=SUPPRESSED).reply(asked(disk)).refusal is None
    assert disk.service(A, rules=Rules(off=("pair cells",))).reply(asked(disk, 3)).refusal is not None
    for other in (Rules(), Rules(suppress=1), Rules(suppress=2, cell=12), Rules(suppress=2, dominance=0.5)):
        assert disk.service(A, rules=other).reply(asked(disk, 3)).refusal is Refusal.TRIM
    assert disk.service(A, rules=SUPPRESSED).reply(asked(disk, 3)).refusal is None


def conducted(disk, courier, number):
    plan = disk.plan("fedrcd-ni", retry_policy=RetryPolicy(deadline=1.0, give_up_after=0.0, pause=0.01))
    plan = replace(plan, run=f"r{number}", folder=str(disk.folder / str(number)), accept_differing=NAMES)
    return Conductor(plan, disk.federation, say=lambda _: None).run(courier, NAMES)


@pytest.fixture
def scored(tmp_path):
    """Three sites; at the first a score of five levels has one that seven rows have."""
    disk = horizontal(tmp_path, p=3, rows=(600, 610, 620))
    rows = disk.in_process_rows(A)
    place = np.argsort(np.argsort(rows[:, 2]))
    rows[:, 2] = np.digitize(place, [150, 300, 450, 593]) - 2.0
    write_table(disk.data(A), Table(rows, columns=disk.federation.variables, source=A))
    return disk


def test_a_score_with_a_rare_level_does_not_block_a_run_where_its_rows_are_left_out(scored):
    with pytest.raises(SiteLost) as caught:
        conducted(scored, Direct(scored), 1)
    assert caught.value.refusal is Refusal.CELLS
    courier = Direct(scored)
    courier.services[A] = scored.service(A, rules=SUPPRESSED)
    found = conducted(scored, courier, 2)
    told = [one for one in found.warnings if "--suppress" in one]
    assert told == [
        f"site {A!r} leaves out fewer than 5 % of its rows because few share their combination of levels (--suppress) "
        f"in block {A!r}"
    ]
    assert found.estimate.marginals.rows == 600 + 610 + 620 - 7


# properties

TABLES = st.integers(0, 10**6).map(
    lambda seed: np.random.default_rng(seed).choice(4, size=(120, 4), p=[0.6, 0.25, 0.1, 0.05]).astype(float)
)


def smallest(rows, size):
    """Rows in the smallest cell of so many columns of few levels, counted one by one."""
    held = few_levels(rows, 5)
    names = combinations([rows.columns.index(name) for name in held], min(size, len(held)))
    return min((min(Counter(map(tuple, rows.values[:, list(one)])).values()) for one in names), default=11)


@given(TABLES, st.sampled_from([1, 2, 3, 4, 9]))
def test_no_rare_cell_is_left_and_nothing_is_left_out_without_need(values, size):
    rows, rules = Table(values, columns=tuple("abcd")), Rules(suppress=size)
    try:
        kept = without_rare_cells(rows, rules)
    except DataError:
        return
    if len(kept.values):
        assert smallest(kept, size) >= rules.cell
    assert without_rare_cells(kept, rules) is kept
    assert (kept is rows) == (smallest(rows, size) >= rules.cell)


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.2, 0.5]))
def test_no_row_is_more_than_a_share_of_a_fourth_moment(seed, share):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((150, 3)) ** 3
    kept = without_dominant_rows(Table(values, columns=tuple("abc")), share)
    if not len(kept.values):
        return
    z = (kept.values - kept.values.mean(axis=0)) ** 2
    parts = z[:, :, None] * z[:, None, :]
    assert (parts.max(axis=0) <= share * parts.sum(axis=0) * (1 + 1e-9)).all()
    shifted = without_dominant_rows(Table(1000.0 + 8.0 * values, columns=tuple("abc")), share)
    assert shifted.values == pytest.approx(1000.0 + 8.0 * kept.values)


def test_a_row_far_out_is_read_off_a_run_unless_it_is_left_out_as_too_large_a_part():
    tables = [table(seed) for seed in range(6)]
    columns = tuple(f"x{j}" for j in range(P))
    kept = [without_dominant_rows(Table(X, columns=columns), 0.5).values for X in tables]
    assert all(len(X) == N - 1 and (X[:, 0] < FAR).all() for X in kept)
    true = np.array([X[0, 1:] for X in tables])

    def error(guesses):
        return min(np.sqrt(np.mean((trust * guesses - true) ** 2)) for trust in np.linspace(0, 1, 101))

    assert error(np.array([guessed("fedrcd-s", X) for X in tables])) < 0.05
    assert error(np.array([guessed("fedrcd-s", X) for X in kept])) > 0.5


@pytest.mark.parametrize("share", [0.0, 1.5, -1.0])
def test_a_share_is_a_share(share):
    with pytest.raises(ConfigError, match="dominance must be a share"):
        Rules(dominance=share)


def test_a_site_that_would_leave_out_everything_says_so(disk):
    reply = disk.service(B, rules=Rules(dominance=1e-4)).reply(replace(asked(disk), site=B))
    assert reply.refusal is Refusal.DATA
